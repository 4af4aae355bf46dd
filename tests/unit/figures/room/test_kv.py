"""A KV cache is known by its shape, among all that lies in DRAM."""

from collections.abc import Sequence
from typing import Any

import pytest

from ttmem.devices import Kind, Pool
from ttmem.figures.room.kv import blocks_of

MIB = 1 << 20


def row(tensor: str, size_bytes: int, site: str = "model.py:3 load") -> Sequence[Any]:
    """As `Ledger.allocations` has it, with what matters here."""
    found: list[Any] = [None] * 27
    found[1], found[3], found[5] = Kind.BUFFER.number, Pool.DRAM.number, size_bytes
    found[-5], found[-4], found[-2] = "", tensor, site
    return found


WEIGHTS = [row("1x1x4096x14336 bfloat8_b tile", 60 * MIB) for _ in range(32)]


def test_blocks_of_all_layers_are_counted_once() -> None:
    cache = [row("1024x8x32x128 bfloat8_b tile", 34 * MIB, "cache.py:9 make") for _ in range(64)]

    assert blocks_of(WEIGHTS + cache) == (1024, 64 * 34 * MIB)


@pytest.mark.parametrize(
    "rows",
    [
        WEIGHTS,
        [row("1024x8x32x128 bfloat8_b tile", MIB)],  # one tensor is no cache
        [row("1024x8x31x128 bfloat8_b tile", MIB, "kv.py:1 make") for _ in range(8)],  # blocks are whole tiles
        [],
    ],
)
def test_other_tensors_are_none(rows: list[Sequence[Any]]) -> None:
    assert blocks_of(rows) is None
