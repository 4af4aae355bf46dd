"""Plays the workload that forgets to free, and holds what its recording says of growth against the model's own bytes:

    python -m tests.support.recorded.grown.leaking ROUNDS

The workload has one phase only, so rounds are found by what it launches.
"""

import os
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.recorded.comparison import Story
from ttmem import GraphTracker
from ttmem.figures.growing import growth, leaks
from ttmem.metal.workloads import WORKLOADS, Player
from ttmem.recording import Recording


def steady(used: Sequence[dict[str, Any]], pool: str) -> int:
    """What a pool gained in each round, the first left out: the same in all of them."""
    [gained] = {after[pool] - before[pool] for before, after in pairwise(used[1:])}
    return int(gained)


def main(rounds: str) -> None:
    story = Story(Path(os.environ["TTMEM_DIR"]))
    used: list[dict[str, Any]] = []
    with GraphTracker() as tracker:
        workload = WORKLOADS["leaky"]
        mesh = workload.open(tracker=tracker)
        player = Player(mesh)
        for number, _ in enumerate(player.play(workload.steps(mesh.chips[0]))):
            if number % 50 == 0:
                story.collector.tick()
            if player.round_count > len(used):
                used.append({pool.word: size for pool, size in mesh.truth().chips[0].used_bytes.items()})
            if player.round_count >= int(rounds):
                break
        mesh.close()
    story.collector.tick()
    story.writer.close()
    recording = Recording(story.path)
    found = leaks(recording)
    [series] = found.series
    assert (series.is_inferred, len(series.runs)) == (True, int(rounds) - 2), series
    expected = {pool: steady(used, pool) for pool in ("dram", "l1")}
    assert {one.pool.word: one.bytes_per_run for one in found.leaks} == expected
    assert {one.pool.word: one.bytes_per_run for one in growth(recording).pools if one.bytes_per_run} == expected
    assert not found.is_sure
    assert "rounds are inferred" in found.doubts[0]
    print(expected)


if __name__ == "__main__":
    main(*sys.argv[1:])
