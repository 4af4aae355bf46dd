"""Buffers: what a tracker is told of them, and that they end once."""

from collections.abc import Sequence
from dataclasses import dataclass

from ttmem.devices import BufferType
from ttmem.metal.chips import Chip, board
from ttmem.metal.memory import Allocator, Buffer, tensor
from ttmem.tracking import TrackedBuffer, TrackedDevice


@dataclass(frozen=True)
class Alone:
    """One chip, opened as a device."""

    chip: Chip
    id: int = 1
    shape: tuple[int, int] = (1, 1)

    @property
    def chips(self) -> Sequence[Chip]:
        return [self.chip]


CHIP = board("n150").chip()
DEVICE: TrackedDevice = Alone(CHIP)
SPEC = tensor((1, 1, 1024, 1024), "bfloat16")


def test_a_buffer_distinguishes_requested_stored_and_reserved_bytes() -> None:
    buffer: TrackedBuffer = Buffer(SPEC, Allocator(CHIP).allocate(SPEC), DEVICE, program=7)

    assert (buffer.requested_bytes, buffer.per_bank_bytes, buffer.reserved_bytes) == (2_097_152, 176_128, 2_113_536)
    assert (buffer.address, buffer.buffer_type) == (1_048_640, BufferType.DRAM)
    assert (buffer.device, buffer.program) == (DEVICE, 7)


def test_no_two_buffers_have_the_same_id() -> None:
    allocator = Allocator(CHIP)
    buffers = [Buffer(SPEC, allocator.allocate(SPEC), DEVICE) for _ in range(5)]

    assert len({buffer.unique_id for buffer in buffers}) == 5
    assert 0 not in {buffer.unique_id for buffer in buffers}


def test_a_buffer_is_released_once_however_often_it_is_freed() -> None:
    allocator, released = Allocator(CHIP), list[Buffer]()

    def release(freed: Buffer) -> None:
        allocator.free(freed.placement)
        released.append(freed)

    buffer = Buffer(SPEC, allocator.allocate(SPEC), DEVICE, release=release)
    was_allocated = buffer.is_allocated

    buffer.deallocate()
    buffer.deallocate()

    assert released == [buffer]
    assert (was_allocated, buffer.is_allocated) == (True, False)
    assert allocator.live_count == 0


def test_a_buffer_says_what_it_is() -> None:
    buffer = Buffer(SPEC, Allocator(CHIP).allocate(SPEC), DEVICE)

    assert repr(buffer) == f"Buffer({buffer.unique_id}, DRAM at 1048640, 2097152 bytes)"
    buffer.deallocate()
    assert repr(buffer) == f"Buffer({buffer.unique_id}, DRAM at 1048640, 2097152 bytes, freed)"
