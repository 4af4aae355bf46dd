"""L1 in all: the kernel ring counts once per core, and inventories never on top of it."""

from tests.support.simulated.figures import a_busy_snapshot
from ttmem.devices import Pool
from ttmem.snapshot import replace


def test_the_kernel_ring_counts_once_per_worker_core_whatever_is_loaded() -> None:
    usage = a_busy_snapshot().devices[0]
    assert usage.device.grid is not None
    cores = usage.device.grid[0] * usage.device.grid[1]

    assert usage.kernel_ring_bytes == 70_656 * cores


def test_l1_in_all_holds_buffers_and_the_ring_but_no_inventory() -> None:
    usage = a_busy_snapshot().devices[0]
    used = {pool.pool: pool.used_bytes for pool in usage.pools}
    assert used.get(Pool.KERNEL, 0) > 0 or used.get(Pool.CB, 0) > 0

    expected = used.get(Pool.L1, 0) + used.get(Pool.L1_SMALL, 0) + (usage.kernel_ring_bytes or 0)
    assert usage.l1_used_bytes == expected


def test_without_a_known_ring_l1_in_all_is_unknown() -> None:
    unknown = [usage for usage in a_busy_snapshot().devices if usage.device.kernel_ring_bytes is None]

    assert unknown
    assert all(usage.l1_used_bytes is None for usage in unknown)


def test_a_chip_that_no_process_has_open_gives_up_no_ring() -> None:
    usage = a_busy_snapshot().devices[0]
    closed = replace(usage, device=replace(usage.device, open_count=0))
    used = {pool.pool: pool.used_bytes for pool in usage.pools}

    assert usage.kernel_ring_bytes
    assert closed.kernel_ring_bytes == 0
    assert closed.l1_used_bytes == used.get(Pool.L1, 0) + used.get(Pool.L1_SMALL, 0)
