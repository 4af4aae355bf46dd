"""An overview: what a snapshot says, with processes summed over their chips."""

from typing import Any

import pytest

from tests.support.flat_rows.processes import snapshot_from_rows
from tests.support.simulated.figures import (
    GIB,
    a_busy_snapshot,
    a_device,
    a_process,
    a_server_snapshot,
    a_snapshot,
    context,
    some_rows,
)
from ttmem.collector.rows.sums import overview_of
from ttmem.devices import Kind, Pool
from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.snapshot.usage import State

DRAM, L1, CB = Pool.DRAM, Pool.L1, Pool.CB
BUFFER, FABRIC = Kind.BUFFER, Kind.KERNEL_FABRIC


def row_of(**tables: Any) -> ProcessUsage:
    """The only process, on two chips."""
    process = tables.pop("process", a_process())
    snapshot = a_snapshot(devices=[a_device(0), a_device(1)], processes=[process], **tables)
    [row] = overview_of(snapshot).processes
    return row


def pool_row(device: int, pool: Pool, used: int, *, peak: int = 0, time_ns: int = 0, lower: bool = False) -> Any:
    return (1, device, pool.number, used, used, 1, peak or used, time_ns, lower)


def test_figures_of_a_process_are_summed_over_its_chips() -> None:
    row = row_of(
        process_pools=[pool_row(0, DRAM, 10, peak=30), pool_row(1, DRAM, 5, peak=7), pool_row(1, L1, 3)],
        process_kinds=[
            (1, 0, BUFFER.number, 10, 1, False),
            (1, 1, BUFFER.number, 8, 2, False),
            (1, 1, FABRIC.number, 6, 1, True),
        ],
        launches=[(1, 0, 4), (1, 1, 5)],
    )

    assert [(pool.pool, pool.used_bytes, pool.peak_bytes, pool.count) for pool in row.pools] == [
        (DRAM, 15, 37, 2),
        (L1, 3, 3, 1),
    ]
    assert [(kind.kind, kind.used_bytes, kind.count, kind.is_estimated) for kind in row.kinds] == [
        (BUFFER, 18, 3, False),
        (FABRIC, 6, 1, True),
    ]
    assert (row.launch_count, row.chips, row.devices) == (9, (0, 1), ())
    assert (row.used_bytes(DRAM, L1), row.peak_bytes(DRAM)) == (18, 37)


def test_one_doubtful_chip_makes_the_sum_doubtful() -> None:
    row = row_of(
        process=a_process(origin="counter", complete=False, reason="outrun"),
        process_pools=[
            pool_row(0, DRAM, 10, time_ns=5),
            (1, 1, DRAM.number, 5, -1, 1, 5, 9, True),
        ],
    )

    [dram] = row.pools
    assert (dram.requested_bytes, dram.is_lower_bound, dram.peak_time_ns) == (None, True, 9)
    assert (dram.origin, dram.reason, row.reason) == ("counter", "outrun", "outrun")


def test_circular_buffers_are_shown_by_what_they_take_not_by_their_sum() -> None:
    held = {"process_pools": [pool_row(0, CB, 500), pool_row(1, CB, 500)]}
    known = [(1, 0, 100, 50, 10, 5, False, False), (1, 1, 100, 50, 10, 5, False, False)]

    assert row_of(**held, footprints=known).cb_planned_bytes == 200
    assert row_of(**held, footprints=known[:1]).cb_planned_bytes is None
    assert row_of(process_pools=[pool_row(0, DRAM, 1)]).cb_planned_bytes == 0
    assert row_of(process=a_process(source="socket"), **held).cb_planned_bytes is None


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("live", "", "live"),
        ("live", "settling", "live"),
        ("live", "outrun", "live"),
        ("live", "table_full", "live"),
        ("live", "damaged", "stale"),
        ("live", "restored", "stale"),
        ("live", "uncounted", "stale"),
        ("ended", "", "ended"),
        ("ended", "restored", "ended"),
    ],
)
def test_a_row_says_whether_its_figures_are_now(state: State, reason: str, expected: str) -> None:
    assert row_of(process=a_process(state=state, complete=not reason, reason=reason)).state == expected


def test_parents_are_asked_for_only_where_the_pid_is_one_of_ours() -> None:
    processes = [
        a_process(1, pid=10),
        a_process(2, pid=20, visible=False),
        a_process(3, pid=30, state="ended"),
    ]
    around = context()._replace(parent_of=lambda pid, start: pid + 1)
    snapshot = snapshot_from_rows(some_rows(processes=processes), around)

    assert [process.parent_pid for process in snapshot.processes] == [11, None, None]


def test_damaged_files_are_among_the_findings() -> None:
    overview = overview_of(a_snapshot(damaged=[("/x.journal", "is cut")]))

    assert [(finding.name, finding.path, finding.text) for finding in overview.findings] == [
        ("damaged", "/x.journal", "is cut")
    ]
    assert overview.damaged == overview.findings


@pytest.mark.parametrize("snapshot", [a_busy_snapshot(), a_server_snapshot()], ids=["busy", "server-chips"])
def test_an_overview_lacks_the_details_of_processes_and_nothing_else(snapshot: Snapshot) -> None:
    overview = overview_of(snapshot)
    details = ("devices", "other_devices", "programs", "phases", "open_phases", "out_of_memory", "clashes", "meshes")

    assert (overview.devices, overview.findings, overview.foreign) == (
        snapshot.devices,
        snapshot.findings,
        snapshot.foreign,
    )
    assert (overview.time_ns, overview.reason, overview.host) == (snapshot.time_ns, snapshot.reason, snapshot.host)
    for short, whole in zip(overview.processes, snapshot.processes, strict=True):
        assert (short.has_details, whole.has_details) == (False, True)
        assert all(getattr(short, name) == () for name in details)
        differing = {name for name in whole.__struct_fields__ if getattr(short, name) != getattr(whole, name)}
        assert differing <= {"has_details", *details}


def test_an_overview_has_the_details_of_whom_they_were_asked_for() -> None:
    snapshot = a_busy_snapshot()
    overview = overview_of(snapshot, details=[2])

    assert [process.has_details for process in overview.processes] == [False, True, False]
    assert overview.processes[1] == snapshot.processes[1]


def test_a_process_has_its_sums_in_a_whole_snapshot_too() -> None:
    process = a_busy_snapshot().processes[0]

    assert process.chips == (0, 1, 2)
    assert process.used_bytes(DRAM) == 12 * GIB + 512 == sum(held.pools[0].used_bytes for held in process.devices)


@pytest.mark.parametrize("reason", ["outrun", ""])
def test_an_incomplete_process_makes_the_whole_incomplete(reason: str) -> None:
    overview = overview_of(a_snapshot(processes=[a_process(complete=not reason, reason=reason)]))

    assert (overview.is_complete, overview.reason) == (not reason, reason)
