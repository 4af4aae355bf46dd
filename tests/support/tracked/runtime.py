"""The least a runtime must have to be tracked: chips, devices, buffers and core sets that only say what they are."""

from dataclasses import dataclass, field
from itertools import count

from ttmem.devices import BufferType, Pool
from ttmem.tracking import CorePart

_IDS = count(1)
DRAM_BYTES = 12 << 30


@dataclass(frozen=True)
class SmallChip:
    unique_id: int
    index: int = 0
    arch: str = "wormhole_b0"
    board: str = "n150"
    grid: tuple[int, int] = (8, 8)
    dram_bank_count: int = 12
    l1_bank_count: int = 64
    kernel_ring_bytes: int = 70_656

    def capacity_bytes(self, pool: Pool) -> int:
        return DRAM_BYTES if pool is Pool.DRAM else 0


@dataclass(frozen=True)
class SmallDevice:
    chips: tuple[SmallChip, ...]
    shape: tuple[int, int]
    id: int = field(default_factory=lambda: next(_IDS))


@dataclass(frozen=True)
class SmallBuffer:
    device: SmallDevice
    reserved_bytes: int = 4096
    requested_bytes: int = 4000
    per_bank_bytes: int = 352
    address: int = 0x1000
    buffer_type: BufferType = BufferType.DRAM
    program: int = 0
    unique_id: int = field(default_factory=lambda: next(_IDS))


@dataclass(frozen=True)
class SmallCores:
    core_count: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class SmallCoreBuffer(SmallBuffer):
    """A buffer that is allocated by core."""

    per_bank_bytes: int = 1024
    buffer_type: BufferType = BufferType.L1
    core_parts: tuple[tuple[CorePart, ...], ...] = ()


def a_chip_alone(unique_id: int = 0xC0) -> SmallDevice:
    return SmallDevice((SmallChip(unique_id),), (1, 1))


def a_mesh(rows: int, columns: int, *, first_id: int = 0xC0) -> SmallDevice:
    chips = tuple(SmallChip(first_id + index, index) for index in range(rows * columns))
    return SmallDevice(chips, (rows, columns))
