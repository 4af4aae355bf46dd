"""What the runtime's counters say joins what was counted: one row per chip, one per process, nothing added up."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.simulated.figures import MIB, NOON_NS, a_device, a_process, a_snapshot, a_socket_process
from tests.support.simulated.random_rows import snapshots
from tests.support.simulated.read_figures import CHIP, QUIET, SECOND_NS, Canned, a_chip, a_reading, readings_of
from ttmem.collector.rows.allocations import dump_of
from ttmem.collector.runtime_counters import OLD_STAMP_NS, RuntimeCounters
from ttmem.devices import Pool
from ttmem.snapshot import (
    Finding,
    PoolUsage,
    ProcessUsage,
    ReadChip,
    Readings,
    Snapshot,
    replace,
)
from ttmem.snapshot.codec import decoded, encoded


@pytest.fixture
def counters() -> RuntimeCounters:
    return RuntimeCounters(Canned(), user_of=lambda uid: {1001: "grace"}.get(uid, str(uid)))


def counted(used: int, requested: int | None = None, **changes: Any) -> Snapshot:
    """Process 4001 holds so much DRAM on the chip, by its journal."""
    asked = used if requested is None else requested
    return a_snapshot(
        devices=[a_device(0)],
        processes=[a_process(1, **changes)],
        device_pools=[(0, 0, used, asked, 1, used, NOON_NS, NOON_NS, False)],
        process_pools=[(1, 0, 0, used, asked, 1, used, NOON_NS, False)],
    )


def pools_of(held: Any) -> dict[Pool, PoolUsage]:
    return {usage.pool: usage for usage in held.pools}


def plain(snapshot: Snapshot) -> list[ProcessUsage]:
    return [process for process in snapshot.processes if process.source == "runtime"]


def test_without_regions_a_snapshot_stays_as_it_is(counters: RuntimeCounters) -> None:
    snapshot = counted(MIB)

    assert counters.joined(snapshot, Readings()) is snapshot


def test_a_process_that_does_not_report_is_shown_as_read(counters: RuntimeCounters) -> None:
    joined = counters.joined(a_snapshot(), readings_of(a_chip(a_reading(77, dram=2 * MIB, l1=512, cb=4096))))
    [process] = joined.processes
    [held] = process.devices
    pools = pools_of(held)

    assert (process.pid, process.user, process.label, process.source) == (77, "grace", "python plain_77.py", "runtime")
    assert (process.origin, process.reason, process.live_count, held.launch_count) == ("read", "", None, None)
    assert {pool: usage.used_bytes for pool, usage in pools.items()} == {
        Pool.DRAM: 2 * MIB,
        Pool.L1: 512,
        Pool.CB: 4096,
    }
    assert {pool: usage.origin for pool, usage in pools.items()} == {
        Pool.DRAM: "read",
        Pool.L1: "read",
        Pool.CB: "sample",
    }
    assert (pools[Pool.DRAM].requested_bytes, pools[Pool.CB].requested_bytes) == (2 * MIB, None)
    assert all(usage.count is None and usage.is_lower_bound for usage in held.pools)


def test_its_chip_is_known_by_its_unique_id_and_has_no_capacity(counters: RuntimeCounters) -> None:
    joined = counters.joined(a_snapshot(), readings_of(a_chip(a_reading(77, dram=MIB), unique_id=0)))
    [usage] = joined.devices

    assert (usage.device.uuid, usage.device.index, usage.device.open_count) == ("0x0000000000000000", 2, 1)
    assert (pools_of(usage)[Pool.DRAM].used_bytes, pools_of(usage)[Pool.DRAM].capacity_bytes) == (MIB, None)
    assert usage.launch_count is None


def test_a_chip_of_the_first_layout_has_its_files_name(counters: RuntimeCounters) -> None:
    chip = a_chip(a_reading(77, dram=MIB), unique_id=None)._replace(name="tt_device_99")
    [usage] = counters.joined(a_snapshot(), readings_of(chip)).devices

    assert (usage.device.name, usage.device.uuid, usage.device.is_server_chip) == ("tt_device_99", None, False)


def test_a_chip_that_both_report_is_one_row_and_nothing_is_added(counters: RuntimeCounters) -> None:
    joined = counters.joined(counted(8 * MIB), readings_of(a_chip(a_reading(77, dram=2 * MIB, trace=5), stale=9)))
    [usage] = joined.devices
    dram, trace = pools_of(usage)[Pool.DRAM], pools_of(usage)[Pool.TRACE]

    assert (dram.used_bytes, dram.origin, dram.read_bytes, dram.stale_bytes) == (8 * MIB, "counted", 2 * MIB, 9)
    assert (dram.unattributed_bytes, dram.peak_bytes) == (0, 8 * MIB)
    assert (trace.used_bytes, trace.origin, trace.read_bytes) == (5, "read", None)
    assert [process.pid for process in joined.live] == [4001, 77]
    assert usage.device.open_count == 2


def test_beside_a_process_that_does_not_report_the_largest_free_block_is_unknown(counters: RuntimeCounters) -> None:
    snapshot = counted(12 * MIB)
    [usage] = snapshot.devices
    known = replace(
        usage,
        pools=tuple(replace(pool, largest_free_bytes=24, largest_free_bank_bytes=2) for pool in usage.pools),
        planned_core_bytes=7,
        fullest_core_bytes=6,
        planned_core=(1, 2),
    )
    [alone] = counters.joined(replace(snapshot, devices=(known,)), readings_of(a_chip(a_reading(4001)))).devices
    [beside] = counters.joined(replace(snapshot, devices=(known,)), readings_of(a_chip(a_reading(77)))).devices

    assert (alone.planned_core_bytes, pools_of(alone)[Pool.DRAM].largest_free_bytes) == (7, 24)
    assert (beside.planned_core_bytes, beside.planned_core) == (None, None)
    assert (beside.fullest_core_bytes, beside.fullest_core_share) == (None, None)
    assert pools_of(beside)[Pool.DRAM].largest_free_bytes is None
    assert pools_of(beside)[Pool.DRAM].largest_free_bank_bytes is None


def test_two_regions_of_one_chip_are_one_row(counters: RuntimeCounters) -> None:
    chips = (a_chip(a_reading(77, dram=MIB), beyond=3, stale=1), a_chip(a_reading(78, dram=2 * MIB), beyond=4, stale=2))
    [usage] = counters.joined(a_snapshot(), readings_of(*chips)).devices
    dram = pools_of(usage)[Pool.DRAM]

    assert (dram.used_bytes, dram.unattributed_bytes, dram.stale_bytes) == (3 * MIB + 7, 7, 3)


def test_bytes_that_no_slot_accounts_for_belong_to_no_process(counters: RuntimeCounters) -> None:
    [usage] = counters.joined(a_snapshot(), readings_of(a_chip(a_reading(77, dram=MIB), beyond=100))).devices
    dram = pools_of(usage)[Pool.DRAM]

    assert (dram.used_bytes, dram.unattributed_bytes) == (MIB + 100, 100)


def test_a_chip_that_only_ended_processes_used_is_listed_with_what_they_left(counters: RuntimeCounters) -> None:
    joined = counters.joined(a_snapshot(), readings_of(a_chip(stale=2 * MIB)))
    [usage] = joined.devices
    dram = pools_of(usage)[Pool.DRAM]

    assert (dram.used_bytes, dram.stale_bytes, joined.processes) == (0, 2 * MIB, ())


@pytest.mark.parametrize("stamp", [None, QUIET - OLD_STAMP_NS - 1])
def test_attached_without_bytes_and_with_an_old_stamp_is_unknown(counters: RuntimeCounters, stamp: int | None) -> None:
    joined = counters.joined(a_snapshot(), readings_of(a_chip(a_reading(77, last_update_ns=stamp))))
    [process], [usage] = joined.processes, joined.devices

    assert (process.origin, process.reason, process.devices[0].pools) == ("unknown", "uncounted", ())
    assert (usage.pools, usage.reason, joined.is_complete, joined.reason) == ((), "uncounted", False, "uncounted")


def test_an_unknown_process_on_a_chip_hides_no_worse_doubt_about_it(counters: RuntimeCounters) -> None:
    snapshot = counted(MIB)
    [usage] = snapshot.devices
    doubted = replace(snapshot, devices=(replace(usage, doubt="over_capacity"),))
    joined = counters.joined(doubted, readings_of(a_chip(a_reading(77, last_update_ns=None))))

    assert [usage.doubt for usage in joined.devices] == ["over_capacity"]
    assert {process.reason for process in plain(joined)} == {"uncounted"}


def test_a_young_stamp_without_bytes_is_nothing_held(counters: RuntimeCounters) -> None:
    joined = counters.joined(a_snapshot(), readings_of(a_chip(a_reading(77, last_update_ns=QUIET - SECOND_NS))))

    assert joined.processes[0].origin == "read"
    assert {usage.pool: usage.used_bytes for usage in joined.devices[0].pools} == {Pool.DRAM: 0, Pool.L1: 0}


def test_bytes_on_one_chip_make_the_zeros_on_another_known(counters: RuntimeCounters) -> None:
    chips = (a_chip(a_reading(77, last_update_ns=1)), a_chip(a_reading(77, dram=MIB), unique_id=CHIP + 1))
    joined = counters.joined(a_snapshot(), readings_of(*chips))
    [process] = joined.processes

    assert (process.origin, [len(held.pools) for held in process.devices]) == ("read", [2, 2])
    assert [(usage.reason, pools_of(usage)[Pool.DRAM].used_bytes) for usage in joined.devices] == [("", 0), ("", MIB)]


def test_a_peak_is_the_highest_figure_seen(counters: RuntimeCounters) -> None:
    for size in (MIB, 5 * MIB, 2 * MIB):
        joined = counters.joined(a_snapshot(), readings_of(a_chip(a_reading(77, dram=size))))
    usages = pools_of(joined.devices[0])[Pool.DRAM], pools_of(joined.processes[0].devices[0])[Pool.DRAM]

    assert [(usage.used_bytes, usage.peak_bytes) for usage in usages] == [(2 * MIB, 5 * MIB)] * 2


def test_a_process_that_both_report_alike_is_shown_once_and_without_a_finding(counters: RuntimeCounters) -> None:
    snapshot = counted(9 * MIB, requested=8 * MIB)
    joined = counters.joined(snapshot, readings_of(a_chip(a_reading(4001, dram=8 * MIB, cb=77))))

    assert joined.processes == snapshot.processes
    assert joined.findings == ()
    assert pools_of(joined.devices[0])[Pool.DRAM].used_bytes == 9 * MIB
    assert pools_of(joined.devices[0])[Pool.DRAM].read_bytes is None


def test_what_the_runtimes_counter_misses_is_a_finding_and_the_counted_figure_is_shown(
    counters: RuntimeCounters,
) -> None:
    joined = counters.joined(counted(9 * MIB, requested=8 * MIB), readings_of(a_chip(a_reading(4001, dram=6 * MIB))))
    [process] = joined.processes
    [other] = process.other_devices

    assert process.findings == (Finding("runtime_misses", 1, 4001, process.path),) == joined.findings
    assert pools_of(process.devices[0])[Pool.DRAM].used_bytes == 9 * MIB
    assert (pools_of(other)[Pool.DRAM].used_bytes, pools_of(other)[Pool.DRAM].origin) == (6 * MIB, "read")
    assert [usage.used_bytes for usage in joined.devices[0].pools if usage.count] == [9 * MIB]
    assert decoded(encoded(joined), Snapshot) == joined  # also a chip is named as elsewhere


def test_a_counter_that_says_more_is_another_finding(counters: RuntimeCounters) -> None:
    joined = counters.joined(counted(MIB), readings_of(a_chip(a_reading(4001, dram=MIB, l1=512))))

    assert [finding.name for finding in joined.findings] == ["runtime_exceeds"]


def test_a_counter_that_never_counted_is_compared_too(counters: RuntimeCounters) -> None:
    joined = counters.joined(counted(MIB), readings_of(a_chip(a_reading(4001, last_update_ns=None))))

    assert [finding.name for finding in joined.findings] == ["runtime_misses"]


@pytest.mark.parametrize(
    ("event_ns", "stamp_ns"), [(QUIET, NOON_NS), (QUIET + 5, NOON_NS), (NOON_NS, QUIET)], ids=["now", "later", "stamp"]
)
def test_figures_that_move_are_not_compared_and_the_last_verdict_stands(
    counters: RuntimeCounters, event_ns: int, stamp_ns: int
) -> None:
    busy = counted(MIB, last_event_ns=event_ns)
    reading = readings_of(a_chip(a_reading(4001, dram=5, last_update_ns=stamp_ns)))

    assert counters.joined(busy, reading).findings == ()
    counters.joined(counted(MIB), readings_of(a_chip(a_reading(4001, dram=5))))
    assert [finding.name for finding in counters.joined(busy, reading).findings] == ["runtime_misses"]


@pytest.mark.parametrize("changes", [{"origin": "counter"}, {"complete": False, "reason": "table_full"}])
def test_a_process_that_cannot_be_followed_is_not_compared(counters: RuntimeCounters, changes: dict[str, Any]) -> None:
    joined = counters.joined(counted(MIB, **changes), readings_of(a_chip(a_reading(4001, dram=5))))

    assert joined.findings == ()


def test_a_process_of_the_socket_is_shown_once_and_not_compared(counters: RuntimeCounters) -> None:
    snapshot = a_snapshot(processes=[a_socket_process(1)])
    joined = counters.joined(snapshot, readings_of(a_chip(a_reading(4001, dram=MIB))))

    assert (joined.processes, joined.devices, joined.findings) == (snapshot.processes, (), ())


def test_a_process_that_has_ended_or_is_elsewhere_is_not_the_one_of_that_pid(counters: RuntimeCounters) -> None:
    snapshot = a_snapshot(processes=[a_process(1, state="ended"), a_process(2, pid=4001, visible=False)])
    joined = counters.joined(snapshot, readings_of(a_chip(a_reading(4001, dram=MIB))))

    assert [process.source for process in joined.processes] == ["journal", "journal", "runtime"]


def test_a_dump_lists_no_allocation_of_a_process_that_does_not_report(counters: RuntimeCounters) -> None:
    joined = counters.joined(a_snapshot(), readings_of(a_chip(a_reading(77, dram=MIB))))
    [unlisted] = dump_of(joined, {}).unlisted

    assert (unlisted.owner.pid, unlisted.reason, joined.reporting) == (77, "read", ())


CHIPS = st.lists(
    st.builds(
        lambda unique_id, pids, size, stamp, beyond, stale: a_chip(
            *(a_reading(pid, last_update_ns=stamp, dram=size, cb=size // 2) for pid in pids),
            unique_id=unique_id,
            beyond=beyond,
            stale=stale,
        ),
        st.none() | st.integers(CHIP, CHIP + 3),
        st.sets(st.integers(1, 6), max_size=3),
        st.integers(0, 1 << 40),
        st.none() | st.integers(0, QUIET),
        st.integers(0, 1 << 40),
        st.integers(0, 1 << 40),
    ),
    max_size=4,
)


def without_strangers(usage: PoolUsage) -> PoolUsage:
    """Less what the presence of those who do not report adds, or makes unknown: where their buffers lie nobody says."""
    return replace(usage, read_bytes=None, stale_bytes=None, largest_free_bytes=None, largest_free_bank_bytes=None)


@settings(max_examples=12)
@given(snapshot=snapshots(), chips=CHIPS)
def test_whatever_is_read_no_counted_figure_moves_and_an_answer_says_it_all(
    snapshot: Snapshot, chips: list[ReadChip]
) -> None:
    joined = RuntimeCounters(Canned(), user_of=str).joined(snapshot, readings_of(*chips))
    before = {usage.device.number: pools_of(usage) for usage in snapshot.devices}
    after = {usage.device.number: pools_of(usage) for usage in joined.devices}

    for number, pools in before.items():
        for pool, usage in pools.items():
            if not usage.is_untouched:  # else what was read has its place
                assert without_strangers(after[number][pool]) == without_strangers(usage)
    assert [process.devices for process in joined.processes if process.source != "runtime"] == [
        process.devices for process in snapshot.processes
    ]
    assert decoded(encoded(joined), Snapshot) == joined
