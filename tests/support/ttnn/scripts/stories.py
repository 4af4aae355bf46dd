"""Random lives of programs and L1 buffers that come close to each other: first runs, cached runs, clashes.

L1 is filled at the start but for a gap above the base. Circular buffers grow into the gap from below, and L1 buffers
come and go in it from both ends:

    base | cb cb cb ...   gap   ... buffers | filling                     | the tensor that views look at | end
"""

import random
from collections.abc import Iterator
from typing import Any

Event = dict[str, Any]
Corners = list[int]  # first x, first y, last x, last y
PAGE_BYTES = 32
TILE_BYTES = 2048
GAP_BYTES = 96 * 1024
VIEWED, FILLING = 0, 1


class Story:
    """Draws the events of one story for a compute grid whose L1 banks have so many bytes."""

    def __init__(self, seed: int, *, grid: tuple[int, int], bank_bytes: int) -> None:
        self._rng = random.Random(seed)
        self._grid = grid
        self._bank_bytes = bank_bytes
        self._live: list[int] = []
        self._programs: list[list[Event]] = []

    def opening(self) -> list[Event]:
        """The tensor that is viewed, two tiles on each core, and what leaves only a gap."""
        columns, rows = self._grid
        shape = [64 * columns * rows, 32]
        tensor = {"shape": shape, "dtype": "bfloat16", "is_tiled": True, "shard": [64, 32], "grid": [columns, rows]}
        page = (self._bank_bytes - GAP_BYTES) // 64 * 64
        return [
            {"op": "alloc", "id": VIEWED, "type": "L1", "layout": "HEIGHT_SHARDED", **tensor},
            {"op": "direct", "id": FILLING, "type": "L1", "size": page, "page": page, "is_bottom_up": None},
        ]

    def events(self, count: int) -> Iterator[Event]:
        for number in range(FILLING + 1, FILLING + 1 + count):
            draw = self._rng.random()
            if self._live and draw < 0.3:
                yield {"op": "free", "id": self._live.pop(self._rng.randrange(len(self._live))), "type": "L1"}
            elif draw < 0.4:
                yield self._buffer(number)
            elif self._programs and draw < 0.7:
                yield self._run(self._rng.randrange(len(self._programs)))
            else:
                self._programs.append(self._circular_buffers())
                yield self._run(len(self._programs) - 1)

    def _run(self, number: int) -> Event:
        return {"op": "program", "number": number, "buffers": self._programs[number]}

    def _buffer(self, number: int) -> Event:
        self._live.append(number)
        page = PAGE_BYTES * self._rng.randint(1, 700)
        direction = self._rng.choice((True, False, False))
        return {"op": "direct", "id": number, "type": "L1", "size": page, "page": page, "is_bottom_up": direction}

    def _circular_buffers(self) -> list[Event]:
        seen: list[list[Corners]] = []
        buffers = [self._circular_buffer(seen) for _ in range(self._rng.randint(1, 8))]
        if self._rng.random() < 0.05:
            buffers[-1] = {"size": self._bank_bytes, "cores": buffers[-1]["cores"]}  # mostly beyond the end of L1
        return buffers

    def _circular_buffer(self, seen: list[list[Corners]]) -> Event:
        cores = self._cores(seen)
        if self._rng.random() < 0.15:
            tiles = self._rng.randint(1, 2)
            offset = TILE_BYTES * self._rng.randint(0, 2 - tiles)
            return {"view": VIEWED, "offset": offset, "size": tiles * TILE_BYTES, "cores": cores}
        return {"size": PAGE_BYTES * self._rng.randint(1, self._rng.choice((60, 900))), "cores": cores}

    def _cores(self, seen: list[list[Corners]]) -> list[Corners]:
        """Often those of another circular buffer; else up to three rectangles that do not overlap."""
        if seen and self._rng.random() < 0.4:
            return self._rng.choice(seen)
        cores = [self._rectangle()]
        for _ in range(self._rng.choice((0, 0, 1, 2))):
            another = self._rectangle()
            if not any(_overlap(another, one) for one in cores):
                cores.append(another)
        seen.append(cores)
        return cores

    def _rectangle(self) -> Corners:
        """Mostly in one small corner, so that rectangles meet."""
        reach = self._rng.choice((3, 3, max(self._grid)))
        columns, rows = min(reach, self._grid[0]), min(reach, self._grid[1])
        x, y = self._rng.randrange(columns), self._rng.randrange(rows)
        return [x, y, self._rng.randrange(x, columns), self._rng.randrange(y, rows)]


def _overlap(one: Corners, other: Corners) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
