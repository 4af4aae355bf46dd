"""A workload that stands still after so many steps, for as long as somebody looks at it:

    python -m tests.support.one_number.player NAME STEPS

It says `ready` then, answers a line with what its own `memory_summary` says, and ends with its orders.
"""

import json
import sys

import ttmem
from ttmem import GraphTracker
from ttmem.metal.workloads import WORKLOADS, Player


def main(name: str, steps: str) -> None:
    with GraphTracker() as tracker:
        workload = WORKLOADS[name]
        mesh = workload.open(tracker=tracker)
        player = Player(mesh)
        for number, _ in enumerate(player.play(workload.steps(mesh.chips[0]))):
            if number + 1 == int(steps):
                break
        print("ready", flush=True)
        for _ in sys.stdin:
            print(json.dumps({"text": ttmem.memory_summary()}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
