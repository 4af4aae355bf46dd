"""A workload of the demo without its pauses, reported as it goes: `python -m benchmarks.stage.workload NAME ROUNDS`."""

import sys

from ttmem import GraphTracker
from ttmem.metal.workloads import WORKLOADS, Player


def main(name: str, round_count: str) -> None:
    workload = WORKLOADS[name]
    with GraphTracker() as tracker:
        mesh = workload.open(tracker=tracker)
        player = Player(mesh)
        for _ in player.play(workload.steps(mesh.chips[0])):
            if player.round_count >= int(round_count):
                break
        mesh.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
