"""Device operations of real models: which kernels run on how many cores, with which circular buffers.

Sizes of circular buffers follow from tiles and blocks, as the operations' program factories choose them: inputs are
double-buffered (weights streamed from DRAM three times), outputs held as one block. Sharded inputs and outputs are
used where they lie: such a circular buffer is a view of the tensor.
"""

from math import ceil

from ttmem.metal.workloads.building.arithmetic import TILE_SIDE, tile_bytes
from ttmem.metal.workloads.building.steps import Operation, PlannedBuffer

__all__ = [
    "add",
    "add_sharded",
    "argmax",
    "attention_decode",
    "attention_prefill",
    "buffers",
    "divisor",
    "embedding",
    "matmul_decode",
    "matmul_prefill",
    "move",
    "norm_decode",
    "norm_prefill",
    "rope",
    "tiles",
    "update_cache",
]

BLOCK_TILES_MAX = 8
PREFILL_ROWS = 1024  # longer prompts are folded into batches of this many rows
ATTENTION_CHUNK_TILES = 8
BINARY_KERNELS = ("reader_interleaved_no_bcast", "writer_interleaved_no_bcast", "eltwise_binary_no_bcast")


def tiles(count: int) -> int:
    """How many tiles a number of rows or columns needs."""
    return ceil(count / TILE_SIDE)


def divisor(count: int, most: int) -> int:
    """The largest divisor that is not larger than `most`."""
    return max(number for number in range(1, min(count, most) + 1) if count % number == 0)


def buffers(*parts: tuple[str, int]) -> tuple[PlannedBuffer, ...]:
    """Circular buffers of tiles: a format and how many of them, each."""
    return tuple(PlannedBuffer(tile_bytes(dtype), count) for dtype, count in parts)


def matmul_decode(
    name: str, inner: int, outer: int, *, weights: str, core_count: int, out: str = "bfloat16"
) -> Operation:
    """A matmul of one tile row with weights that stream from DRAM; activations stay in the cores' L1."""
    block = divisor(ceil(tiles(inner) / core_count), BLOCK_TILES_MAX)
    columns = ceil(tiles(outer) / core_count)
    return Operation(
        name,
        ("in1_dram_sharded", "bmm_large_block"),
        core_count,
        buffers(("bfloat16", 2 * block), (weights, 3 * block * columns), (out, columns)),
        lead="in0_sender",
        follow="in0_receiver",
        shape=(inner, outer),
    )


def matmul_prefill(
    name: str, rows: int, inner: int, outer: int, *, dtypes: tuple[str, str, str], grid: tuple[int, int]
) -> Operation:
    """A matmul spread over a grid, output blocks by rows and columns; `dtypes` of input, weights, output."""
    columns, lines = grid
    height = ceil(tiles(min(rows, PREFILL_ROWS)) / lines)
    width = ceil(tiles(outer) / columns)
    block = divisor(tiles(inner), 4)
    taken, weights, out = dtypes
    out_width = divisor(width, 16)  # columns of the output that are finished together
    return Operation(
        name,
        ("in1_sender_writer", "bmm_large_block"),
        columns * lines,
        buffers((taken, 2 * height * block), (weights, 2 * block * out_width), (out, height * out_width)),
        lead="in0_sender_padding",
        follow="in0_receiver",
        shape=(rows, inner, outer),
    )


def norm_decode(width: int, *, core_count: int) -> Operation:
    """RMS norm of one tile row whose columns are spread over the cores: they exchange partial sums."""
    share = ceil(tiles(width) / core_count)
    return Operation(
        "rms_norm",
        ("norm_writer", "norm"),
        core_count,
        buffers(("bfloat16", share), ("bfloat16", share), ("bfloat16", 1), ("bfloat16", 1), ("bfloat16", core_count)),
        lead="norm_mcast_sender",
        follow="norm_mcast_receiver",
        shape=(width,),
    )


def norm_prefill(rows: int, width: int, *, core_count: int) -> Operation:
    """RMS norm of many rows from DRAM to DRAM, a tile row at a time on each core."""
    row = tiles(width)
    return Operation(
        "rms_norm",
        ("norm_reader", "norm_writer", "norm"),
        min(core_count, tiles(rows)),
        buffers(("bfloat16", row), ("bfloat16", row), ("bfloat16", row), ("bfloat16", 2), ("bfloat16", 1)),
        shape=(rows, width),
    )


def add(name: str, rows: int, width: int, *, dtypes: tuple[str, str, str], core_count: int) -> Operation:
    """An element-wise operation of two tensors in DRAM or spread over L1."""
    return Operation(
        name,
        BINARY_KERNELS,
        core_count,
        buffers(*((dtype, 2) for dtype in dtypes)),
        shape=(rows, width),
    )


def add_sharded(name: str, width: int, *, core_count: int) -> Operation:
    """The same on shards: its three circular buffers are views, it needs no memory of its own."""
    return Operation(name, BINARY_KERNELS, core_count, shape=(width,))


def move(name: str, kernels: tuple[str, ...], tile_count: int, *, dtype: str, core_count: int) -> Operation:
    """An operation that brings tiles from one place to another; a number of them is under way at once on a core."""
    return Operation(name, kernels, core_count, buffers((dtype, tile_count), (dtype, tile_count)))


def rope(name: str, head_width: int, *, core_count: int) -> Operation:
    """Rotary position embedding of queries or keys."""
    row = tiles(head_width)
    parts = [("bfloat16", count * row) for count in (2, 2, 2, 1, 1, 1, 1)]
    return Operation(
        name, ("rope_reader", "rope_writer", "rope"), core_count, buffers(*parts, ("bfloat16", 1)), shape=(head_width,)
    )


def update_cache(name: str, head_width: int, *, dtype: str, core_count: int) -> Operation:
    """Writes new keys or values into the pages of the cache."""
    row = tiles(head_width)
    return Operation(
        name,
        ("cache_reader", "cache_writer", "cache_update"),
        core_count,
        buffers((dtype, 2 * row), ("bfloat16", row), ("bfloat16", 2 * row), (dtype, 2 * row)),
        shape=(head_width,),
    )


def attention_decode(head_width: int, *, dtype: str, core_count: int) -> Operation:
    """Flash attention of one token over the pages of the cache, chunk by chunk."""
    row, chunk = tiles(head_width), ATTENTION_CHUNK_TILES
    keys = 2 * chunk * row
    parts = [("bfloat16", row), (dtype, keys), (dtype, keys), ("bfloat16", chunk), ("bfloat16", chunk)]
    parts += [("bfloat16", row)] * 4 + [("bfloat16", 1)] * 8
    return Operation(
        "paged_attention_decode",
        ("attention_reader", "attention_writer", "attention"),
        core_count,
        buffers(*parts),
        shape=(head_width,),
    )


def attention_prefill(rows: int, head_width: int, *, dtype: str, core_count: int) -> Operation:
    """Flash attention of a whole prompt: chunks of queries against chunks of keys."""
    row, chunk = tiles(head_width), ATTENTION_CHUNK_TILES
    block = chunk * row
    parts = [(dtype, 2 * block), (dtype, 2 * block), (dtype, 2 * block), ("bfloat16", chunk * chunk)]
    parts += [("bfloat16", block)] * 3 + [("bfloat16", chunk)] * 6
    return Operation(
        "attention_prefill",
        ("prefill_attention_reader", "prefill_attention_writer", "prefill_attention"),
        core_count,
        buffers(*parts),
        shape=(rows, head_width),
    )


def embedding(rows: int, width: int, *, core_count: int) -> Operation:
    """Looks up token embeddings and brings them into tiles."""
    row = tiles(width)
    return Operation(
        "embedding",
        ("embedding_reader", "writer_unary", "tilize"),
        min(core_count, tiles(rows)),
        (PlannedBuffer(width * 2, TILE_SIDE), *buffers(("bfloat16", row))),
        shape=(rows, width),
    )


def argmax(width: int, *, core_count: int) -> Operation:
    """Finds the most likely token."""
    share = ceil(width / core_count) * 2
    return Operation("argmax", ("argmax",), core_count, (PlannedBuffer(ceil(share / 32) * 32, 1),), shape=(width,))
