"""Random sequences for the allocator mode HYBRID: buffers in lockstep, on single cores, and in lockstep beside those.

A step names its cores as rectangles anywhere on the grid (`ranges`: first column and row, last column and row), in the
order in which shards go to them; with `is_by_columns`, column by column within each.
"""

from tests.support.ttnn.scripts.sequences import SHARDED, Sequence, Step

# How often each way to allocate is drawn; the others are a sequence for any device.
WEIGHTS = {"PER_CORE": 40, "RANGE_LOCKSTEP": 25, "LOCKSTEP": 20, "": 15}
Core = tuple[int, int]


def cores_of(step: Step) -> list[Core]:
    """The cores of a step, in the order of its shards."""
    cores: list[Core] = []
    for first_x, first_y, last_x, last_y in step["ranges"]:
        columns, rows = range(first_x, last_x + 1), range(first_y, last_y + 1)
        if step.get("is_by_columns"):
            cores += [(x, y) for x in columns for y in rows]
        else:
            cores += [(x, y) for y in rows for x in columns]
    return cores


class CoreSequence(Sequence):
    """Draws the steps of one sequence for a chip with this compute grid."""

    def _allocation(self, number: int) -> Step:
        [allocation] = self._rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
        if not allocation:
            return super()._allocation(number)
        self._live.append((number, "L1"))
        return {"id": number, "type": "L1", "allocation": allocation, **self._on_cores()}

    def _direct(self, memory: str) -> Step:
        """A refusal of such a buffer could not be caught, and in this mode nobody can tell beforehand what fits."""
        return self._interleaved(memory)

    def _on_cores(self) -> Step:
        is_tiled = self._rng.random() < 0.6
        layout = self._rng.choice(SHARDED)
        is_block = layout == "BLOCK_SHARDED"
        step: Step = {"layout": layout, "ranges": self._ranges(1 if is_block else 3)}
        if not is_block and self._rng.random() < 0.25:
            step["is_by_columns"] = True
        height, width = self._shard("L1", is_tiled)
        first_x, first_y, last_x, last_y = step["ranges"][0]
        across, down = last_x - first_x + 1, last_y - first_y + 1
        if not is_block:
            across, down = (1, len(cores_of(step))) if layout == "HEIGHT_SHARDED" else (len(cores_of(step)), 1)
        shape = [1, 1, self._partly(height * down), self._partly(width * across)]
        if layout == "HEIGHT_SHARDED":
            shape[3] = width
        if layout == "WIDTH_SHARDED":
            shape[2] = height
        return self._tensor(shape, is_tiled) | step | {"shard": [height, width]}

    def _ranges(self, most: int) -> list[list[int]]:
        """Rectangles that do not overlap, the smaller the more of them."""
        found: list[list[int]] = []
        for _ in range(self._rng.randint(1, most)):
            xs, ys = (sorted(self._rng.randrange(length) for _ in range(2)) for length in self._grid)
            taken = set(cores_of({"ranges": found}))
            if not taken & set(cores_of({"ranges": [[xs[0], ys[0], xs[1], ys[1]]]})):
                found.append([xs[0], ys[0], xs[1], ys[1]])
        return found
