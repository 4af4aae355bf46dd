"""From a tensor to the buffer that holds it: element types, tiles, rows, shards.

A tensor is two-dimensional for its buffer: all but the last dimension are rows. In tiles its last two dimensions are
padded to whole tiles, and a page is a tile; row by row, a page is one row of the tensor or, sharded, of its shard.
"""

from collections.abc import Sequence
from math import prod

from ttmem.devices import BufferType
from ttmem.metal.memory.refusals import BadBuffer
from ttmem.metal.memory.specs import BufferSpec, Layout, Sharding

__all__ = ["tensor"]

TILE_SIDE = 32
TILE_ELEMENTS = TILE_SIDE * TILE_SIDE
ELEMENT_BYTES = {"bfloat16": 2, "float32": 4, "int32": 4, "uint32": 4, "uint16": 2, "uint8": 1}
# Block formats: so many bits per element, and a byte of exponent that 16 elements share. They exist in tiles only.
BLOCK_ELEMENT_BITS = {"bfloat8_b": 8, "bfloat4_b": 4}
EXPONENT_SHARE = 16


def tensor(
    shape: Sequence[int],
    dtype: str,
    *,
    buffer_type: BufferType = BufferType.DRAM,
    layout: Layout = Layout.INTERLEAVED,
    is_tiled: bool = True,
    shard: tuple[int, int] | None = None,
    grid: tuple[int, int] | None = None,
) -> BufferSpec:
    """The buffer of a tensor on one chip. `shard`: rows and columns of one shard; `grid`: columns and rows of cores."""
    rows, columns = _padded(shape, is_tiled)
    if shard is None:
        page_bytes = tile_bytes(dtype) if is_tiled else columns * _element_bytes(dtype)
        size_bytes = _size_bytes(rows, columns, dtype, is_tiled)
        return BufferSpec(size_bytes, page_bytes, buffer_type, layout)
    page_bytes = tile_bytes(dtype) if is_tiled else shard[1] * _element_bytes(dtype)
    sharding = _sharding(rows, columns, shard=shard, grid=grid, is_tiled=is_tiled)
    return BufferSpec(_size_bytes(rows, columns, dtype, is_tiled), page_bytes, buffer_type, layout, sharding)


def tile_bytes(dtype: str) -> int:
    """The bytes of one tile."""
    if dtype in BLOCK_ELEMENT_BITS:
        return TILE_ELEMENTS * BLOCK_ELEMENT_BITS[dtype] // 8 + TILE_ELEMENTS // EXPONENT_SHARE
    return TILE_ELEMENTS * _element_bytes(dtype)


def _element_bytes(dtype: str) -> int:
    if dtype in ELEMENT_BYTES:
        return ELEMENT_BYTES[dtype]
    if dtype in BLOCK_ELEMENT_BITS:
        raise BadBuffer(f"{dtype} exists in tiles only")
    raise BadBuffer(f"no element type {dtype!r}; there are {', '.join([*ELEMENT_BYTES, *BLOCK_ELEMENT_BITS])}")


def _padded(shape: Sequence[int], is_tiled: bool) -> tuple[int, int]:
    """Rows and columns, in whole tiles if it is in tiles."""
    *outer, height, width = (1, 1, *shape)
    if is_tiled:
        height, width = _rounded_up(height), _rounded_up(width)
    return prod(outer) * height, width


def _size_bytes(rows: int, columns: int, dtype: str, is_tiled: bool) -> int:
    if is_tiled:
        return rows * columns // TILE_ELEMENTS * tile_bytes(dtype)
    return rows * columns * _element_bytes(dtype)


def _sharding(
    rows: int, columns: int, *, shard: tuple[int, int], grid: tuple[int, int] | None, is_tiled: bool
) -> Sharding:
    """Shards enough for all rows and columns: fewer than the grid has cores if the last cores would get nothing."""
    height, width = shard
    if height <= 0 or width <= 0 or (is_tiled and (height % TILE_SIDE or width % TILE_SIDE)):
        raise BadBuffer(f"a shard of {height} x {width} is not made of whole pages")
    shard_count = -(-rows // height) * -(-columns // width)
    if grid is not None and shard_count > prod(grid):
        raise BadBuffer(f"{shard_count} shards do not fit {grid[0]} x {grid[1]} cores")
    return Sharding(shard_count, height * width // TILE_ELEMENTS if is_tiled else height)


def _rounded_up(length: int) -> int:
    return -(-length // TILE_SIDE) * TILE_SIDE
