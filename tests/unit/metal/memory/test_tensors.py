"""Tensors to buffers: bytes, pages and shards as the runtime counts them (figures read from the stock wheel)."""

from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem.devices import BufferType
from ttmem.metal.chips import board
from ttmem.metal.memory import Allocator, BadBuffer, BufferSpec, Layout, Sharding, tensor

HEIGHT, WIDTH, BLOCK = Layout.HEIGHT_SHARDED, Layout.WIDTH_SHARDED, Layout.BLOCK_SHARDED
FLAT = (1, 1, 100, 70)


@pytest.mark.parametrize(
    ("dtype", "tile_bytes"),
    [
        ("bfloat16", 2048),
        ("float32", 4096),
        ("int32", 4096),
        ("uint32", 4096),
        ("uint16", 2048),
        ("uint8", 1024),
        ("bfloat8_b", 1088),
        ("bfloat4_b", 576),
    ],
)
def test_a_page_is_a_tile(dtype: str, tile_bytes: int) -> None:
    spec = tensor((1, 1, 64, 64), dtype)

    assert (spec.page_bytes, spec.page_count, spec.size_bytes) == (tile_bytes, 4, 4 * tile_bytes)


@pytest.mark.parametrize(
    ("shape", "is_tiled", "size_bytes", "block_bytes"),
    [
        (FLAT, True, 24_576, 2_048),
        (FLAT, False, 14_000, 288),
        ((2, 3, 100, 70), True, 147_456, 4_096),
        ((70,), False, 140, 160),
        ((70,), True, 6_144, 2_048),
        ((), False, 2, 32),
        ((), True, 2_048, 2_048),
        ((1, 1, 0, 70), False, 0, 0),
        ((1, 1, 5, 0), False, 0, 0),
        ((0, 1, 5, 7), True, 0, 0),
        ((0,), False, 0, 0),
    ],
)
def test_an_interleaved_tensor_is_spread_over_all_cores(
    shape: tuple[int, ...], is_tiled: bool, size_bytes: int, block_bytes: int
) -> None:
    spec = tensor(shape, "bfloat16", buffer_type=BufferType.L1, is_tiled=is_tiled)

    assert spec.size_bytes == size_bytes
    assert Allocator(board("n150").chip()).allocate(spec).block_bytes == block_bytes


@pytest.mark.parametrize(
    ("layout", "is_tiled", "shard", "grid", "size_bytes", "block_bytes"),
    [
        (HEIGHT, False, (32, 70), (4, 1), 14_000, 4_608),
        (WIDTH, False, (100, 16), (5, 1), 16_000, 3_200),
        (WIDTH, False, (100, 20), (4, 1), 16_000, 4_800),
        (BLOCK, False, (30, 20), (4, 4), 16_000, 1_440),
        (BLOCK, False, (30, 35), (2, 4), 14_000, 2_400),
        (HEIGHT, False, (64, 80), (4, 1), 16_000, 10_240),
        (BLOCK, True, (64, 64), (2, 2), 24_576, 8_192),
        (HEIGHT, True, (32, 96), (4, 1), 24_576, 6_144),
        (WIDTH, True, (128, 32), (4, 1), 24_576, 8_192),
        (HEIGHT, True, (256, 96), (8, 8), 24_576, 49_152),
    ],
)
def test_a_sharded_tensor_takes_a_whole_shard_of_every_core(
    layout: Layout, is_tiled: bool, shard: tuple[int, int], grid: tuple[int, int], size_bytes: int, block_bytes: int
) -> None:
    spec = tensor(FLAT, "bfloat16", buffer_type=BufferType.L1, layout=layout, is_tiled=is_tiled, shard=shard, grid=grid)

    placement = Allocator(board("n150").chip()).allocate(spec)

    assert spec.size_bytes == size_bytes
    assert placement.block_bytes == block_bytes
    assert placement.reserved_bytes == 64 * block_bytes


def test_shards_are_counted_by_what_they_hold_not_by_cores() -> None:
    spec = tensor((1, 1, 960, 64), "bfloat16", layout=HEIGHT, shard=(160, 64), grid=(8, 8))

    assert spec.sharding == Sharding(6, 10, (8, 8))


@pytest.mark.parametrize(
    ("layout", "is_tiled", "shard", "grid", "reason"),
    [
        (HEIGHT, True, (32, 128), (4, 1), "a shard is 128 columns wide, the tensor 96"),
        (HEIGHT, True, (32, 70), (4, 1), "not whole pages of 32 x 32"),
        (HEIGHT, True, (32, 96), (3, 1), "4 x 1 shards do not fit 1 rows of 3 cores"),
        (WIDTH, True, (256, 32), (4, 1), "a shard is 256 rows high, the tensor 128"),
        (WIDTH, False, (128, 35), (4, 1), "a shard is 128 rows high, the tensor 100"),
        (BLOCK, True, (32, 32), (2, 8), "4 x 3 shards do not fit 8 rows of 2 cores"),
        (BLOCK, True, (32, 32), (8, 2), "4 x 3 shards do not fit 2 rows of 8 cores"),
        (BLOCK, True, (0, 32), (8, 8), "a shard is rows and columns"),
    ],
)
def test_shards_that_do_not_fit_are_refused(
    layout: Layout, is_tiled: bool, shard: tuple[int, int], grid: tuple[int, int], reason: str
) -> None:
    with pytest.raises(BadBuffer, match=reason):
        tensor(FLAT, "bfloat16", layout=layout, is_tiled=is_tiled, shard=shard, grid=grid)


@pytest.mark.parametrize(
    ("dtype", "is_tiled", "reason"),
    [("bfloat8_b", False, "in tiles only"), ("complex", True, "no element type 'complex'")],
)
def test_elements_that_do_not_exist_are_refused(dtype: str, is_tiled: bool, reason: str) -> None:
    with pytest.raises(BadBuffer, match=reason):
        tensor((32, 32), dtype, is_tiled=is_tiled)


@pytest.mark.parametrize(
    "fields",
    [
        {"size_bytes": -1, "page_bytes": 1},
        {"size_bytes": 1, "page_bytes": 0},
        {"size_bytes": 100, "page_bytes": 64},
        {"size_bytes": 64, "page_bytes": 64, "layout": HEIGHT},
        {"size_bytes": 64, "page_bytes": 64, "sharding": Sharding(1, 1)},
        {"size_bytes": 129, "page_bytes": 64, "layout": HEIGHT, "sharding": Sharding(2, 1)},
        {"size_bytes": 64, "page_bytes": 64, "layout": HEIGHT, "sharding": Sharding(0, 1)},
    ],
)
def test_a_buffer_that_cannot_be_is_refused(fields: dict[str, int]) -> None:
    with pytest.raises(BadBuffer):
        BufferSpec(**fields)  # type: ignore[arg-type]


@given(st.lists(st.integers(1, 70), min_size=1, max_size=4), st.booleans(), st.sampled_from(["bfloat16", "float32"]))
def test_a_tensor_holds_all_its_elements_in_whole_pages(shape: list[int], is_tiled: bool, dtype: str) -> None:
    element_bytes = {"bfloat16": 2, "float32": 4}[dtype]

    spec = tensor(shape, dtype, is_tiled=is_tiled)

    assert spec.size_bytes == spec.page_count * spec.page_bytes
    assert spec.size_bytes >= prod(shape) * element_bytes
    if not is_tiled:
        assert spec.size_bytes == prod(shape) * element_bytes


@given(st.integers(1, 500), st.integers(1, 500), st.integers(1, 99), st.integers(1, 99))
def test_shards_hold_all_of_a_tensor_and_no_shard_is_empty(rows: int, columns: int, height: int, width: int) -> None:
    spec = tensor((rows, columns), "float32", layout=BLOCK, is_tiled=False, shard=(height, width))

    assert spec.sharding is not None
    assert spec.sharding.pages_per_shard == height
    down, across = -(-rows // height), -(-columns // width)
    assert spec.sharding.shard_count == down * across
    assert spec.size_bytes == rows * across * width * 4
    assert (
        spec.page_count * spec.page_bytes
        >= spec.size_bytes
        > spec.page_count * spec.page_bytes - across * height * width * 4
    )
