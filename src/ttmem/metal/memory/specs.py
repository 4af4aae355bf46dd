"""What is asked of an allocator: a number of bytes, cut into pages, spread over banks or laid into shards."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from ttmem.devices import BufferType
from ttmem.metal.chips.numbers import are_whole
from ttmem.metal.memory.refusals import BadBuffer

__all__ = ["Allocation", "BufferSpec", "Core", "Layout", "Sharding", "refuse_unless_pair"]

Core = tuple[int, int]  # column and row


# How two refusals of the runtime go on.
_NO_SCAN = ": the scan it narrows runs over L1 banks, so the flag would be silently ignored anywhere else"
_EVERY_BANK = ": an interleaved buffer spans every bank, so there is no narrower core set to scope the allocation to"


class Layout(IntEnum):
    """tt-metal's TensorMemoryLayout."""

    INTERLEAVED = 0
    HEIGHT_SHARDED = 2
    WIDTH_SHARDED = 3
    BLOCK_SHARDED = 4


class Allocation(IntEnum):
    """How the banks that hold a buffer in L1 get their addresses; all but LOCKSTEP is for shards only."""

    LOCKSTEP = 0  # one address, given up by every bank
    PER_CORE = 1  # each core of its own, and no other core gives anything up; needs a device in the mode HYBRID
    RANGE_LOCKSTEP = 2  # one address, given up by every bank, but kept clear of per-core buffers on its own cores only

    @property
    def option(self) -> str:
        """The runtime's word for it."""
        return f"{self.name.lower()}_allocation"


@dataclass(frozen=True, slots=True)
class Sharding:
    """How a buffer is cut into shards, padding included; each shard lies in one bank."""

    shard_count: int
    pages_per_shard: int
    grid: tuple[int, int] | None = None  # columns and rows of the cores it was meant for, from 0,0 on; None: any
    cores: tuple[Core, ...] = ()  # instead of a grid: cores that lie anywhere, in the order of the shards
    columns: int = 0  # of shards, where they keep their rows and columns on the cores (BLOCK_SHARDED)

    def __post_init__(self) -> None:
        if not are_whole(self.shard_count, self.pages_per_shard):
            raise BadBuffer(
                f"{self.shard_count!r} shards of {self.pages_per_shard!r} pages; both are whole numbers, not below 0"
            )
        refuse_unless_pair(self.grid, "a grid of cores is columns and rows")
        if not all(isinstance(core, tuple) and len(core) == 2 and are_whole(*core) for core in self.cores):
            raise BadBuffer(f"no cores: {self.cores!r}; a core is its column and row, whole numbers from 0 on")
        if len(set(self.cores)) < len(self.cores) or self.shard_count > len(self.cores) > 0:
            raise BadBuffer(f"{self.shard_count} shards need as many different cores; got {self.cores!r}")

    @property
    def places(self) -> tuple[Core, ...]:
        """The cores it was meant for, in the order of the shards; none if it was meant for no cores in particular."""
        columns, rows = self.grid or (0, 0)
        return self.cores or tuple((column, row) for row in range(rows) for column in range(columns))

    @property
    def holders(self) -> tuple[Core, ...]:
        """Those of them that hold a shard."""
        places = self.places
        if not self.columns:
            return places[: self.shard_count]
        width = len({column for column, _ in places})
        return tuple(place for number, place in enumerate(places) if number % width < self.columns)[: self.shard_count]


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A buffer before it has an address. Bytes are those on one chip, before any rounding to banks."""

    size_bytes: int
    page_bytes: int
    buffer_type: BufferType = BufferType.DRAM
    layout: Layout = Layout.INTERLEAVED
    sharding: Sharding | None = None
    allocation: Allocation = Allocation.LOCKSTEP
    sub_device: int | None = None  # that gives it, if it has L1 of its own; None: the mesh
    tensor: str = field(default="", compare=False)  # that it holds: "1x1x32x14336 bfloat16 tile"

    def __post_init__(self) -> None:
        if not are_whole(self.size_bytes, self.page_bytes) or (self.size_bytes and not self.page_bytes):
            raise BadBuffer(
                f"a buffer of {self.size_bytes!r} bytes in pages of {self.page_bytes!r} bytes cannot be; both are "
                "whole numbers, not below 0"
            )
        if not isinstance(self.buffer_type, BufferType):
            raise BadBuffer(f"no type of buffer: {self.buffer_type!r}; use BufferType, like BufferType.L1")
        if not isinstance(self.layout, Layout):
            raise BadBuffer(f"no layout: {self.layout!r}; use Layout, like Layout.HEIGHT_SHARDED")
        if not isinstance(self.sharding, Sharding | None):
            raise BadBuffer(f"no sharding: {self.sharding!r}; use Sharding, or tensor() with a shard")
        if self.sharding is None:
            if self.layout is not Layout.INTERLEAVED:
                raise BadBuffer(f"a {self.layout.name} buffer needs its sharding")
            if self.size_bytes and self.size_bytes % self.page_bytes:
                raise BadBuffer(f"{self.size_bytes} bytes are not whole pages of {self.page_bytes} bytes")
        elif self.layout is Layout.INTERLEAVED:
            raise BadBuffer("an INTERLEAVED buffer has no shards")
        elif self.page_count * self.page_bytes < self.size_bytes:
            raise BadBuffer(f"{self.page_count} pages of {self.page_bytes} bytes do not hold {self.size_bytes} bytes")
        self._refuse_unless_on_cores()
        if self.sub_device is not None and not are_whole(self.sub_device):
            raise BadBuffer(f"no sub-device: {self.sub_device!r}; they are numbered from 0")
        if self.sub_device is not None and self.sharding is None:
            raise BadBuffer("Specifying sub-device for buffer requires buffer to be sharded")

    @property
    def page_count(self) -> int:
        """Pages on the device: those of the bytes, or of all shards with what pads them."""
        if self.sharding is not None:
            return self.sharding.shard_count * self.sharding.pages_per_shard
        return self.size_bytes // self.page_bytes if self.size_bytes else 0

    def _refuse_unless_on_cores(self) -> None:
        """What the runtime says when a memory configuration says how to allocate."""
        if not isinstance(self.allocation, Allocation):
            raise BadBuffer(f"no way to allocate: {self.allocation!r}; use Allocation, like Allocation.PER_CORE")
        if self.allocation is Allocation.LOCKSTEP:
            return
        is_range, option = self.allocation is Allocation.RANGE_LOCKSTEP, self.allocation.option
        if self.buffer_type is not BufferType.L1:
            raise BadBuffer(f"{option} is only supported for L1 buffers{_NO_SCAN if is_range else ''}")
        if self.sharding is None:
            raise BadBuffer(f"{option} requires a sharded memory layout{_EVERY_BANK if is_range else ''}")
        if not self.sharding.places:
            raise BadBuffer(f"{option} without cores; give `grid` or `cores` of its shards")


def refuse_unless_pair(pair: object, words: str) -> None:
    """Two whole numbers, or nothing at all."""
    if pair is not None and not (isinstance(pair, Sequence) and len(pair) == 2 and are_whole(*pair, least=1)):
        raise BadBuffer(f"{words}, two whole numbers above 0; got {pair!r}")
