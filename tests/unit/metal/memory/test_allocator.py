"""The allocator against a naive one: nothing overlaps, no byte is lost, the first block that fits is taken."""

import random
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.metal.memory.naive_allocator import NaiveAllocator
from ttmem.devices import BufferType
from ttmem.metal.chips import board
from ttmem.metal.memory import Allocator, BufferSpec, Layout, OutOfDeviceMemory, Placement, Sharding

DRAM, L1, SMALL, TRACE = BufferType.DRAM, BufferType.L1, BufferType.L1_SMALL, BufferType.TRACE
KINDS = (DRAM, L1, SMALL, TRACE)
SMALL_BYTES, TRACE_BYTES = 64 * 1024, 1 << 20


class Step(NamedTuple):
    """Allocate a buffer, or (`freed` given) free one of those alive."""

    kind: BufferType
    page_bytes: int
    page_count: int
    shard_count: int  # 0: interleaved
    is_bottom_up: bool | None
    freed: int | None

    @property
    def spec(self) -> BufferSpec:
        if not self.shard_count:
            return BufferSpec(self.page_bytes * self.page_count, self.page_bytes, self.kind)
        sharding = Sharding(self.shard_count, self.page_count)
        size_bytes = self.page_bytes * self.page_count * self.shard_count
        return BufferSpec(size_bytes, self.page_bytes, self.kind, Layout.BLOCK_SHARDED, sharding)


@st.composite
def steps(draw: st.DrawFn) -> Step:
    kind = draw(st.sampled_from(KINDS))
    most_shards = 12 if kind in (DRAM, TRACE) else 56
    # Pages of one bank are large on purpose: banks must run full within a few steps.
    page_bytes = draw(st.integers(1, {DRAM: 90_000_000, L1: 200_000, SMALL: 9_000, TRACE: 12_000}[kind]))
    shard_count = draw(st.integers(1 if kind is SMALL else 0, most_shards))
    page_count = draw(st.integers(1, 3 if shard_count else 130))
    freed = draw(st.one_of(st.none(), st.integers(0, 50)))
    return Step(kind, page_bytes, page_count, shard_count, draw(st.sampled_from([None, None, True, False])), freed)


def naive_n150() -> NaiveAllocator:
    return NaiveAllocator(
        {
            DRAM: (12, 1_048_640, 1_073_741_824 - 90_112),
            TRACE: (12, 1_073_741_824 - 90_112, 1_073_741_824),
            L1: (64, 105_824, 1_499_136 - SMALL_BYTES),
            SMALL: (64, 1_499_136 - SMALL_BYTES, 1_499_136),
        },
        dram_alignment=32,
    )


class Pair:
    """The allocator and the naive one, going through the same steps."""

    def __init__(self) -> None:
        self.allocator = Allocator(board("n150").chip(l1_small_bytes=SMALL_BYTES, trace_region_bytes=TRACE_BYTES))
        self.naive = naive_n150()
        self.live: list[Placement] = []

    def go(self, step: Step) -> None:
        if step.freed is not None and self.live:
            placement = self.live.pop(step.freed % len(self.live))
            self.allocator.free(placement)
            self.naive.free(placement.buffer_type, placement.address)
            return
        page_count = step.page_count * (step.shard_count or 1)
        stored_bytes = self.naive.stored(step.kind, step.page_bytes, page_count, step.shard_count)
        is_bottom_up = step.kind in (DRAM, TRACE) if step.is_bottom_up is None else step.is_bottom_up
        expected = self.naive.allocate(step.kind, stored_bytes, is_bottom_up=is_bottom_up)
        self.allocate(step, expected, stored_bytes)

    def allocate(self, step: Step, expected: int | None, stored_bytes: int) -> None:
        if expected is None:
            with pytest.raises(OutOfDeviceMemory) as refusal:
                self.allocator.allocate(step.spec, is_bottom_up=step.is_bottom_up)
            assert refusal.value.per_bank_bytes == stored_bytes
            assert refusal.value.statistics == self.naive.figures(step.kind)
            return
        placement = self.allocator.allocate(step.spec, is_bottom_up=step.is_bottom_up)
        assert placement.address == expected
        assert placement.per_bank_bytes == stored_bytes
        assert placement.reserved_bytes == placement.block_bytes * self.naive.banks[step.kind][0]
        self.live.append(placement)

    def compare(self) -> None:
        for kind in KINDS:
            assert self.allocator.statistics(kind) == self.naive.figures(kind)
            self.compare_blocks(kind)
        lowest = min((start for start, _ in self.naive.taken[L1]), default=None)
        assert self.allocator.lowest_l1_address == lowest
        assert self.allocator.live_count == len(self.live)

    def compare_blocks(self, kind: BufferType) -> None:
        base = self.allocator.base_address(kind)
        blocks = list(self.allocator.blocks(kind))
        taken = sorted(self.naive.taken[kind])
        found = [(base + block.offset_bytes, block.size_bytes, block.is_allocated) for block in blocks]
        gaps = [(start, end - start, False) for start, end in self.naive.gaps(kind)]
        assert found == sorted([*((start, end - start, True) for start, end in taken), *gaps])
        assert sum(block.size_bytes for block in blocks) == self.allocator.statistics(kind).bank_bytes


@settings(deadline=None, max_examples=50)
@given(st.lists(steps(), max_size=60))
def test_every_answer_is_that_of_a_naive_allocator(sequence: list[Step]) -> None:
    pair = Pair()

    for step in sequence:
        pair.go(step)
        pair.compare()


@settings(deadline=None, max_examples=50)
@given(st.lists(steps(), max_size=40), st.randoms(use_true_random=False))
def test_freed_in_any_order_all_memory_is_one_block_again(sequence: list[Step], shuffler: random.Random) -> None:
    pair = Pair()
    for step in sequence:
        pair.go(step)
    shuffler.shuffle(pair.live)

    for placement in pair.live:
        pair.allocator.free(placement)

    for kind in KINDS:
        [block] = pair.allocator.blocks(kind)
        assert (block.offset_bytes, block.is_allocated) == (0, False)
        assert block.size_bytes == pair.allocator.statistics(kind).largest_free_bytes


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_thousands_of_small_buffers_lie_where_a_naive_allocator_puts_them(seed: int) -> None:
    """Enough holes that their list is cut into many chunks."""
    chooser = random.Random(seed)
    pair = Pair()
    for number in range(2_400):
        is_freeing = number > 1_200 and chooser.random() < 0.6
        page_count = chooser.choice([1, 1, 2, 3, 5])
        direction = chooser.choice([None, None, True, False])
        pair.go(Step(L1, 64, page_count, 8, direction, chooser.randrange(10_000) if is_freeing else None))

    pair.compare()


def test_a_buffer_of_no_bytes_takes_none_and_lies_at_address_0() -> None:
    allocator = Allocator(board("n150").chip())

    placements = [allocator.allocate(BufferSpec(0, 0, kind)) for kind in KINDS]

    assert {(placement.address, placement.reserved_bytes) for placement in placements} == {(0, 0)}
    assert all(allocator.statistics(kind).allocated_bytes == 0 for kind in KINDS)
    for placement in placements:
        allocator.free(placement)
    assert allocator.live_count == 0


def test_no_l1_buffer_means_no_lowest_address() -> None:
    allocator = Allocator(board("n150").chip(l1_small_bytes=SMALL_BYTES))
    allocator.allocate(BufferSpec(64, 64, SMALL, Layout.HEIGHT_SHARDED, Sharding(1, 1)))

    assert allocator.lowest_l1_address is None


@pytest.mark.parametrize(("is_bottom_up", "address"), [(True, 105_824), (False, 1_499_136 - 64)])
def test_the_lowest_l1_address_is_that_of_the_only_buffer(is_bottom_up: bool, address: int) -> None:
    allocator = Allocator(board("n150").chip())
    allocator.allocate(BufferSpec(64, 64, L1), is_bottom_up=is_bottom_up)

    assert allocator.lowest_l1_address == address


def test_l1_filled_to_the_last_byte_begins_at_its_base() -> None:
    allocator = Allocator(board("n150").chip())
    allocator.allocate(BufferSpec(1_393_312, 1_393_312, L1, Layout.HEIGHT_SHARDED, Sharding(1, 1)))

    assert allocator.lowest_l1_address == 105_824
    assert allocator.statistics(L1)[2:] == (1_393_312, 0, 0)


def test_l1_small_of_no_bytes_has_no_banks_but_an_empty_trace_region_has() -> None:
    allocator = Allocator(board("n150").chip())

    assert allocator.statistics(SMALL) == (0, 0, 0, 0, 0)
    assert allocator.statistics(TRACE) == (12, 0, 0, 0, 0)


def test_closing_frees_everything_and_old_placements_are_foreign() -> None:
    pair = Pair()
    for kind in KINDS:
        pair.go(Step(kind, 64, 1, 1, None, None))

    pair.allocator.clear()

    assert pair.allocator.live_count == 0
    assert all(len(list(pair.allocator.blocks(kind))) == 1 for kind in KINDS)
    assert all(pair.allocator.statistics(kind).allocated_bytes == 0 for kind in KINDS)


def test_a_placement_is_only_itself() -> None:
    allocator = Allocator(board("n150").chip())
    first = allocator.allocate(BufferSpec(64, 64))
    allocator.free(first)

    assert allocator.allocate(BufferSpec(64, 64)) != first
