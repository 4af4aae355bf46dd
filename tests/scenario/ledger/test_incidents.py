"""Incidents of real processes: whoever looks, whenever, and whatever the ring has lost meanwhile, sees the same."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes.programs import a_program
from tests.support.server.server_serving import a_daemon
from tests.support.timing.waiting import wait_until
from ttmem._native import testing
from ttmem.collector import Collector
from ttmem.collector.rows.sums import overview_of
from ttmem.daemon.metrics.families import lifetime_from_rows
from ttmem.devices import Pool
from ttmem.figures.source import FigureSource
from ttmem.snapshot import Snapshot, TimeNs, replace
from ttmem.snapshot.incidents import KINDS, Incident, IncidentCopy
from ttmem.sources import Places

OPENED = (
    "chips = [ttmem.open_device(0x10 + at, index=at, board='n300', grid=(8, 8)) for at in range(4)]",
    "mesh = ttmem.open_mesh(chips)",
    "def churn():",
    "    for at in range(100_000):",
    "        ttmem.report_buffer_alloc(chips[0], 1_000_000, 64)",
    "        ttmem.report_buffer_free(chips[0], 1_000_000)",
)
REFUSED = (
    "for at in range(5): ttmem.report_buffer_alloc(mesh, at, 4096, 4000, 0x1000 * (at + 1), 64)",
    "with ttmem.phase('decode'):",
    "    ttmem.report_out_of_memory(mesh, 0, 1 << 20, 1 << 16, 1 << 12)",
    "ttmem.report_buffer_free(mesh, 3)",
)


def a_collector(journals: Path) -> Collector:
    return Collector(Places(uid=os.geteuid(), directory=str(journals)))


def incidents_in(collector: Collector) -> tuple[Incident, ...]:
    assert collector.wait_settled(10.0)
    return tuple(incident for _, incident in collector.snapshot().incidents)


def said_of(snapshot: Snapshot) -> Any:
    """What every face is told; times apart, which every viewer works out from the journal's clock for itself."""
    [process] = snapshot.processes
    return timeless(process.incidents), process.incident_count, process.refusal_count, process.clash_count


def timeless(incidents: Iterable[Incident]) -> list[Incident]:
    return [replace(one, time_ns=TimeNs(0)) for one in incidents]


def timeless_copy(copy: IncidentCopy | None) -> IncidentCopy:
    assert copy is not None
    entries = tuple(replace(entry, time_ns=TimeNs(0)) for entry in copy.entries)
    return replace(copy, incident=timeless([copy.incident])[0], entries=entries)


@pytest.mark.parametrize("wrapped", [(), ("before",), ("after",), ("before", "after")], ids="-".join)
def test_viewers_before_after_and_after_death_see_the_same_incident(journals: Path, wrapped: tuple[str, ...]) -> None:
    lines = (
        *OPENED,
        "meet()",
        *(("churn()",) if "before" in wrapped else ()),
        *REFUSED,
        *(("churn()",) if "after" in wrapped else ()),
        "meet()",
    )
    with a_program(journals, *lines) as program, a_collector(journals) as early, a_collector(journals) as late:
        program.arrive()
        assert incidents_in(early) == ()
        program.go_on()
        program.arrive()
        [incident] = incidents_in(early)
        seen = [said_of(early.snapshot()), said_of(late.snapshot()) if incidents_in(late) else None]
        copy = timeless_copy(late.incident_copy(program.pid, 1))
        program.process.kill()
        program.process.wait()
        wait_until(lambda: early.tick() >= 0 and not early.snapshot().live)
        with a_collector(journals) as after:
            assert after.wait_settled(10.0)
            seen += [said_of(early.snapshot()), said_of(after.snapshot())]
            copies = [timeless_copy(one.incident_copy(program.pid, 1)) for one in (early, after)]

    assert seen == [seen[0]] * 4
    assert (incident.kind, incident.memory, incident.number) == ("out_of_memory", "dram", 1)
    assert (incident.requested_bytes, incident.free_bytes, incident.largest_free_bytes) == (1 << 20, 1 << 16, 1 << 12)
    assert (incident.device_ids, incident.is_mesh) == (tuple(f"0x{chip:016x}" for chip in range(0x10, 0x14)), True)
    assert incident.phase == "decode"
    assert incident.operations_since == 3 + (200_000 if "after" in wrapped else 0)  # the phase's end takes two
    assert copies == [copy, copy]
    assert sorted(entry.address or 0 for entry in copy.entries) == [0x1000 * at for at in range(1, 6)]
    assert {entry.requested_bytes for entry in copy.entries} == {4000}
    assert {entry.phase for entry in copy.entries} == {"before decode"}


def test_an_incident_names_the_line_that_asked(journals: Path) -> None:
    lines = (*OPENED, "def forward():", "    ttmem.report_out_of_memory(mesh, 0, 77)", "forward()", "meet()")
    with a_program(journals, *lines, TTMEM_SITES="1") as program, a_collector(journals) as collector:
        program.arrive()
        [incident] = incidents_in(collector)

    assert incident.site is not None
    assert [frame.function for frame in incident.site.frames][:1] == ["forward"]
    assert incident.site.frames[0].line > 0


def test_an_overview_reports_incidents_what_a_snapshot_does(journals: Path) -> None:
    with a_program(journals, *OPENED, *REFUSED, "meet()") as program, a_collector(journals) as collector:
        program.arrive()
        assert collector.wait_settled(10.0)
        [row] = collector.overview().processes
        [same] = overview_of(collector.snapshot()).processes

    assert len(row.incidents) == 1
    assert timeless(row.incidents) == timeless(same.incidents)
    assert (row.incident_count, row.refusal_count) == (same.incident_count, same.refusal_count) == (1, 1)


def test_an_incident_of_a_mesh_is_counted_once_and_stays_counted_when_its_process_is_forgotten(journals: Path) -> None:
    lines = (
        *OPENED,
        "for at in range(12): ttmem.report_out_of_memory(mesh, 2, 1000 + at)",
        "ttmem.report_clash(mesh, 5, 0x9000, 0x8000)",
        "meet()",
    )
    with a_program(journals, *lines) as program, a_collector(journals) as collector:
        program.arrive()
        assert collector.wait_settled(10.0)
        [process] = collector.snapshot().processes
        counted = [lifetime_from_rows(collector.ledger.lifetime()).incidents]
        program.process.kill()
        program.process.wait()
        wait_until(lambda: collector.tick() >= 0 and not collector.snapshot().live)
        testing.forget_ended(collector.ledger)
        counted.append(lifetime_from_rows(collector.ledger.lifetime()).incidents)
        assert collector.snapshot().processes == ()

    named = {(KINDS[kind], Pool.numbered(pool).word): count for kind, pool, count in counted[0]}
    assert named == {("out_of_memory", "l1"): 12, ("clash", "l1"): 1}
    assert counted[1] == counted[0]
    assert [incident.number for incident in process.incidents] == [1, 2, 8, 9, 10, 11, 12, 13]
    assert (process.incident_count, process.unlisted_incident_count, process.was_refused) == (13, 5, True)


@pytest.mark.slow
def test_a_daemon_reports_incidents_what_a_viewer_of_its_own_sees(journals: Path) -> None:
    environ = {"TTMEM_DIR": str(journals / "j")}
    with a_daemon(directory=journals) as daemon, a_program(journals / "j", *OPENED, *REFUSED, "meet()") as program:
        program.arrive()
        with (
            FigureSource(environ, uid=os.geteuid()) as asking,
            FigureSource(environ, uid=os.geteuid(), has_daemon=False) as own,
        ):
            assert said_of(asking.snapshot()) == said_of(own.snapshot())
            [told], [seen] = asking.overview().processes, own.overview().processes
            copies = [timeless_copy(one.incident_copy(program.pid, 1)) for one in (asking, own)]
            unknown = [one.incident_copy(program.pid, 2) for one in (asking, own)]
            assert not asking.is_collecting
        paths = ("/incident", f"/incident?pid={program.pid}&number=7", f"/incident?pid={program.pid}&number=1")
        statuses = [daemon.get(path)[0] for path in paths]

    assert [incident.number for incident in told.incidents] == [incident.number for incident in seen.incidents] == [1]
    assert copies[0] == copies[1]
    assert unknown == [None, None]
    assert statuses == [400, 404, 200]
