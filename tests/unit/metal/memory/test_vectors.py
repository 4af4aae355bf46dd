"""Figures from real bug reports and from the wheel: bytes per bank, directions, fragmentation."""

import pytest

from ttmem.devices import BufferType
from ttmem.metal.chips import DispatchCores, board
from ttmem.metal.memory import Allocator, BufferSpec, Layout, OutOfDeviceMemory, Placement, Sharding, tensor

KIB = 1024


def in_every_bank(size_bytes: int, buffer_type: BufferType = BufferType.L1) -> BufferSpec:
    """A buffer that takes so many bytes of each bank."""
    return BufferSpec(size_bytes, size_bytes, buffer_type, Layout.HEIGHT_SHARDED, Sharding(1, 1))


@pytest.mark.parametrize(
    ("size_bytes", "page_bytes", "per_bank_bytes"),
    [
        (117_440_512, 2048, 9_787_392),
        (1_073_741_824, 2048, 89_479_168),
        (58_720_256, 2048, 4_894_720),
        (1_244_659_712, 2048, 103_723_008),
        (146_575_360, 1088, 12_214_976),
        (5_805_965_312, 2048, 483_831_808),
    ],
)
def test_reported_buffers_take_the_reported_bytes_of_12_banks(
    size_bytes: int, page_bytes: int, per_bank_bytes: int
) -> None:
    allocator = Allocator(board("n150").chip())

    assert allocator.per_bank_bytes(BufferSpec(size_bytes, page_bytes)) == per_bank_bytes


def test_a_reported_buffer_on_60_cores_takes_a_sixtieth_of_each() -> None:
    sharding = Sharding(60, 48_814_080 // 60 // 64)
    spec = BufferSpec(48_814_080, 64, BufferType.L1, Layout.HEIGHT_SHARDED, sharding)

    assert Allocator(board("n150").chip()).per_bank_bytes(spec) == 813_568


def test_two_mebibytes_take_a_little_more_of_12_banks() -> None:
    placement = Allocator(board("n150").chip()).allocate(tensor((1, 1, 1024, 1024), "bfloat16"))

    assert (placement.per_bank_bytes, placement.reserved_bytes) == (176_128, 2_113_536)


@pytest.mark.parametrize(
    ("buffer_type", "is_bottom_up", "address"),
    [
        (BufferType.DRAM, None, 1_048_640),
        (BufferType.DRAM, True, 1_048_640),
        (BufferType.DRAM, False, 1_073_645_568),
        (BufferType.L1, None, 1_492_992),
        (BufferType.L1, False, 1_492_992),
        (BufferType.L1, True, 105_824),
        (BufferType.TRACE, None, 1_073_651_712),
        (BufferType.TRACE, True, 1_073_651_712),
        (BufferType.TRACE, False, 1_073_741_824 - 6_144),
    ],
)
def test_every_kind_of_memory_is_filled_from_its_own_end_unless_asked(
    buffer_type: BufferType, is_bottom_up: bool | None, address: int
) -> None:
    allocator = Allocator(board("n150").chip(trace_region_bytes=1 << 20))

    placement = allocator.allocate(in_every_bank(6_144, buffer_type), is_bottom_up=is_bottom_up)

    assert placement.address == address


def test_first_fit_cuts_a_large_hole_though_a_small_one_would_do() -> None:
    """Issue 35516: from the top, 8 KiB are cut from a hole of 16 KiB, and then no 16 KiB are left in one piece."""
    allocator = Allocator(board("n150").chip())
    holes = holes_of(allocator, [16 * KIB, 8 * KIB])
    for hole in holes:
        allocator.free(hole)
    large, small = holes

    placement = allocator.allocate(in_every_bank(8 * KIB))

    assert placement.address == large.address + 8 * KIB
    with pytest.raises(OutOfDeviceMemory) as refusal:
        allocator.allocate(in_every_bank(16 * KIB))
    assert refusal.value.statistics[3:] == (16 * KIB, 8 * KIB)
    assert [block.offset_bytes for block in allocator.blocks(BufferType.L1) if not block.is_allocated] == [
        small.address - allocator.base_address(BufferType.L1),
        large.address - allocator.base_address(BufferType.L1),
    ]


def test_a_third_of_a_gigabyte_may_be_free_and_five_megabytes_may_not_be_had() -> None:
    """tt-xla 4130: 183,397,344 bytes of a bank were free, the largest block was 3,382,944, and 4,894,720 failed."""
    allocator = Allocator(board("n150").chip())
    for hole in holes_of(allocator, [3_382_944] * 54 + [718_368], BufferType.DRAM):
        allocator.free(hole)

    with pytest.raises(OutOfDeviceMemory) as refusal:
        allocator.allocate(BufferSpec(58_720_256, 2048))

    assert "each bank needs to store 4894720 B" in str(refusal.value)
    assert "free: 183397344 B, largest free block: 3382944 B" in str(refusal.value)


def holes_of(allocator: Allocator, sizes: list[int], buffer_type: BufferType = BufferType.L1) -> list[Placement]:
    """Buffers of these sizes with a little between them, and nothing else free."""
    holes = []
    for size_bytes in sizes:
        holes.append(allocator.allocate(in_every_bank(size_bytes, buffer_type)))
        allocator.allocate(in_every_bank(64, buffer_type))
    rest = allocator.statistics(buffer_type).free_bytes
    allocator.allocate(in_every_bank(rest, buffer_type))
    return holes


def test_the_simulated_wormhole_puts_tensors_where_the_sample_has_them() -> None:
    allocator = Allocator(board("wormhole-sim").chip(dispatch=DispatchCores.TENSIX))

    dram = allocator.allocate(tensor((64, 64), "bfloat16"))
    l1 = [allocator.allocate(tensor((64, 64), "bfloat16", buffer_type=BufferType.L1)) for _ in range(2)]

    assert dram.address == 1_048_640
    assert [placement.address for placement in l1] == [1_497_088, 1_495_040]
