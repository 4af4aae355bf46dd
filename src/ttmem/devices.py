"""The words for chips, for memory on them and for what programs do there: pools, kinds, buffer types, caches, stalls.

The numbers are those of `ttmem/client.h`. A number nobody knows becomes UNKNOWN: it is kept and shown, never dropped.
"""

from enum import Enum, IntEnum
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "BANKED_POOLS",
    "PLANNED_POOLS",
    "POOL_TOTALS",
    "Arch",
    "BinaryStatus",
    "BufferLayout",
    "BufferType",
    "Cache",
    "CacheOutcome",
    "CoreType",
    "FoundBy",
    "KernelType",
    "Kind",
    "Pool",
    "PoolTotal",
    "RefusalKind",
    "Stall",
    "Word",
]


AnyWord = TypeVar("AnyWord", bound="Word")
_NUMBERED: dict[type, dict[int, Any]] = {}  # the words of each class


class Word(Enum):
    """A word that users read and type, and its number in `ttmem/client.h`: `DRAM = 0` is Pool("dram").

    The value is the word, so JSON has words; `numbered` finds one by its number. Words are ordered by number.
    """

    number: int
    word: str  # as users read and type it

    def __new__(cls, number: int, word: str) -> "Word":
        self = object.__new__(cls)
        self._value_ = self.word = word
        self.number = number
        _NUMBERED.setdefault(cls, {})[number] = self
        return self

    @classmethod
    def numbered(cls: type[AnyWord], number: int) -> AnyWord:
        """The word of a number; for a number without one UNKNOWN, or the first word where there is no UNKNOWN."""
        words: dict[int, AnyWord] = _NUMBERED[cls]
        found = words.get(number)
        return cls.__members__.get("UNKNOWN", words[0]) if found is None else found

    def __index__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        """Also to its number, which the ledger's rows have."""
        return self is other or (type(other) is int and other == self.number)

    def __hash__(self) -> int:
        return hash(self.number)

    def __lt__(self, other: "Word") -> bool:
        return self.number < other.number


class Pool(Word):
    """Where bytes live."""

    DRAM = 0, "dram"
    TRACE = 1, "trace"
    L1 = 2, "l1"
    L1_SMALL = 3, "l1_small"
    CB = 4, "cb"
    KERNEL = 5, "kernel"
    ETH = 6, "eth"
    DISPATCH = 7, "dispatch"
    HOST = 8, "host"
    UNKNOWN = 9, "unknown"


# Where buffers lie, each of them in one: these bytes exclude each other, so they add up, and have a place in a bank.
BANKED_POOLS = (Pool.DRAM, Pool.TRACE, Pool.L1, Pool.L1_SMALL)
# Inventories: what all loaded programs would take. Programs share that memory, so the sum may exceed the chip.
PLANNED_POOLS = frozenset({Pool.CB, Pool.KERNEL, Pool.ETH, Pool.DISPATCH})


class PoolTotal(NamedTuple):
    """What only ever grows of a pool of a process, in bytes, since the process began to report."""

    field: str  # of `PoolUsage` and `DumpGroup`, in JSON and in the name of its metric: freed_bytes
    word: str  # on screens and in names of CSV: freed
    meaning: str


# In the order in which native/src/journal/counters.hpp counts them. Every output shows all of them.
POOL_TOTALS: tuple[PoolTotal, ...] = (
    PoolTotal("freed_bytes", "freed", "bytes given back since the process began to report"),
)


class Kind(Word):
    """What an allocation is."""

    UNKNOWN = 0, "unknown"
    BUFFER = 1, "buffer"
    CIRCULAR_BUFFER = 2, "circular_buffer"
    DATAFLOW_BUFFER = 3, "dataflow_buffer"
    SCRATCHPAD = 4, "scratchpad"
    KERNEL_APPLICATION = 5, "kernel_application"
    KERNEL_FABRIC = 6, "kernel_fabric"
    KERNEL_DISPATCH = 7, "kernel_dispatch"
    PROGRAM_BINARY = 8, "program_binary"
    KERNEL_UNKNOWN = 9, "kernel_unknown"
    TRACE_BUFFER = 10, "trace_buffer"  # a captured trace in plain DRAM, on a device without a trace region

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

    UNKNOWN = 0, "unknown"
    INTERLEAVED = 1, "interleaved"
    SINGLE_BANK = 2, "single_bank"
    HEIGHT_SHARDED = 3, "height_sharded"
    WIDTH_SHARDED = 4, "width_sharded"
    BLOCK_SHARDED = 5, "block_sharded"
    ND_SHARDED = 6, "nd_sharded"


class BinaryStatus(Word):
    """tt-metal's ProgramBinaryStatus."""

    NOT_SENT = 0, "not_sent"
    IN_FLIGHT = 1, "in_flight"
    COMMITTED = 2, "committed"
    UNKNOWN = 3, "unknown"


class Arch(str, Enum):
    """Architectures by the name tt-metal gives them; a journal may name others."""

    WORMHOLE_B0 = "wormhole_b0"
    BLACKHOLE = "blackhole"


class CoreType(Word):
    """tt-metal's programmable core types, after 0 for unknown."""

    UNKNOWN = 0, "unknown"
    TENSIX = 1, "tensix"
    ACTIVE_ETH = 2, "active_eth"
    IDLE_ETH = 3, "idle_eth"
    DRAM = 4, "dram"


class Cache(Word):
    """Where something is kept so that it need not be made, read or sent again."""

    JIT = 0, "jit"  # compiled kernels
    PROGRAM = 1, "program"  # programs of operations that ran before
    PREFETCHER = 2, "prefetcher"  # binaries in the L1 of the prefetch core
    TRACE = 3, "trace"  # binaries that a replay finds still in the kernel ring, by the plan made when it was captured
    IMAGE = 4, "image"  # equal images of several kernels: what keeping each of them once would save

    @property
    def is_estimate(self) -> bool:
        """Whether its answers follow from a plan, and nobody saw them."""
        return self is Cache.TRACE


class Stall(Word):
    """Why a launch had to wait before it could write into the kernel ring."""

    NONE = 0, "none"
    SPACE = 1, "space"  # no room
    ENTRIES = 2, "entries"  # the table of the ring's entries was full
    LAUNCH_SLOTS = 3, "launch_slots"  # no free launch message
    IN_FLIGHT = 4, "in_flight"  # its binaries were still being written
    ORDER = 5, "order"  # an ethernet program waits for the one before it
    FULL = 6, "full"  # a replayed trace took the whole ring


class KernelType(IntEnum):
    """Whose kernel it is, in the allocation server's numbers."""

    APPLICATION = 0
    FABRIC = 1
    DISPATCH = 2


class FoundBy(Word):
    """How the type of a kernel was found, most trusted first."""

    UNKNOWN = 0, "unknown"
    OWNER = 1, "owner"  # the program it belongs to
    ARGUMENT = 2, "argument"  # the caller said so
    PATH = 3, "path"  # where its source lies
    STACK = 4, "stack"  # who called
    SIZE = 5, "size"  # one of two well-known sizes: a guess


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

    UNKNOWN = 0, "unknown"
    OUT_OF_MEMORY = 1, "out_of_memory"
    CLASH = 2, "clash"  # circular buffers would reach into an L1 buffer, or beyond the end of L1
    UNSAFE_REPLAY = 3, "unsafe_replay"
