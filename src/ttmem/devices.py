"""The words for chips and for memory on them: pools, kinds, buffer types, binary statuses.

The numbers are those of `ttmem/client.h`. A number nobody knows becomes UNKNOWN: it is kept and shown, never dropped.
"""

from enum import Enum, IntEnum
from typing import NamedTuple

__all__ = ["PLANNED_POOLS", "Arch", "BinaryStatus", "BufferLayout", "BufferType", "Device", "Kind", "Pool", "Word"]


class Word(IntEnum):
    """A number that users know by a word. One that nobody knows becomes UNKNOWN."""

    @classmethod
    def _missing_(cls, value: object) -> "Word":
        return cls["UNKNOWN"]

    @property
    def word(self) -> str:
        """Its name as users read and type it."""
        return self.name.lower()


class Pool(Word):
    """Where bytes live."""

    DRAM = 0
    TRACE = 1
    L1 = 2
    L1_SMALL = 3
    CB = 4
    KERNEL = 5
    ETH = 6
    DISPATCH = 7
    HOST = 8
    UNKNOWN = 9


# Inventories: what all loaded programs would take. Programs share that memory, so the sum may exceed the chip.
PLANNED_POOLS = frozenset({Pool.CB, Pool.KERNEL, Pool.ETH, Pool.DISPATCH})


class Kind(Word):
    """What an allocation is."""

    UNKNOWN = 0
    BUFFER = 1
    CIRCULAR_BUFFER = 2
    DATAFLOW_BUFFER = 3
    SCRATCHPAD = 4
    KERNEL_APPLICATION = 5
    KERNEL_FABRIC = 6
    KERNEL_DISPATCH = 7
    PROGRAM_BINARY = 8
    KERNEL_UNKNOWN = 9

    @property
    def is_kernel(self) -> bool:
        return self in _KERNELS

    @property
    def kernel_word(self) -> str:
        """Application, fabric, dispatch or unknown; only for kernels."""
        return self.word.removeprefix("kernel_")


_KERNELS = frozenset(kind for kind in Kind if kind.name.startswith("KERNEL_"))


class BufferType(IntEnum):
    """tt-metal's BufferType."""

    DRAM = 0
    L1 = 1
    SYSTEM_MEMORY = 2
    L1_SMALL = 3
    TRACE = 4


class BufferLayout(Word):
    """How a buffer is spread over its banks: 1 + tt-metal's TensorMemoryLayout."""

    UNKNOWN = 0
    INTERLEAVED = 1
    SINGLE_BANK = 2
    HEIGHT_SHARDED = 3
    WIDTH_SHARDED = 4
    BLOCK_SHARDED = 5
    ND_SHARDED = 6


class BinaryStatus(Word):
    """tt-metal's ProgramBinaryStatus."""

    NOT_SENT = 0
    IN_FLIGHT = 1
    COMMITTED = 2
    UNKNOWN = 3


class Arch(str, Enum):
    """Architectures by the name tt-metal gives them; a journal may name others."""

    WORMHOLE_B0 = "wormhole_b0"
    BLACKHOLE = "blackhole"


class Device(NamedTuple):
    """One chip, as the processes that opened it described it. `number` is its place in one snapshot only."""

    number: int
    unique_id: int
    index: int | None  # type: ignore[assignment]  # hides a method of tuples, which nobody calls
    arch: str
    board: str
    grid: tuple[int, int] | None
    dram_bank_count: int | None
    l1_bank_count: int | None
    kernel_ring_bytes: int | None
    capacity_bytes: tuple[int | None, ...]
    open_count: int
    is_known: bool
    name: str

    @classmethod
    def bare(cls, number: int, unique_id: int | None, *, index: int | None, name: str) -> "Device":
        """One of which nobody said more than how it is called."""
        return cls(
            number=number,
            unique_id=unique_id or 0,
            index=index,
            arch="",
            board="",
            grid=None,
            dram_bank_count=None,
            l1_bank_count=None,
            kernel_ring_bytes=None,
            capacity_bytes=(None,) * len(Pool),
            open_count=0,
            is_known=unique_id is not None,
            name=name,
        )

    def capacity(self, pool: Pool) -> int | None:
        """All banks of a pool together, as reported by the chip's opener; None if nobody said."""
        return self.capacity_bytes[pool] if pool < len(self.capacity_bytes) else None

    @property
    def is_seed(self) -> bool:
        """Known by its number alone, from the seeds' protocol; no journal has opened that chip."""
        return not self.is_known and self.index is not None

    @property
    def uuid(self) -> str | None:
        """The chip's own id as it is printed everywhere; None for a device nobody opened."""
        return f"0x{self.unique_id:016x}" if self.is_known else None
