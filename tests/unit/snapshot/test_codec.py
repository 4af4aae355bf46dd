"""Figures as JSON and back: nothing is lost, whole numbers stay exact, and what is not ours is one sentence."""

import json
import os
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.machine.driver_tree import DriverTree
from tests.support.metal.refused_memory import KIB, RefusingChip
from tests.support.processes.programs import a_program
from tests.support.simulated.chip_views import kernel_tables, maps
from tests.support.simulated.figures import (
    NOON_NS,
    a_busy_snapshot,
    a_device,
    a_dump,
    a_process,
    a_server_snapshot,
    a_snapshot,
)
from tests.support.simulated.overviews import a_detail
from tests.support.simulated.random_rows import snapshots
from ttmem.collector import Collector
from ttmem.collector.rows.sums import overview_of
from ttmem.devices import Pool
from ttmem.errors import VersionMismatch
from ttmem.snapshot import Finding, Snapshot, TimeNs, replace
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.codec import decoded, encoded
from ttmem.snapshot.dump import Dump
from ttmem.snapshot.history import History, Mark, MarkKind, Series
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.snapshot.telemetry import Telemetry
from ttmem.snapshot.values import MOST_NUMBER, Answer
from ttmem.sources import Places
from ttmem.sources.driver import Driver
from ttmem.view import plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import page
from ttmem.view.pages.smi import SmiDocument, smi_document

UNHURRIED = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SPANS: tuple[MarkKind, ...] = get_args(MarkKind)


@st.composite
def histories(draw: st.DrawFn) -> History:
    sizes, times = st.integers(0, MOST_NUMBER), st.integers(0, (1 << 63) - 1).map(TimeNs)
    series = st.builds(
        Series,
        st.integers(-1, 40),
        st.none() | st.just("0x0000000000000005"),
        st.sampled_from(Pool),
        st.none() | sizes,
        st.lists(st.none() | sizes, max_size=5).map(tuple),
        st.sampled_from(["counted", "read"]),
    )
    marks = st.builds(
        Mark, times, st.sampled_from(SPANS), st.text(max_size=5), st.none() | st.integers(0, 1 << 22), st.none()
    )
    return History(
        end_ns=draw(times),
        interval_ns=draw(times),
        series=tuple(draw(st.lists(series, max_size=3))),
        marks=tuple(draw(st.lists(marks, max_size=3))),
    )


def numbers_in(value: Any) -> list[int]:
    if isinstance(value, dict):
        return [found for inner in value.values() for found in numbers_in(inner)]
    if isinstance(value, list):
        return [found for inner in value for found in numbers_in(inner)]
    return [value] if type(value) is int else []


def survives(answer: Answer) -> None:
    """It comes back as it was, and JavaScript would have all of its numbers."""
    text = encoded(answer)
    assert decoded(text, type(answer)) == answer
    assert encoded(decoded(text, type(answer))) == text
    assert all(-MOST_NUMBER <= number <= MOST_NUMBER for number in numbers_in(json.loads(text)))


@UNHURRIED
@given(snapshots())
def test_snapshots_overviews_and_documents_come_back_as_they_were(snapshot: Snapshot) -> None:
    survives(snapshot)
    survives(overview_of(snapshot))
    survives(smi_document(snapshot))


@UNHURRIED
@given(chip=maps())
def test_maps_come_back_as_they_were(chip: ChipMap) -> None:
    survives(chip)


@UNHURRIED
@given(table=kernel_tables())
def test_tables_of_kernels_come_back_as_they_were(table: KernelTable) -> None:
    survives(table)


@UNHURRIED
@given(history=histories())
def test_histories_come_back_as_they_were(history: History) -> None:
    survives(history)


@pytest.mark.parametrize("options", [{}, {"kernels": True}, {"by": "site"}, {"snapshot": a_server_snapshot()}])
def test_dumps_come_back_as_they_were(options: dict[str, Any]) -> None:
    survives(a_dump(**options))


def test_processes_come_back_as_they_were() -> None:
    survives(a_detail(more_site_count=4))


def test_incidents_come_back_as_they_were() -> None:
    chip = RefusingChip()
    chip.hold("mask", chip.l1(60 * KIB), "model.py:31 masks", phase="load")

    survives(chip.refused(chip.l1(2048 * KIB), "model.py:118 forward", phase="decode"))


def test_telemetry_comes_back_as_it_was(tmp_path: Path) -> None:
    tree = DriverTree(tmp_path)
    tree.chip(0, heartbeat="none")
    tree.chip(1, "wormhole", serial=None, asic_id=None)
    tree.opened(1, 4, 5)

    survives(Telemetry(time_ns=NOON_NS, chips=Driver(tree.environ).telemetry()))


def test_every_answer_has_such_a_test() -> None:
    tested = {Snapshot, SmiDocument, ChipMap, KernelTable, History, Dump, ProcessDetail, IncidentCopy, Telemetry}

    places = ("ttmem.snapshot.", "ttmem.view.")  # those about recordings: tests/scenario/recording/test_verbs.py
    assert {kind for kind in Answer.__subclasses__() if kind.__module__.startswith(places)} == tested


@pytest.mark.parametrize("snapshot", [a_busy_snapshot(), a_server_snapshot()], ids=["busy", "server-chips"])
@pytest.mark.parametrize("width", [80, 120, None])
def test_a_snapshot_read_back_looks_the_same(snapshot: Snapshot, width: int | None) -> None:
    options = PageOptions(width=width, is_with_ended=True)

    assert plain(page(decoded(encoded(snapshot), Snapshot), options)) == plain(page(snapshot, options))


def test_a_real_snapshot_of_real_processes_survives(tmp_path: Path) -> None:
    lines = (
        "chips = [ttmem.open_device(0x10 + at, index=at, board='n300', grid=(8, 8)) for at in range(2)]",
        "mesh = ttmem.open_mesh(chips)",
        "ttmem.report_buffer_alloc(mesh, 1, 4096, 4000)",
        "ttmem.report_kernel_load(chips[0], 2, 6, 57344, 16)",
        "ttmem.report_buffer_free(chips[1], 99)",
        "ttmem.report_out_of_memory(mesh, 2, 4096, 1024, 512)",
        "with ttmem.phase('decode'): ttmem.report_buffer_alloc(99, 5, 64)",
        "meet()",
    )
    places = Places(uid=os.geteuid(), directory=str(tmp_path))
    with a_program(tmp_path, *lines) as program, Collector(places) as collector:
        program.arrive()
        assert collector.wait_settled()
        snapshot = collector.snapshot()

    assert len(snapshot.devices) == 3
    survives(snapshot)


def test_whatever_a_journal_claims_an_answer_can_be_read() -> None:
    """Sizes beyond 2^53 are cut there, times to what a clock can show, and names that are no UTF-8 are cleaned."""
    huge = (1 << 63) - 1
    snapshot = a_snapshot(
        devices=[a_device(capacities=(huge,) * 10)],
        device_pools=[(0, pool, huge, huge, huge, huge, huge * 3, 1, False) for pool in range(10)],
        processes=[a_process(label="caf\udce9", command="\udcff", path="/\udc80", events=huge)],
        process_pools=[(1, 0, pool, huge, huge, huge, huge, -5, False) for pool in range(10)],
        process_kinds=[(1, 0, kind, huge, huge, False) for kind in range(10)],
        caches=[(1, 0, 1, *[huge] * 8)],
        findings=(Finding("damaged", huge, path="\ud800"),),
    )
    text = encoded(snapshot)

    again = decoded(text, Snapshot)
    assert max(numbers_in(json.loads(text))) == MOST_NUMBER
    assert (again.processes[0].label, again.processes[0].command, again.processes[0].path) == ("caf?", "?", "/?")
    assert again.processes[0].pools[0].used_bytes == MOST_NUMBER
    assert decoded(encoded(again), Snapshot) == again


def test_an_answer_is_one_line_and_for_people_several() -> None:
    told, pretty = encoded(a_busy_snapshot()), encoded(a_busy_snapshot(), is_pretty=True)

    assert b"\n" not in told
    assert b'\n  "schema": 2,\n' in pretty
    assert decoded(pretty, Snapshot) == decoded(told, Snapshot)


def test_unknown_fields_are_skipped() -> None:
    told = sent(a_busy_snapshot())
    newer = {**told, "weather": {"outside": "rain"}, "processes": [{**row, "mood": 3} for row in told["processes"]]}

    assert decoded(encoded(newer), Snapshot) == a_busy_snapshot()


def sent(snapshot: Snapshot) -> dict[str, Any]:
    """The document as it arrives on the other side."""
    return dict(json.loads(encoded(snapshot)))


@pytest.mark.parametrize("version", [1, 3])
def test_the_version_is_compared_before_anything_is_decoded(version: int) -> None:
    with pytest.raises(VersionMismatch, match=rf"schema 2, found schema {version}; .* restart the older one"):
        decoded(b'{"schema":%d,"time_ns":%s' % (version, b"[" * 10_000), Snapshot)
    with pytest.raises(VersionMismatch, match=f"schema 2, found schema {version};"):
        decoded(b'{"time_ns":7,"schema":%d}' % version, Snapshot)


def test_a_missing_field_is_named() -> None:
    told = sent(a_busy_snapshot())
    del told["processes"][1]["devices"][0]["pools"][0]["used_bytes"]

    with pytest.raises(VersionMismatch, match=r"missing required field `used_bytes` - at `\$\.processes\[1\]\.devices"):
        decoded(encoded(told), Snapshot)


@pytest.mark.parametrize(
    ("path", "nonsense", "words"),
    [
        (("devices", 0, "pools", 0, "pool"), "hbm", "Invalid enum value 'hbm'"),
        (("devices", 0, "pools", 0, "used_bytes"), -1, ">= 0"),
        (("devices", 0, "pools", 0, "used_bytes"), 1 << 70, "out of range|<= 9007199254740992"),
        (("devices", 0, "pools", 0, "used_bytes"), 1.5, "Expected `int`, got `float`"),
        (("devices", 0, "pools", 0, "used_bytes"), True, "Expected `int`, got `bool`"),
        (("devices", 0, "device", "unique_id"), "0x1_0", "such as 0x1f00"),
        (("devices", 0, "device", "unique_id"), "0x" + "f" * 17, "such as 0x1f00"),
        (("processes", 0, "state"), "asleep", "Invalid enum value 'asleep'"),
        (("processes", 0, "pid"), -1, ">= 0"),
        (("time_ns",), 5, "Expected `TimeNs`|nanoseconds as text"),
        (("time_ns",), "9" * 19, "nanoseconds as text"),
        (("time_ns",), "9" * 5000, "nanoseconds as text"),
        (("time_ns",), "\u0663", "nanoseconds as text"),
        (("time_ns",), "-5", "nanoseconds as text"),
        (("findings",), None, "Expected `array`, got `null`"),
    ],
)
def test_what_cannot_be_is_one_sentence_that_names_it(path: tuple[Any, ...], nonsense: Any, words: str) -> None:
    with pytest.raises(VersionMismatch, match=words) as refused:
        decoded(spoilt(path, nonsense), Snapshot)

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize("value", ["true", '"5"', "NaN", "Infinity", "1e999"])
def test_a_sensor_that_is_no_number_is_refused(tmp_path: Path, value: str) -> None:
    tree = DriverTree(tmp_path)
    tree.chip(0)
    [chip] = Driver(tree.environ).telemetry()
    assert chip.power is not None
    text = encoded(Telemetry(time_ns=NOON_NS, chips=(replace(chip, power=replace(chip.power, value=123.5)),)))

    with pytest.raises(VersionMismatch):
        decoded(text.replace(b"123.5", value.encode()), Telemetry)


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"null", b"5", b'"text"', b"[]", b"true", b"{}", b'{"schema":"2"}', b'{"schema":true}', b"\xff\xfe"),
        *(b'{"schema":2}', b'{"schema":NaN}', b'{"schema":2,"schema":1}', b"[" * 10_000, b"[" * 10_000 + b"]" * 10_000),
        b'{"schema":2,"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b'{"x":' + b'{"x":' * 100_000 + b"1" + b"}" * 100_001,
    ],
)
def test_what_is_no_answer_at_all_is_one_sentence(text: bytes) -> None:
    with pytest.raises(VersionMismatch) as refused:
        decoded(text, Snapshot)

    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("expected figures of schema 2, found ")


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, below in inner for place in places_in(below, (*path, key)))]


PATHS = [path for path in places_in(sent(a_server_snapshot())) if path]


def spoilt(path: tuple[Any, ...], nonsense: Any) -> bytes:
    told = sent(a_server_snapshot())
    holder: Any = told
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = nonsense
    return json.dumps(told).encode()


@settings(max_examples=300, deadline=None)
@example(("time_ns",), 1 << 80)
@example(("processes", 0, "start_time_ns"), str((1 << 63) - 1))
@given(
    st.sampled_from(PATHS), st.sampled_from([None, -1, 1.5, "x", "0", "0x5", [], {}, [[]], {"x": {}}, True, 1 << 80])
)
def test_a_spoilt_answer_is_read_or_refused_and_never_shown_wrongly(path: tuple[Any, ...], nonsense: Any) -> None:
    try:
        snapshot = decoded(spoilt(path, nonsense), Snapshot)
    except VersionMismatch as error:
        assert "\n" not in str(error)  # noqa: PT017
        return

    plain(page(snapshot, PageOptions(width=80)))
    assert decoded(encoded(snapshot), Snapshot) == snapshot
