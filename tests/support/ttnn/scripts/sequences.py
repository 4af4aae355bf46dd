"""Random sequences of allocations and frees, made to fill memory, to tear holes into it and to fill those again.

They know nothing of addresses: a sequence is drawn beforehand from its seed, and whoever runs it frees only what it
was given. A step names the kind of memory it touches (`type`), a tensor by shape, element type and shards, and a
`direct` buffer by bytes, page and direction.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

Step = dict[str, Any]
TILE_SIDE = 32
TILED = ("bfloat16", "float32", "bfloat8_b", "bfloat4_b", "uint32", "int32", "uint16", "uint8")
BY_ROWS = ("bfloat16", "float32", "uint32", "int32", "uint16", "uint8")
SHARDED = ("HEIGHT_SHARDED", "WIDTH_SHARDED", "BLOCK_SHARDED")
# How often each kind of memory is drawn, and up to how many elements its tensors have.
WEIGHTS = {"L1": 45, "DRAM": 30, "L1_SMALL": 15, "TRACE": 10}
MOST_ROWS = 1 << 22
MOST_ELEMENTS = {"L1": 1 << 24, "DRAM": 1 << 32, "L1_SMALL": 1 << 21, "TRACE": 1 << 21}


class Sequence:
    """Draws the steps of one sequence for a chip with this compute grid and so many DRAM banks."""

    def __init__(self, seed: int, *, grid: tuple[int, int], dram_bank_count: int) -> None:
        self._rng = random.Random(seed)
        self._grid = grid
        self._dram_bank_count = dram_bank_count
        self._live: list[tuple[int, str]] = []

    def steps(self, count: int) -> Iterator[Step]:
        """So many steps, in swings: now mostly allocations, now mostly frees."""
        freeing = 0.0
        for number in range(count):
            if number % 80 == 0:
                freeing = self._rng.choice((0.1, 0.3, 0.5, 0.75))
            if self._live and self._rng.random() < freeing:
                yield self._free()
            else:
                yield self._allocation(number)

    def _free(self) -> Step:
        identity, memory = self._live.pop(self._rng.randrange(len(self._live)))
        return {"op": "free", "id": identity, "type": memory}

    def _allocation(self, number: int) -> Step:
        [memory] = self._rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
        self._live.append((number, memory))
        kinds = {"L1": (45, 40, 15), "DRAM": (50, 20, 30), "L1_SMALL": (5, 95, 0), "TRACE": (60, 0, 40)}
        makers: tuple[Callable[[str], Step], ...] = (self._interleaved, self._sharded, self._direct)
        [make] = self._rng.choices(makers, kinds[memory])
        return {"id": number, "type": memory, **make(memory)}

    def _interleaved(self, memory: str) -> Step:
        is_tiled = self._rng.random() < 0.6
        width = self._length(4096)
        height = self._length(min(max(MOST_ELEMENTS[memory] // width, 1), MOST_ROWS))
        shapes = (
            [1, 1, height, width],
            [self._rng.randint(1, 3), self._rng.randint(1, 3), max(height // 6, 1), width],
            [height, width],
            [width],
            [2, 0, width],  # of no bytes at all
        )
        [shape] = self._rng.choices(shapes, (60, 25, 10, 4, 1))
        return self._tensor(shape, is_tiled) | {"layout": "INTERLEAVED"}

    def _tensor(self, shape: list[int], is_tiled: bool) -> Step:
        dtype = self._rng.choice(TILED if is_tiled else BY_ROWS)
        return {"op": "alloc", "shape": shape, "dtype": dtype, "is_tiled": is_tiled}

    def _sharded(self, memory: str) -> Step:
        """Shards over some of the cores (for DRAM: of the banks); the last may be short, the last cores empty."""
        is_tiled = self._rng.random() < 0.6
        layout = self._rng.choice(SHARDED)
        columns, rows = self._cores(memory)
        height, width = self._shard(memory, is_tiled)
        across, down = {"HEIGHT_SHARDED": (1, columns * rows), "WIDTH_SHARDED": (columns * rows, 1)}.get(
            layout, (columns, rows)
        )
        shape = [1, 1, self._partly(height * down), self._partly(width * across)]
        if layout == "HEIGHT_SHARDED":
            shape[3] = width
        if layout == "WIDTH_SHARDED":
            shape[2] = height
        return self._tensor(shape, is_tiled) | {"layout": layout, "shard": [height, width], "grid": [columns, rows]}

    def _cores(self, memory: str) -> tuple[int, int]:
        if memory == "DRAM":
            return self._rng.randint(1, self._dram_bank_count), 1
        return self._rng.randint(1, self._grid[0]), self._rng.randint(1, self._grid[1])

    def _shard(self, memory: str, is_tiled: bool) -> tuple[int, int]:
        most = {"L1": 24, "DRAM": 400, "L1_SMALL": 2}[memory]
        if is_tiled:
            return TILE_SIDE * self._length(most), TILE_SIDE * self._length(most // 4 + 1)
        return self._length(TILE_SIDE * most), self._length(TILE_SIDE * most // 2)

    def _partly(self, whole: int) -> int:
        """Mostly all that the shards hold; else less, so that the last ones are short or empty."""
        return whole if self._rng.random() < 0.5 else self._rng.randint(1, whole)

    def _direct(self, memory: str) -> Step:
        page = 32 * self._length(256)
        count = self._length(max(MOST_ELEMENTS[memory] // page, 1))
        is_bottom_up = self._rng.choice((True, False, None))
        return {"op": "direct", "size": page * count, "page": page, "is_bottom_up": is_bottom_up}

    def _length(self, most: int) -> int:
        """Mostly small: evenly spread over the powers of two."""
        return max(1, min(most, round(2 ** self._rng.uniform(0, max(most, 1).bit_length()))))
