"""A document read back: nothing is lost, nothing is made up, and what is not ours is one clear error."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.processes.programs import a_program
from tests.support.simulated.figures import a_busy_snapshot, a_seed_snapshot
from tests.support.simulated.made_up_rows import snapshots
from ttmem.collector import Collector
from ttmem.errors import VersionMismatch
from ttmem.snapshot import Snapshot
from ttmem.snapshot.document import document
from ttmem.snapshot.reading import snapshot_from_document
from ttmem.sources import Places
from ttmem.view import plain
from ttmem.view.page import PageOptions, page


def sent(snapshot: Snapshot) -> dict[str, Any]:
    """The document as it arrives on the other side."""
    return dict(json.loads(json.dumps(document(snapshot))))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(snapshots())
def test_a_document_read_back_says_the_same(snapshot: Snapshot) -> None:
    told = sent(snapshot)

    assert document(snapshot_from_document(told)) == told


@pytest.mark.parametrize("snapshot", [a_busy_snapshot(), a_seed_snapshot()], ids=["busy", "seeds"])
@pytest.mark.parametrize("width", [80, 120, None])
def test_a_snapshot_read_back_looks_the_same(snapshot: Snapshot, width: int | None) -> None:
    options = PageOptions(width=width, is_with_ended=True)

    assert plain(page(snapshot_from_document(sent(snapshot)), options)) == plain(page(snapshot, options))


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
        told = sent(collector.snapshot())

    assert len(told["device_info"]) == 3
    assert document(snapshot_from_document(told)) == told


def test_fields_that_nobody_here_knows_are_passed_over() -> None:
    told = sent(a_busy_snapshot())
    newer = {**told, "weather": {"outside": "rain"}, "processes": [{**row, "mood": 3} for row in told["processes"]]}

    assert document(snapshot_from_document(newer)) == told


def test_another_schema_is_not_read() -> None:
    with pytest.raises(VersionMismatch, match=r"`schema`: expected 1, found 2; .* restart the older one"):
        snapshot_from_document({**sent(a_busy_snapshot()), "schema": 2})


def test_a_missing_field_is_named() -> None:
    told = sent(a_busy_snapshot())
    del told["processes"][1]["devices"][0]["memory"]["l1"]["used"]

    with pytest.raises(VersionMismatch, match=r"`processes\[1\]\.devices\[0\]\.memory\.l1\.used` is missing"):
        snapshot_from_document(told)


def test_a_pool_that_nobody_here_knows_is_not_guessed_at() -> None:
    told = sent(a_busy_snapshot())
    memory = told["device_info"][0]["memory"]
    memory["hbm"] = memory["dram"]

    with pytest.raises(VersionMismatch, match=r"expected one of the pools dram .*, found 'hbm'"):
        snapshot_from_document(told)


@pytest.mark.parametrize("nonsense", [None, 5, "text", [], True, {"schema": "1"}, {"schema": True}, {}])
def test_what_is_no_document_at_all_is_an_error_too(nonsense: Any) -> None:
    with pytest.raises(VersionMismatch):
        snapshot_from_document(nonsense)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, below in inner for place in places_in(below, (*path, key)))]


PLACES = [path for path in places_in(sent(a_seed_snapshot())) if path]


@settings(max_examples=300, deadline=None)
@example(("time_ns",), 1 << 80)
@example(("processes", 0, "start_time"), "0001-01-01T00:00:00+14:00")
@given(st.sampled_from(PLACES), st.sampled_from([None, -1, 1.5, "x", [], {}, [[]], {"x": {}}, True, 1 << 80]))
def test_a_spoilt_document_is_read_or_refused_and_never_shown_wrongly(path: tuple[Any, ...], nonsense: Any) -> None:
    told = sent(a_seed_snapshot())
    holder = told
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = nonsense

    try:
        snapshot = snapshot_from_document(told)
    except VersionMismatch as error:
        assert "\n" not in str(error)  # noqa: PT017
        return

    plain(page(snapshot, PageOptions(width=80)))
    document(snapshot)
