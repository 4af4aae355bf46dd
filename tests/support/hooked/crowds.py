"""Random allocations and frees for several threads at once, in turns: between two turns everybody stands still."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from tests.support.ttnn.scripts.sequences import Sequence, Step

THREADS = 4
MEMORIES = ("DRAM", "L1", "L1_SMALL")


def turns(seed: int, *, grid: tuple[int, int], dram_bank_count: int, steps: int) -> Iterator[dict[str, Any]]:
    """Requests of so many steps each, for ever. Ids are those of one thread alone; who frees it may be another."""
    sequences = [
        _own(Sequence(seed * THREADS + number, grid=grid, dram_bank_count=dram_bank_count), number)
        for number in range(THREADS)
    ]
    turn = 0
    while True:
        drawn = [list(islice(sequence, steps // THREADS)) for sequence in sequences]
        yield {"do": "crowd", "sequences": drawn, "turn": turn}
        turn += 1


def _own(sequence: Sequence, number: int) -> Iterator[Step]:
    """Tensors only: whether another kind fits is asked before it is made, which is no use among threads."""
    for step in sequence.steps(1 << 20):
        if step["type"] in MEMORIES and step["op"] != "direct":
            yield step | {"id": step["id"] * THREADS + number}
