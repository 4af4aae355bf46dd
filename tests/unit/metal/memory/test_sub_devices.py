"""Sub-devices with L1 of their own: what they take off the mesh's, and hand out themselves."""

import pytest

from ttmem.devices import BufferType
from ttmem.metal import CoreRanges
from ttmem.metal.chips import board
from ttmem.metal.memory import AllocationRefused, Allocator, BadBuffer, BufferSpec, Layout, OutOfDeviceMemory, tensor

KIB = 1024
LEFT, RIGHT = "0,0-3,3", "4,0-7,3"
BASE, TOP = 105_824, 1_499_136  # of the L1 of an n150


def on(cores: str, core_bytes: int, sub_device: int | None, buffer_type: BufferType = BufferType.L1) -> BufferSpec:
    places = CoreRanges.parse(cores)
    return tensor(
        (places.core_count, core_bytes),
        "uint8",
        buffer_type=buffer_type,
        layout=Layout.HEIGHT_SHARDED,
        is_tiled=False,
        shard=(1, core_bytes),
        cores=places,
        sub_device=sub_device,
    )


@pytest.fixture
def allocator() -> Allocator:
    made = Allocator(board("n150").chip(), chip_count=2)
    made.load_sub_devices([CoreRanges.parse(LEFT), CoreRanges.parse(RIGHT)], 256 * KIB)
    return made


def test_each_has_the_lowest_addresses_on_its_cores_and_the_mesh_what_is_above(allocator: Allocator) -> None:
    left = allocator.allocate(on(LEFT, 100 * KIB, 0))
    right = allocator.allocate(on(RIGHT, 30 * KIB, 1))
    whole = allocator.allocate(on("0,0-7,6", 10 * KIB, None))

    assert (left.address, right.address) == (BASE + (256 - 100) * KIB, BASE + (256 - 30) * KIB)
    assert left.core_addresses == ((left.address,) * 16,) * 2
    assert left.reserved_bytes == 16 * 100 * KIB
    assert whole.address == TOP - 10 * KIB
    assert allocator.statistics(BufferType.L1).bank_bytes == TOP - BASE - 256 * KIB


def test_a_full_one_refuses_in_its_own_figures(allocator: Allocator) -> None:
    allocator.allocate(on(LEFT, 100 * KIB, 0))

    with pytest.raises(OutOfDeviceMemory) as refused:
        allocator.allocate(on(LEFT, 200 * KIB, 0))

    assert refused.value.statistics == (16, 256 * KIB, 100 * KIB, 156 * KIB, 156 * KIB)
    assert allocator.allocate(on(RIGHT, 200 * KIB, 1)).block_bytes == 200 * KIB


def test_what_lies_on_the_other_is_not_the_lowest_here(allocator: Allocator) -> None:
    left = allocator.allocate(on(LEFT, 100 * KIB, 0))
    right = allocator.allocate(on(RIGHT, 200 * KIB, 1))

    assert allocator.lowest_l1_address_on([(1, 1)]) == left.address
    assert allocator.lowest_l1_address == right.address
    assert allocator.lowest_l1_address_on([(0, 6)]) is None


def test_what_was_freed_is_had_again_and_the_end_gives_all_back(allocator: Allocator) -> None:
    first = allocator.allocate(on(LEFT, 100 * KIB, 0))
    with pytest.raises(AllocationRefused, match="still have local allocations"):
        allocator.clear_sub_devices()
    allocator.free(first)

    assert allocator.allocate(on(LEFT, 100 * KIB, 0)).address == first.address
    allocator.clear()
    assert allocator.statistics(BufferType.L1).bank_bytes == TOP - BASE


def test_a_mesh_that_lies_too_low_is_not_cut() -> None:
    allocator = Allocator(board("n150").chip())
    allocator.allocate(on("0,0-7,6", 1200 * KIB, None))

    with pytest.raises(AllocationRefused, match="cuts into allocated block"):
        allocator.load_sub_devices([CoreRanges.parse(LEFT)], 256 * KIB)
    with pytest.raises(AllocationRefused, match="exceeds allocatable worker L1"):
        allocator.load_sub_devices([CoreRanges.parse(LEFT)], 2_000_000)
    assert allocator.statistics(BufferType.L1).bank_bytes == TOP - BASE


def test_what_no_sub_device_gives_is_refused(allocator: Allocator) -> None:
    with pytest.raises(AllocationRefused, match="SubDevice index 2 out of bounds 2"):
        allocator.allocate(on(LEFT, KIB, 2))
    with pytest.raises(AllocationRefused, match="do not match sub-device cores"):
        allocator.allocate(on(RIGHT, KIB, 0))
    with pytest.raises(BadBuffer, match="requires buffer to be sharded"):
        BufferSpec(64 * KIB, KIB, BufferType.L1, sub_device=0)
    with pytest.raises(BadBuffer, match="numbered from 0"):
        on(LEFT, KIB, -1)
    hybrid = Allocator(board("n150").chip(), is_hybrid=True)
    with pytest.raises(AllocationRefused, match="HYBRID"):
        hybrid.load_sub_devices([CoreRanges.parse(LEFT)], KIB)


def test_without_l1_of_their_own_they_give_nothing_and_the_mesh_is_its_only_one() -> None:
    allocator = Allocator(board("n150").chip())
    assert allocator.allocate(on(LEFT, KIB, 0)).address == TOP - KIB
    with pytest.raises(AllocationRefused, match="SubDevice index 1 out of bounds 1"):
        allocator.allocate(on(LEFT, KIB, 1))
    allocator.load_sub_devices([CoreRanges.parse(LEFT)], 0)

    with pytest.raises(AllocationRefused, match="SubDevice allocator not initialized"):
        allocator.allocate(on(LEFT, KIB, 0))
    assert allocator.statistics(BufferType.L1).bank_bytes == TOP - BASE
