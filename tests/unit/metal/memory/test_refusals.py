"""Refusals, word for word as the stock wheel gave them."""

import pytest

from ttmem.devices import BufferType
from ttmem.metal.chips import Chip, board
from ttmem.metal.memory import (
    AllocationRefused,
    Allocator,
    BufferSpec,
    ForeignPlacement,
    Layout,
    MetalError,
    OutOfDeviceMemory,
    Sharding,
    tensor,
)

HEIGHT = Layout.HEIGHT_SHARDED


def text_of(chip: Chip, spec: BufferSpec, *, after: int = 0) -> str:
    """The refusal of a buffer after so many like it."""
    allocator = Allocator(chip)
    for _ in range(after):
        allocator.allocate(spec)
    with pytest.raises(OutOfDeviceMemory) as refusal:
        allocator.allocate(spec)
    return str(refusal.value)


def test_l1_runs_out_in_the_words_of_the_runtime() -> None:
    two_mebibytes = tensor((1, 1, 1024, 1024), "bfloat16", buffer_type=BufferType.L1)

    assert text_of(board("n150").chip(), two_mebibytes, after=42) == (
        "Out of Memory: Not enough space to allocate 2097152 B L1 buffer across 64 banks, where each bank needs to "
        "store 32768 B, but bank size is 1393312 B (allocated: 1376256 B, free: 17056 B, largest free block: 17056 B)."
    )


def test_dram_runs_out_in_the_words_of_the_runtime() -> None:
    assert text_of(board("n150").chip(), BufferSpec(8 << 30, 2048), after=1) == (
        "Out of Memory: Not enough space to allocate 8589934592 B DRAM buffer across 12 banks, where each bank needs "
        "to store 715829248 B, but bank size is 1072693184 B (allocated: 715829248 B, free: 356863936 B, largest free "
        "block: 356863936 B)."
    )


def test_l1_small_runs_out_with_advice() -> None:
    spec = tensor((1, 1, 384, 128), "float32", buffer_type=BufferType.L1_SMALL, layout=HEIGHT, shard=(96, 128))

    assert text_of(board("n150").chip(l1_small_bytes=32_768), spec) == (
        "Out of Memory: Not enough space to allocate 196608 B L1_SMALL buffer across 4 banks, where each bank needs to "
        "store 49152 B, but bank size is 32768 B (allocated: 0 B, free: 32768 B, largest free block: 32768 B). The "
        "L1_SMALL region is sized at device open; increase l1_small_size when opening the device."
    )


def test_an_l1_small_of_no_bytes_refuses_with_other_advice() -> None:
    spec = tensor((1, 1, 64, 64), "bfloat16", buffer_type=BufferType.L1_SMALL, layout=HEIGHT, shard=(32, 64))

    assert text_of(board("n150").chip(), spec) == (
        "Out of Memory: Not enough space to allocate 8192 B L1_SMALL buffer across 2 banks, where each bank needs to "
        "store 4096 B, but bank size is 0 B (allocated: 0 B, free: 0 B, largest free block: 0 B). The L1_SMALL region "
        "is 0 B because it is reserved at device open; set l1_small_size large enough for this allocation when opening "
        "the device."
    )


def test_a_trace_region_of_no_bytes_refuses_without_advice() -> None:
    assert text_of(board("n150").chip(), BufferSpec(1024, 1024, BufferType.TRACE)) == (
        "Out of Memory: Not enough space to allocate 1024 B TRACE buffer across 12 banks, where each bank needs to "
        "store 1024 B, but bank size is 0 B (allocated: 0 B, free: 0 B, largest free block: 0 B)."
    )


def test_a_refusal_counts_aligned_pages_and_the_banks_before_rounding() -> None:
    rows_of_18_bytes = tensor((1, 1, 65, 9), "bfloat16", buffer_type=BufferType.L1, is_tiled=False)
    allocator = Allocator(board("p150").chip(l1_small_bytes=1_461_120))

    with pytest.raises(OutOfDeviceMemory) as refusal:
        allocator.allocate(rows_of_18_bytes)

    assert (refusal.value.requested_bytes, refusal.value.per_bank_bytes) == (65 * 32, 32)
    assert allocator.allocate(on_cores(1, size_bytes=32, buffer_type=BufferType.L1_SMALL)).block_bytes == 64


def test_a_refusal_carries_its_figures() -> None:
    allocator = Allocator(board("n150").chip())
    with pytest.raises(OutOfDeviceMemory) as refusal:
        allocator.allocate(on_cores(60, size_bytes=1_400_000))

    error = refusal.value
    assert (error.buffer_type, error.requested_bytes, error.per_bank_bytes) == (BufferType.L1, 84_000_000, 1_400_000)
    assert error.bank_count == 60
    assert error.statistics == allocator.statistics(BufferType.L1)


def test_an_interleaved_buffer_in_l1_small_is_refused_in_the_words_of_the_runtime() -> None:
    spec = tensor((32, 32), "bfloat16", buffer_type=BufferType.L1_SMALL)

    for l1_small_bytes in (0, 32_768):
        with pytest.raises(AllocationRefused) as refusal:
            Allocator(board("n150").chip(l1_small_bytes=l1_small_bytes)).allocate(spec)
        assert str(refusal.value) == "L1_SMALL only supports sharded allocations, see validate_num_banks"


def test_memory_of_the_host_is_refused() -> None:
    with pytest.raises(AllocationRefused, match="SYSTEM_MEMORY"):
        Allocator(board("n150").chip()).allocate(BufferSpec(64, 64, BufferType.SYSTEM_MEMORY))


@pytest.mark.parametrize(
    ("buffer_type", "shard_count", "grid"),
    [
        (BufferType.L1, 65, None),
        (BufferType.L1, 1, (9, 1)),
        (BufferType.L1, 1, (1, 9)),
        (BufferType.DRAM, 13, None),
        (BufferType.DRAM, 1, (13, 1)),
        (BufferType.DRAM, 2, (1, 2)),
    ],
)
def test_shards_for_which_there_are_no_banks_are_refused(
    buffer_type: BufferType, shard_count: int, grid: tuple[int, int] | None
) -> None:
    spec = BufferSpec(shard_count * 64, 64, buffer_type, HEIGHT, Sharding(shard_count, 1, grid))
    allocator = Allocator(board("n150").chip())

    with pytest.raises(AllocationRefused, match=f"banks of {buffer_type.name}"):
        allocator.allocate(spec)
    assert allocator.live_count == 0


@pytest.mark.parametrize(("buffer_type", "shard_count"), [(BufferType.L1, 64), (BufferType.DRAM, 12)])
def test_as_many_shards_as_banks_are_taken(buffer_type: BufferType, shard_count: int) -> None:
    spec = BufferSpec(shard_count * 64, 64, buffer_type, HEIGHT, Sharding(shard_count, 1))

    assert Allocator(board("n150").chip()).allocate(spec).reserved_bytes == shard_count * 64


def test_a_refusal_takes_nothing() -> None:
    allocator = Allocator(board("n150").chip())
    before = list(allocator.blocks(BufferType.L1))
    with pytest.raises(OutOfDeviceMemory):
        allocator.allocate(on_cores(1, size_bytes=2_000_000))

    assert list(allocator.blocks(BufferType.L1)) == before
    assert allocator.live_count == 0


def test_freeing_twice_is_refused() -> None:
    allocator = Allocator(board("n150").chip())
    placement = allocator.allocate(BufferSpec(2048, 2048))
    allocator.free(placement)

    with pytest.raises(ForeignPlacement, match="DRAM at address 1048640, 2048 bytes per bank: not allocated here"):
        allocator.free(placement)


def test_freeing_twice_does_not_free_who_came_after() -> None:
    allocator = Allocator(board("n150").chip())
    first = allocator.allocate(BufferSpec(2048, 2048))
    allocator.free(first)
    second = allocator.allocate(BufferSpec(2048, 2048))
    assert second.address == first.address

    with pytest.raises(ForeignPlacement):
        allocator.free(first)
    assert allocator.statistics(BufferType.DRAM).allocated_bytes == 2048


def test_a_placement_of_another_allocator_is_refused() -> None:
    mine, other = Allocator(board("n150").chip()), Allocator(board("n150").chip())
    mine.allocate(BufferSpec(2048, 2048))
    foreign = other.allocate(BufferSpec(2048, 2048))

    with pytest.raises(ForeignPlacement):
        mine.free(foreign)
    assert mine.live_count == other.live_count == 1


def test_what_the_runtime_would_throw_has_one_root() -> None:
    assert issubclass(OutOfDeviceMemory, MetalError)
    assert issubclass(AllocationRefused, MetalError)
    assert issubclass(ForeignPlacement, MetalError)


def on_cores(core_count: int, *, size_bytes: int, buffer_type: BufferType = BufferType.L1) -> BufferSpec:
    """A buffer with a page of so many bytes on each of so many cores."""
    return BufferSpec(core_count * size_bytes, size_bytes, buffer_type, HEIGHT, Sharding(core_count, 1))
