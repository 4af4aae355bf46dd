"""From a tensor to the buffer that holds it.

For its buffer a tensor is two-dimensional: all dimensions but the last are rows. In tiles, its last two dimensions
are padded to whole tiles and a page is a tile. Row by row, a page is one row of the tensor or, sharded, of its shard;
then its columns are padded to whole shards.
"""

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

from ttmem.devices import BufferType
from ttmem.metal.chips.numbers import are_whole
from ttmem.metal.memory.refusals import BadBuffer
from ttmem.metal.memory.specs import Allocation, BufferSpec, Core, Layout, Sharding, refuse_unless_pair

__all__ = ["tensor"]

TILE_SIDE = 32
TILE_ELEMENTS = TILE_SIDE * TILE_SIDE
ELEMENT_BYTES = {"bfloat16": 2, "float32": 4, "int32": 4, "uint32": 4, "uint16": 2, "uint8": 1}
# Block formats: bits per element, and one byte of exponent that 16 elements share. They exist in tiles only.
BLOCK_ELEMENT_BITS = {"bfloat8_b": 8, "bfloat4_b": 4}
EXPONENT_SHARE = 16


class _Plane(NamedTuple):
    """Rows and columns of a tensor, and of one of its pages."""

    rows: int
    columns: int
    page_rows: int
    page_columns: int

    @property
    def page_count(self) -> int:
        return self.rows * self.columns // (self.page_rows * self.page_columns) if self.rows * self.columns else 0


def tensor(
    shape: Sequence[int],
    dtype: str,
    *,
    buffer_type: BufferType = BufferType.DRAM,
    layout: Layout = Layout.INTERLEAVED,
    is_tiled: bool = True,
    shard: tuple[int, int] | None = None,
    grid: tuple[int, int] | None = None,
    cores: Iterable[Core] | None = None,
    allocation: Allocation = Allocation.LOCKSTEP,
    sub_device: int | None = None,
) -> BufferSpec:
    """The buffer of a tensor on one chip.

    `shard`: rows and columns of one shard; `grid`: columns and rows of the cores (or DRAM banks) that shards go to.
    Cores that do not begin at 0,0 are given as `cores` instead, like `CoreRanges.parse("2,1-5,1")`. `sub_device` is the
    number of one that was loaded.
    """
    if not (isinstance(shape, Sequence) and are_whole(*shape)):
        raise BadBuffer(f"no shape of a tensor: {shape!r}; give its dimensions as whole numbers, like (1, 1, 32, 4096)")
    refuse_unless_pair(shard, "a shard is rows and columns")
    refuse_unless_pair(grid, "a grid of cores is columns and rows")
    plane = _plane(shape, shard, is_tiled=is_tiled)
    page_bytes = tile_bytes(dtype) if is_tiled else plane.page_columns * element_bytes(dtype)
    places = () if cores is None else tuple(cores)
    sharding = None if shard is None else _sharding(plane, shard, layout=layout, grid=grid, cores=places)
    words = f"{'x'.join(map(str, shape))} {dtype} {'tile' if is_tiled else 'row major'}"
    return BufferSpec(
        plane.page_count * page_bytes, page_bytes, buffer_type, layout, sharding, allocation, sub_device, words
    )


def _plane(shape: Sequence[int], shard: tuple[int, int] | None, *, is_tiled: bool) -> _Plane:
    *outer, height, width = (1, 1, *shape)
    if is_tiled:
        rows, columns = prod(outer) * _rounded_up(height, TILE_SIDE), _rounded_up(width, TILE_SIDE)
        return _Plane(rows, columns, TILE_SIDE, TILE_SIDE)
    page_columns = shard[1] if shard else width
    return _Plane(prod(outer) * height, _rounded_up(width, page_columns), 1, page_columns)


def _sharding(
    plane: _Plane, shard: tuple[int, int], *, layout: Layout, grid: tuple[int, int] | None, cores: tuple[Core, ...]
) -> Sharding:
    """Shards enough for all rows and columns: fewer than there are cores if the last cores would get nothing."""
    height, width = shard
    if height <= 0 or width <= 0 or height % plane.page_rows or width % plane.page_columns:
        raise BadBuffer(f"a shard of {height} x {width} is not whole pages of {plane.page_rows} x {plane.page_columns}")
    down, across = -(-plane.rows // height), -(-plane.columns // width)
    if layout is Layout.HEIGHT_SHARDED and width != plane.columns:
        raise BadBuffer(f"height sharded: a shard is {width} columns wide, the tensor {plane.columns}")
    if layout is Layout.WIDTH_SHARDED and height != plane.rows:
        raise BadBuffer(f"width sharded: a shard is {height} rows high, the tensor {plane.rows}")
    if cores:
        grid = _extent(cores) if layout is Layout.BLOCK_SHARDED else (len(cores), 1)
    if grid is not None and not _fits(down, across, layout=layout, grid=grid):
        raise BadBuffer(f"{layout.name}: {down} x {across} shards do not fit {grid[1]} rows of {grid[0]} cores")
    pages_per_shard = height * width // (plane.page_rows * plane.page_columns)
    columns = across if layout is Layout.BLOCK_SHARDED else 0
    return Sharding(down * across, pages_per_shard, None if cores else grid and (grid[0], grid[1]), cores, columns)


def _extent(cores: tuple[Core, ...]) -> tuple[int, int]:
    """Columns and rows of a rectangle of cores, which blocks need; the cores follow one another row by row."""
    (first_column, first_row), (last_column, last_row) = cores[0], cores[-1]
    rows, columns = range(first_row, last_row + 1), range(first_column, last_column + 1)
    if cores != tuple((column, row) for row in rows for column in columns):
        raise BadBuffer(f"blocks need a rectangle of cores, row by row; got {cores!r}")
    return len(columns), len(rows)


def _fits(down: int, across: int, *, layout: Layout, grid: tuple[int, int]) -> bool:
    """Blocks keep their rows and columns on the grid; strips follow one another over all of its cores."""
    columns, rows = grid
    if layout is Layout.BLOCK_SHARDED:
        return down <= rows and across <= columns
    return down * across <= columns * rows


def tile_bytes(dtype: str) -> int:
    """The bytes of one tile."""
    if dtype in BLOCK_ELEMENT_BITS:
        return TILE_ELEMENTS * BLOCK_ELEMENT_BITS[dtype] // 8 + TILE_ELEMENTS // EXPONENT_SHARE
    return TILE_ELEMENTS * element_bytes(dtype)


def element_bytes(dtype: str) -> int:
    """The bytes of one element that stands for itself."""
    if dtype in ELEMENT_BYTES:
        return ELEMENT_BYTES[dtype]
    if dtype in BLOCK_ELEMENT_BITS:
        raise BadBuffer(f"{dtype} exists in tiles only")
    raise BadBuffer(f"no element type {dtype!r}; there are {', '.join([*ELEMENT_BYTES, *BLOCK_ELEMENT_BITS])}")


def _rounded_up(length: int, step: int) -> int:
    return -(-length // step) * step if length else 0
