"""The words for chips, for memory on them and for what programs do there: pools, kinds, buffer types, caches, stalls.

The numbers are those of `ttmem/client.h`. A number nobody knows becomes UNKNOWN: it is kept and shown, never dropped.
"""

from enum import Enum, IntEnum
from typing import NamedTuple

__all__ = [
    "PLANNED_POOLS",
    "Arch",
    "BinaryStatus",
    "BufferLayout",
    "BufferType",
    "Cache",
    "CacheOutcome",
    "CoreType",
    "Device",
    "FoundBy",
    "KernelType",
    "Kind",
    "Pool",
    "RefusalKind",
    "Stall",
    "Word",
]


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
    TRACE_BUFFER = 10  # a captured trace in plain DRAM, on a device without a trace region

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


class CoreType(Word):
    """tt-metal's programmable core types, after 0 for unknown."""

    UNKNOWN = 0
    TENSIX = 1
    ACTIVE_ETH = 2
    IDLE_ETH = 3
    DRAM = 4


class Cache(IntEnum):
    """Where something is kept so that it need not be made, read or sent again."""

    JIT = 0  # compiled kernels
    PROGRAM = 1  # programs of operations that ran before
    PREFETCHER = 2  # binaries in the L1 of the prefetch core
    TRACE = 3  # binaries that a replay finds still in the kernel ring, by the plan made when it was captured
    IMAGE = 4  # equal images of several kernels: what keeping each of them once would save

    @property
    def word(self) -> str:
        """Its name as users read it."""
        return self.name.lower()

    @property
    def is_estimate(self) -> bool:
        """Whether its answers follow from a plan, and nobody saw them."""
        return self is Cache.TRACE


class Stall(Word):
    """Why a launch had to wait before it could write into the kernel ring."""

    NONE = 0
    SPACE = 1  # no room
    ENTRIES = 2  # the table of the ring's entries was full
    LAUNCH_SLOTS = 3  # no free launch message
    IN_FLIGHT = 4  # its binaries were still being written
    ORDER = 5  # an ethernet program waits for the one before it
    FULL = 6  # a replayed trace took the whole ring

    @classmethod
    def _missing_(cls, value: object) -> "Stall":
        return cls.NONE


class KernelType(IntEnum):
    """Whose kernel it is, in the allocation server's numbers."""

    APPLICATION = 0
    FABRIC = 1
    DISPATCH = 2


class FoundBy(Word):
    """How the type of a kernel was found, most trusted first."""

    UNKNOWN = 0
    OWNER = 1  # the program it belongs to
    ARGUMENT = 2  # the caller said so
    PATH = 3  # where its source lies
    STACK = 4  # who called
    SIZE = 5  # one of two well-known sizes: a guess


class CacheOutcome(IntEnum):
    """What came of asking a cache."""

    HIT = 0
    MISS = 1
    EVICTED = 2
    BYPASSED = 3
    EMPTIED = 4

    @property
    def word(self) -> str:
        """Its name as users read it."""
        return self.name.lower()


class RefusalKind(Word):
    """What kind of incident it is, in the numbers of `ttmem/client.h`."""

    UNKNOWN = 0
    OUT_OF_MEMORY = 1
    CLASH = 2  # circular buffers would reach into an L1 buffer, or beyond the end of L1
    UNSAFE_REPLAY = 3


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
