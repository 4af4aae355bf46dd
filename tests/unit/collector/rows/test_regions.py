"""Where the pools of a chip lie in its banks, and what is free there."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tests.support.simulated.chip_views import DRAM_BASE, L1_BASE, L1_END, a_map, a_map_device
from ttmem.collector.rows.regions import BankSizes, Bounds, Gaps, core_bytes, pool_bounds
from ttmem.devices import Pool
from ttmem.snapshot import Device, replace

WORMHOLE = BankSizes(1 << 30, 1_499_136)


def test_pools_lie_at_the_upper_end_of_their_banks() -> None:
    device = a_map_device().device

    assert pool_bounds(device, Pool.DRAM, WORMHOLE) == (DRAM_BASE, 1 << 30)
    assert pool_bounds(device, Pool.L1, WORMHOLE) == (L1_BASE, L1_END)
    assert pool_bounds(device, Pool.L1_SMALL, WORMHOLE) == (L1_END, L1_END)
    assert core_bytes(device) == 70_656 + L1_END - L1_BASE


def test_nothing_is_said_of_chips_without_a_description() -> None:
    bare = Device.bare(0, 7, index=0, name="")

    assert pool_bounds(bare, Pool.DRAM, WORMHOLE) is None
    assert pool_bounds(a_map_device().device, Pool.DRAM, None) is None
    assert core_bytes(bare) is None


def test_a_chip_that_keeps_more_than_it_has_leaves_nothing_free_and_not_less() -> None:
    device = a_map_device().device
    capacities = [*device.capacity_bytes]
    capacities[Pool.L1_SMALL.number] = 1 << 40
    bounds = pool_bounds(replace(device, capacity_bytes=tuple(capacities)), Pool.L1, WORMHOLE)

    assert bounds == (0, 0)
    assert bounds is not None
    assert bounds.largest_free_bytes(Gaps()) == 0


@given(
    cuts=st.sets(st.integers(0, 60), max_size=20),
    begin=st.integers(0, 20),
    end=st.integers(40, 60),
)
def test_the_largest_free_block_is_that_of_every_address_tried(cuts: set[int], begin: int, end: int) -> None:
    places = sorted(cuts)
    spans = list(zip(places[::2], places[1::2], strict=False))
    taken = {address for low, high in spans for address in range(low, high)}
    holes = [later[0] - earlier[1] for earlier, later in itertools.pairwise(spans)]
    gaps = Gaps(
        placed_count=len(spans),
        used_bytes=len(taken),
        lowest=spans[0][0] if spans else 0,
        highest=spans[-1][1] if spans else 0,
        largest_bytes=max(holes, default=0),
        hole_count=len(holes),
    )
    told = Bounds(begin, end)
    bounds = told.around(gaps)

    line = "".join("x" if address in taken else "." for address in range(bounds.begin, bounds.end))
    blocks = [block for block in line.split("x") if block]
    free_bytes = max(0, end - begin - len(taken))
    assert told.largest_free_bytes(gaps) == min(free_bytes, max(map(len, blocks), default=0))
    assert bounds.hole_count(gaps) == len(blocks)


def test_one_that_did_not_say_where_it_lies_leaves_all_open() -> None:
    gaps = Gaps(unplaced_count=1)

    assert Bounds(0, 10).largest_free_bytes(gaps) is None
    assert Bounds(0, 10).hole_count(gaps) is None


def test_what_lies_above_hides_what_lies_below() -> None:
    chip = a_map()
    assert chip.l1 is not None

    kinds = [stretch.kind for stretch in chip.l1.stretches]

    assert kinds == ["reserved", "ring", "cb", "planned", "free", "buffer", "free", "buffer"]
    assert chip.worst == (3, 2)
    assert chip.worst_fill is not None
    assert chip.worst_fill.cb_planned_bytes == 256 * 1024
