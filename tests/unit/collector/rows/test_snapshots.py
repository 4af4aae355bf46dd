"""From the ledger's rows to a snapshot: words for numbers, None for unknown, and what follows from several rows."""

from tests.support.simulated.figures import (
    GIB,
    KIB,
    MIB,
    NOON_NS,
    a_busy_snapshot,
    a_device,
    a_process,
    a_server_device,
    a_snapshot,
    an_unknown_device,
)
from ttmem.devices import BinaryStatus, Kind, Pool
from ttmem.snapshot import DeviceUsage, PoolUsage, Snapshot


def pool_of(snapshot: Snapshot, device: int, pool: Pool) -> PoolUsage:
    [usage] = [usage for usage in snapshot.devices[device].pools if usage.pool is pool]
    return usage


def test_an_empty_ledger_makes_an_empty_and_complete_snapshot() -> None:
    snapshot = a_snapshot()

    assert (snapshot.devices, snapshot.processes, snapshot.is_complete) == ((), (), True)


def test_what_no_process_accounts_for_is_unattributed() -> None:
    snapshot = a_snapshot(
        devices=[a_device()],
        device_pools=[(0, 0, 10 * MIB, 10 * MIB, 3, 10 * MIB, NOON_NS, NOON_NS, False)],
        processes=[a_process(1), a_process(2)],
        process_pools=[
            (1, 0, 0, 4 * MIB, 4 * MIB, 1, 4 * MIB, NOON_NS, False),
            (2, 0, 0, 5 * MIB, 5 * MIB, 1, 5 * MIB, NOON_NS, False),
        ],
    )

    assert pool_of(snapshot, 0, Pool.DRAM).unattributed_bytes == MIB


def test_an_ended_process_accounts_for_nothing() -> None:
    snapshot = a_snapshot(
        devices=[a_device()],
        device_pools=[(0, 0, 0, 0, 0, 10 * MIB, NOON_NS, NOON_NS, False)],
        processes=[a_process(1, state="ended", complete=False, reason="outrun", origin="counter")],
        process_pools=[(1, 0, 0, 4 * MIB, 4 * MIB, 1, 4 * MIB, NOON_NS, False)],
    )

    usage = pool_of(snapshot, 0, Pool.DRAM)

    assert (usage.used_bytes, usage.unattributed_bytes, usage.origin) == (0, 0, "counted")
    assert snapshot.is_complete
    assert [process.state for process in snapshot.ended] == ["ended"]


def test_a_pool_is_as_doubtful_as_the_worst_of_its_holders() -> None:
    snapshot = a_busy_snapshot()

    dram, other = pool_of(snapshot, 0, Pool.DRAM), pool_of(snapshot, 1, Pool.DRAM)

    assert (dram.origin, dram.reason) == ("counter", "outrun")
    assert (other.origin, other.reason) == ("counted", "")
    assert (snapshot.is_complete, snapshot.reason) == (False, "outrun")


def test_the_worst_of_several_reasons_is_named() -> None:
    reasons = ["settling", "outrun", "table_full"]
    processes = [a_process(key, complete=False, reason=reason) for key, reason in enumerate(reasons)]

    assert a_snapshot(processes=processes).reason == "table_full"


def test_a_request_that_counters_do_not_know_is_none() -> None:
    snapshot = a_busy_snapshot()
    held = {usage.pool: usage for usage in snapshot.processes[1].devices[0].pools}

    assert held[Pool.DRAM].requested_bytes is None
    assert pool_of(snapshot, 1, Pool.L1_SMALL).requested_bytes is None
    assert pool_of(snapshot, 0, Pool.DRAM).requested_bytes == 9 * GIB - 5


def test_free_is_what_capacity_leaves_and_unknown_where_more_is_reported_than_there_is() -> None:
    def free(used_bytes: int) -> int | None:
        row = (0, 0, used_bytes, used_bytes, 1, used_bytes, NOON_NS, NOON_NS, False)
        return pool_of(a_snapshot(devices=[a_device()], device_pools=[row]), 0, Pool.DRAM).free_bytes

    assert free(2 * GIB) == 10 * GIB
    assert free(12 * GIB) == 0
    assert free(13 * GIB) is None


def test_an_inventory_has_no_free_bytes() -> None:
    capacities = (0, 0, 0, 0, 85 * MIB, 0, 0, 0, 0, 0)
    row = (0, 4, MIB, MIB, 1, MIB, NOON_NS, NOON_NS, False)
    usage = pool_of(a_snapshot(devices=[a_device(capacities=capacities)], device_pools=[row]), 0, Pool.CB)

    assert usage.is_planned
    assert (usage.capacity_bytes, usage.free_bytes) == (85 * MIB, None)


def test_a_device_that_was_never_opened_has_a_name_and_nothing_else() -> None:
    [usage] = a_snapshot(devices=[an_unknown_device(9)]).devices
    device = usage.device

    assert (device.name, device.index, device.uuid, device.grid) == ("unknown:9", None, None, None)
    assert all(capacity is None for capacity in device.capacity_bytes)


def test_kernels_stay_apart_from_other_kinds() -> None:
    usage: DeviceUsage = a_busy_snapshot().devices[0]

    assert [(kernel.kind, kernel.is_estimated) for kernel in usage.kernels] == [
        (Kind.KERNEL_APPLICATION, False),
        (Kind.KERNEL_FABRIC, True),
        (Kind.KERNEL_DISPATCH, False),
    ]
    assert Kind.CIRCULAR_BUFFER in {kind.kind for kind in usage.kinds}


def test_launches_of_a_device_are_those_of_its_live_processes() -> None:
    snapshot = a_busy_snapshot()

    assert [usage.launch_count for usage in snapshot.devices] == [12_352, 7, 0]


def test_a_process_carries_its_stories() -> None:
    process = a_busy_snapshot().processes[1]

    [program], [phase], [refused] = process.programs, process.phases, process.out_of_memory
    assert (program.program, program.status, program.dram_bytes) == (99, BinaryStatus.COMMITTED, 24_576)
    assert program.operation == "ttnn.matmul"
    assert (phase.name, phase.pool, phase.peak_bytes, phase.run_count) == ("decode", Pool.L1, 84 * MIB, 17)
    assert (refused.requested_bytes, refused.free_bytes, refused.largest_free_bytes) == (4 * MIB, 3 * MIB, MIB)


def test_a_mesh_names_its_devices() -> None:
    [mesh] = a_busy_snapshot().processes[0].meshes

    assert (mesh.rows, mesh.columns, [device.index for device in mesh.devices]) == (1, 2, [0, 1])


def test_a_process_without_a_label_goes_by_its_command() -> None:
    [process] = a_snapshot(processes=[a_process(1, label="")]).processes

    assert process.label == "python job_1.py"


def test_only_a_process_of_another_pid_namespace_is_in_a_container() -> None:
    ours, theirs = a_snapshot(processes=[a_process(1), a_process(2, pid_namespace=4_026_532_999)]).processes

    assert (ours.container, theirs.container) == (None, 4_026_532_999)


def test_findings_with_a_count_are_doubts_of_the_whole_snapshot() -> None:
    snapshot = a_snapshot(processes=[a_process(1, findings={"double_free": 2, "replaced": 0})])

    assert [(finding.name, finding.count, finding.pid) for finding in snapshot.findings] == [("double_free", 2, 4001)]


def test_devices_come_in_the_order_of_their_indexes_and_unknown_ones_last() -> None:
    devices = [an_unknown_device(0), a_device(1, index=3), a_device(2, index=0)]
    pools = [(1, number, 0, KIB, KIB, 1, KIB, NOON_NS, False) for number in range(3)]
    snapshot = a_snapshot(devices=devices, processes=[a_process(1)], process_pools=pools)

    assert [usage.device.index for usage in snapshot.devices] == [0, 3, None]
    assert [held.device.index for held in snapshot.processes[0].devices] == [0, 3, None]


def test_pools_come_in_the_order_of_their_numbers() -> None:
    rows = [(0, pool, KIB, KIB, 1, KIB, NOON_NS, NOON_NS, False) for pool in (5, 0, 3)]
    [usage] = a_snapshot(devices=[a_device()], device_pools=rows).devices

    assert [pool.pool for pool in usage.pools] == [Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.KERNEL]


def test_a_pool_with_room_in_which_nothing_ever_lay_is_empty_where_it_is_counted() -> None:
    rows = [(0, 0, KIB, KIB, 1, KIB, NOON_NS, NOON_NS, False)]
    [usage] = a_snapshot(devices=[a_device()], device_pools=rows).devices
    l1 = usage.pools[1]

    assert (l1.pool, l1.used_bytes, l1.count, l1.peak_bytes) == (Pool.L1, 0, 0, 0)
    assert (l1.capacity_bytes, l1.free_bytes, l1.largest_free_bytes) == (85 * MIB, 85 * MIB, 85 * MIB)
    assert Pool.TRACE not in [pool.pool for pool in usage.pools]  # the chip has no room for it


def test_a_device_that_is_neither_opened_nor_used_is_left_out() -> None:
    snapshot = a_snapshot(
        devices=[
            a_device(0, open_count=0),
            {**a_server_device(1, index=1), "open_count": 0},
            {**an_unknown_device(2), "open_count": 0},
            {**a_server_device(3, index=3), "open_count": 0},
        ],
        device_pools=[(3, 0, 0, 0, 0, 512, NOON_NS, NOON_NS, False)],
    )

    assert [usage.device.number for usage in snapshot.devices] == [0, 3]  # a chip, and one that held something once
