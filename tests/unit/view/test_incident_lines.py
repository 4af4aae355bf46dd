"""Incidents on pages and screens: one line each, red while that is news, and never nothing where something was."""

import re
from typing import Any

import pytest

from tests.support.simulated.figures import MIB, NOON_NS, a_device, a_process, a_snapshot, an_incident
from ttmem.snapshot import Snapshot
from ttmem.view import plain
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import nothing_to_show, page
from ttmem.view.table import Line, Role

SECOND = 10**9


def a_refused(*incidents: dict[str, Any], **changes: Any) -> Snapshot:
    """One process on two chips, and what was refused to it."""
    process = a_process(1, incidents=list(incidents), incident_count=len(incidents), **changes)
    return a_snapshot(
        devices=[a_device(0), a_device(1)],
        device_pools=[(chip, 0, MIB, MIB, 1, MIB, NOON_NS, NOON_NS, False) for chip in (0, 1)],
        processes=[process],
        process_pools=[(1, chip, 0, MIB, MIB, 1, MIB, NOON_NS, False) for chip in (0, 1)],
    )


def lines_of(snapshot: Snapshot, **options: Any) -> list[Line]:
    return page(snapshot, PageOptions(**options))


def line_with(snapshot: Snapshot, word: str, **options: Any) -> Line:
    return next(line for line in lines_of(snapshot, **options) if any(word in span.text for span in line))


@pytest.mark.parametrize("width", [80, 120, None])
def test_a_line_has_kind_chips_pid_asked_and_the_line_that_asked(width: int | None) -> None:
    [line] = [row for row in plain(lines_of(a_refused(an_incident()), width=width)).splitlines() if "pid 4001-1" in row]

    for part in ("OUT OF MEMORY", "chips 0-1", "pid 4001-1", "asked 512 KiB/core of L1", "model.py:118"):
        assert part in line
    assert width is None or len(line) <= width


def test_a_long_file_name_keeps_its_end_and_its_line() -> None:
    frames = (("models/llama/model_with_a_very_long_name.py", 118, "forward"),)
    site = (frames, "ttnn.matmul", "MatmulDeviceOperation", "1x1x32x14336 bfloat16 tile", None, False)
    snapshot = a_refused(an_incident(site=site))

    [line] = [row for row in plain(lines_of(snapshot, width=80)).splitlines() if "pid 4001-1" in row]

    assert len(line) <= 80
    assert re.search(r"  …\w*_name\.py:118$", line), line


def test_a_mesh_that_ran_out_once_is_one_incident() -> None:
    text = plain(lines_of(a_refused(an_incident()), width=120))

    assert "INCIDENTS 1" in text
    assert text.count("OUT OF MEMORY") == 1


@pytest.mark.parametrize(
    ("age_seconds", "state", "operations_since", "launches_since", "role"),
    [
        (59, "live", 5000, 1204, Role.FULL),
        (61, "live", 5000, 1204, Role.DIM),
        (61, "live", 0, 0, Role.DIM),  # it waits
        (3600, "ended", 0, 0, Role.FULL),  # the last thing it did
        (3600, "ended", 7, 0, Role.FULL),  # Python freed its tensors on the way out
        (3600, "ended", 7, 1, Role.DIM),
        (3600, "ended", 7, None, Role.DIM),
    ],
)
def test_it_is_red_while_it_is_news_or_the_program_ended_with_it(
    age_seconds: int, state: str, operations_since: int, launches_since: int | None, role: Role
) -> None:
    incident = an_incident(
        time_ns=NOON_NS - age_seconds * SECOND, operations_since=operations_since, launches_since=launches_since
    )

    line = line_with(a_refused(incident, state=state), "OUT OF MEMORY", is_with_ended=True)

    assert line[0].role is role


def test_a_repetition_makes_it_news_again_and_is_counted() -> None:
    incident = an_incident(time_ns=NOON_NS - 3600 * SECOND, last_time_ns=NOON_NS - SECOND, repeat_count=9_999)

    line = line_with(a_refused(incident), "OUT OF MEMORY")

    assert (line[0].text, line[0].role) == (" OUT OF MEMORY x10,000", Role.FULL)


def test_chips_and_processes_that_had_one_are_marked() -> None:
    lines = lines_of(a_refused(an_incident()), width=120)
    marks = [span.role for line in lines for span in line if span.text.strip() == "!"]

    assert marks == [Role.FULL, Role.FULL]  # the mesh, and the process


def test_a_clash_says_by_how_much() -> None:
    clash = an_incident(kind=2, pool=2, program=12, cb_end_address=0x51000, lowest_buffer_address=0x4E000)

    text = plain(lines_of(a_refused(clash), width=120))

    assert (
        " CLASH  chips 0-1  pid 4001-1  program 12 asked CBs up to 0x51000  model.py:118 forward  12.0 KiB too far"
        in text
    )


def test_earlier_ones_without_details_are_said() -> None:
    process = a_process(1, incidents=[an_incident(9)], incident_count=9)

    text = plain(lines_of(a_snapshot(devices=[a_device(0), a_device(1)], processes=[process]), width=120))

    assert "8 earlier incidents, details not kept" in text


def test_refusals_that_no_incident_tells_of_are_said() -> None:
    process = a_process(1, refusals=2, clashes=1)

    text = plain(lines_of(a_snapshot(devices=[a_device(0)], processes=[process]), width=120))

    assert "2 allocations refused, 1 launch refused for circular buffers; details not kept" in text


def test_those_of_ended_processes_are_said_where_these_are_not_listed() -> None:
    snapshot = a_refused(an_incident(), state="ended")

    for text in (plain(lines_of(snapshot, width=120)), plain(nothing_to_show(snapshot))):
        assert "1 ended process had 1 incident: ttmem ps --all, ttmem explain 4001" in text


def test_of_several_ended_processes_the_newest_incident_is_the_one_to_explain() -> None:
    processes = [
        a_process(number, state="ended", incidents=[an_incident(time_ns=NOON_NS - age * SECOND)], incident_count=1)
        for number, age in ((1, 90), (2, 5), (3, 60))
    ]

    text = plain(nothing_to_show(a_snapshot(devices=[a_device(0), a_device(1)], processes=processes)))

    assert "3 ended processes had 3 incidents: ttmem ps --all, ttmem explain 4002" in text
