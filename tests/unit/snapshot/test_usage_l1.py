"""L1: buffers only of banks x bank size, the kernel ring once per core, the fullest core of what a core has."""

from tests.support.simulated.figures import a_busy_snapshot
from ttmem.devices import Kind, Pool
from ttmem.snapshot import KindUsage, replace
from ttmem.snapshot.activity import NO_ACTIVITY
from ttmem.snapshot.usage import kinds_shown


def test_the_kernel_ring_counts_once_per_worker_core_whatever_is_loaded() -> None:
    usage = a_busy_snapshot().devices[0]
    assert usage.device.grid is not None
    cores = usage.device.grid[0] * usage.device.grid[1]

    assert usage.kernel_ring_bytes == 70_656 * cores


def test_l1_is_buffers_and_nothing_else_of_all_banks() -> None:
    usage = a_busy_snapshot().devices[0]
    used = {pool.pool: pool.used_bytes for pool in usage.pools}
    assert used.get(Pool.KERNEL, 0) > 0 or used.get(Pool.CB, 0) > 0

    assert usage.l1_used_bytes == used.get(Pool.L1, 0)
    assert usage.l1_total_bytes == usage.device.capacity(Pool.L1)


def test_the_fullest_core_is_a_share_of_what_a_core_has() -> None:
    usage = replace(a_busy_snapshot().devices[0], fullest_core_bytes=300, core_bytes=400)

    assert usage.fullest_core_share == 0.75
    assert replace(usage, fullest_core_bytes=None).fullest_core_share is None
    assert replace(usage, core_bytes=None).fullest_core_share is None


def test_a_chip_that_no_process_has_open_gives_up_no_ring() -> None:
    usage = a_busy_snapshot().devices[0]
    closed = replace(usage, device=replace(usage.device, open_count=0))

    assert usage.kernel_ring_bytes
    assert closed.kernel_ring_bytes == 0


def test_circular_buffers_are_shown_as_their_union_or_not_at_all() -> None:
    usage = a_busy_snapshot().devices[0]
    assert usage.activity.footprint is not None

    [shown] = [pool for pool in usage.shown_pools if pool.pool is Pool.CB]
    lost = replace(usage, activity=NO_ACTIVITY)

    planned = usage.activity.footprint.planned_bytes
    assert (shown.used_bytes, shown.peak_bytes, shown.is_lower_bound) == (planned, planned, True)
    assert (shown.requested_bytes, shown.unattributed_bytes) == (None, 0)
    assert Pool.CB not in {pool.pool for pool in lost.shown_pools}


def test_circular_buffers_have_a_count_and_no_sum() -> None:
    kinds = (KindUsage(Kind.BUFFER, 7, 1, is_estimated=False), KindUsage(Kind.SCRATCHPAD, 9, 2, is_estimated=False))

    assert [(one.used_bytes, one.count) for one in kinds_shown(kinds)] == [(7, 1), (None, 2)]
