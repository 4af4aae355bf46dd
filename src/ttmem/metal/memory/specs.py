"""What is asked of an allocator: so many bytes, cut into pages, spread over banks or laid into shards."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ttmem.devices import BufferType
from ttmem.metal.arguments import are_whole
from ttmem.metal.memory.refusals import BadBuffer

__all__ = ["BufferSpec", "Layout", "Sharding", "refuse_unless_pair"]


class Layout(IntEnum):
    """tt-metal's TensorMemoryLayout."""

    INTERLEAVED = 0
    HEIGHT_SHARDED = 2
    WIDTH_SHARDED = 3
    BLOCK_SHARDED = 4


@dataclass(frozen=True, slots=True)
class Sharding:
    """How a buffer is cut into shards, padding included; each shard lies in one bank."""

    shard_count: int
    pages_per_shard: int
    grid: tuple[int, int] | None = None  # columns and rows of the cores it was meant for, from 0,0 on; None: any

    def __post_init__(self) -> None:
        if not are_whole(self.shard_count, self.pages_per_shard):
            raise BadBuffer(
                f"{self.shard_count!r} shards of {self.pages_per_shard!r} pages; both are whole numbers, not below 0"
            )
        refuse_unless_pair(self.grid, "a grid of cores is columns and rows")


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A buffer before it has an address. Bytes are those on one chip, before any rounding to banks."""

    size_bytes: int
    page_bytes: int
    buffer_type: BufferType = BufferType.DRAM
    layout: Layout = Layout.INTERLEAVED
    sharding: Sharding | None = None

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

    @property
    def page_count(self) -> int:
        """Pages on the device: those of the bytes, or of all shards with what pads them."""
        if self.sharding is not None:
            return self.sharding.shard_count * self.sharding.pages_per_shard
        return self.size_bytes // self.page_bytes if self.size_bytes else 0


def refuse_unless_pair(pair: object, words: str) -> None:
    """Two whole numbers, or nothing at all."""
    if pair is not None and not (isinstance(pair, Sequence) and len(pair) == 2 and are_whole(*pair, least=1)):
        raise BadBuffer(f"{words}, two whole numbers above 0; got {pair!r}")
