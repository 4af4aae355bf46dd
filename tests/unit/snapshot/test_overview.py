"""An overview: what a snapshot says, with processes summed over their chips; and what it is as a document."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.figures import a_busy_snapshot, a_device, a_process, a_seed_snapshot, a_snapshot
from tests.support.made_up_rows import snapshots
from tests.support.sights import an_overview
from ttmem.devices import Kind, Pool
from ttmem.errors import VersionMismatch
from ttmem.snapshot import Snapshot
from ttmem.snapshot.sights.documents.overview import overview_document, overview_from_document
from ttmem.snapshot.sights.overview import Overview, ProcessUsage, overview_of
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
    return (1, device, pool, used, used, 1, peak or used, time_ns, lower)


def test_figures_of_a_process_are_summed_over_its_chips() -> None:
    row = row_of(
        process_pools=[pool_row(0, DRAM, 10, peak=30), pool_row(1, DRAM, 5, peak=7), pool_row(1, L1, 3)],
        process_kinds=[(1, 0, BUFFER, 10, 1, False), (1, 1, BUFFER, 8, 2, False), (1, 1, FABRIC, 6, 1, True)],
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
    assert (row.launch_count, row.devices) == (9, (0, 1))
    assert (row.used_bytes(DRAM, L1), row.peak_bytes(DRAM)) == (18, 37)


def test_one_doubtful_chip_makes_the_sum_doubtful() -> None:
    row = row_of(
        process=a_process(origin="counter", complete=False, reason="outrun"),
        process_pools=[
            pool_row(0, DRAM, 10, time_ns=5),
            (1, 1, DRAM, 5, -1, 1, 5, 9, True),
        ],
    )

    [dram] = row.pools
    assert (dram.requested_bytes, dram.is_lower_bound, dram.peak_time_ns) == (None, True, 9)
    assert (dram.origin, dram.reason, row.reason) == ("counter", "outrun", "outrun")


def test_circular_buffers_are_told_by_what_they_take_not_by_their_sum() -> None:
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
    overview = overview_of(a_snapshot(processes=processes), lambda pid, start: pid + 1)

    assert [row.parent_pid for row in overview.processes] == [11, None, None]


def test_damaged_files_are_among_the_findings() -> None:
    overview = overview_of(a_snapshot(damaged=[("/x.journal", "is cut")]))

    assert [(finding.name, finding.path, finding.text) for finding in overview.findings] == [
        ("damaged", "/x.journal", "is cut")
    ]


def sent(overview: Overview) -> dict[str, Any]:
    """The document as it arrives on the other side."""
    return dict(json.loads(json.dumps(overview_document(overview))))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(snapshots())
def test_a_document_read_back_says_the_same(snapshot: Snapshot) -> None:
    told = sent(overview_of(snapshot))

    assert overview_document(overview_from_document(told)) == told


@pytest.mark.parametrize("overview", [an_overview(), overview_of(a_busy_snapshot()), overview_of(a_seed_snapshot())])
def test_processes_and_devices_keep_the_numbers_they_name_each_other_by(overview: Overview) -> None:
    again = overview_from_document(sent(overview))

    assert [usage.device.number for usage in again.devices] == [usage.device.number for usage in overview.devices]
    assert [(row.key, row.devices, row.state) for row in again.processes] == [
        (row.key, row.devices, row.state) for row in overview.processes
    ]


def test_a_document_without_a_field_is_refused_by_its_name() -> None:
    told = sent(an_overview())
    del told["processes"][0]["memory"]["dram"]["peak"]

    with pytest.raises(VersionMismatch, match=r"`processes\[0\]\.memory\.dram\.peak` is missing"):
        overview_from_document(told)


def test_a_state_nobody_knows_is_refused() -> None:
    told = sent(an_overview())
    told["processes"][0]["state"] = "asleep"

    with pytest.raises(VersionMismatch, match="live or stale or foreign or dead"):
        overview_from_document(told)


def test_an_incomplete_process_makes_the_whole_incomplete() -> None:
    overview = an_overview()._replace(reason="outrun")

    told = sent(overview)

    assert (told["complete"], told["reason"]) == (False, "outrun")
    assert overview_from_document(told).reason == "outrun"
