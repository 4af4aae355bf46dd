"""Promise: the runtime model allocates or frees 20,000 times a second and decodes a token of galaxy-70b in 2 s; being
tracked adds at most 20 % to that.

All is CPU time. Allocations and frees go through a mesh whose banks hold thousands of buffers and holes. A decode step
is one token through all layers, launch by launch. It is played on two meshes, one with a tracker that reports into a
journal and one without, layer by layer in turn: a figure is the sum over layers of their medians. That is done in a
process of its own (`python -m benchmarks.promises.metal BATCHES`).
"""

import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import ActorFailed
from benchmarks.stage.build import ROOT
from benchmarks.stage.setting import Setting
from ttmem import metal
from ttmem.client.tracked.tracker import GraphTracker
from ttmem.devices import BufferType
from ttmem.metal.workloads import WORKLOADS, Beat, Player, Step

LIVE_BUFFERS = 5_000
PAIRS = 5_000
DECODED = ("galaxy-70b", "llama-8b")


def measure(setting: Setting) -> Iterator[Row]:
    for place in (BufferType.DRAM, BufferType.L1):
        rate = statistics.median(_operations_per_second(place) for _ in range(setting.repeats(5)))
        yield row(f"allocator, {place.name}", rate, "/s", target=">= 20000")
    with setting.fresh_directory() as own:
        command = [sys.executable, "-m", __name__, str(setting.repeats(15))]
        done = subprocess.run(command, env=own.environment(), cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise ActorFailed(f"{__name__} ended with status {done.returncode}")
    for line in done.stdout.splitlines():
        name, off, on = line.split(": ")[0], *map(float, line.split(": ")[1].split())
        yield row(f"{name}, a decode step", off, "s", target="<= 2" if name == DECODED[0] else None)
        yield row(f"{name}, the same tracked", on, "s")
        yield row(f"{name}, tracked / not", on / off, "x", target="<= 1.2")


def _operations_per_second(place: BufferType) -> float:
    """One freed for each that is made, in random sizes, until the free list is long."""
    choose = random.Random(11)
    with metal.open_device("n150") as device:
        banks = device.chips[0].dram_bank_count if place is BufferType.DRAM else device.chips[0].l1_bank_count
        largest = 40 if place is BufferType.DRAM else 4
        page_bytes = 2_048 if place is BufferType.DRAM else 32
        specs = [
            metal.BufferSpec(banks * page_bytes * pages, page_bytes, buffer_type=place)
            for pages in range(1, largest + 1)
        ]
        live = [device.create_buffer(choose.choice(specs)) for _ in range(2 * LIVE_BUFFERS)]
        choose.shuffle(live)
        while len(live) > LIVE_BUFFERS:
            live.pop().deallocate()
        began = time.thread_time_ns()
        for _ in range(PAIRS):
            live[choose.randrange(len(live))], live[-1] = live[-1], live[choose.randrange(len(live))]
            live.pop().deallocate()
            live.append(device.create_buffer(choose.choice(specs)))
        return 2 * PAIRS * 1e9 / (time.thread_time_ns() - began)


class Decoder:
    """A workload at the point where it decodes; the layers of one token can be played again and again."""

    def __init__(self, name: str, tracker: GraphTracker | None) -> None:
        workload = WORKLOADS[name]
        self.mesh = workload.open(tracker=tracker)
        self._player = Player(self.mesh)
        steps = workload.steps(self.mesh.chips[0])
        self._play(_until(steps, is_round=True))  # loads weights, compiles, runs a first token
        self.layers = list(_layers(_until(steps, is_round=True)))

    def seconds(self, layer: int) -> float:
        began = time.thread_time_ns()
        self._play(self.layers[layer])
        return (time.thread_time_ns() - began) / 1e9

    def _play(self, steps: Sequence[Step]) -> None:
        for _ in self._player.play(steps):
            pass
        if self._player.refusal:
            raise SystemExit(self._player.refusal)


def _until(steps: Iterator[Step], *, is_round: bool) -> list[Step]:
    """The steps up to the next moment to look, or to the end of a round."""
    played = []
    for step in steps:
        played.append(step)
        if isinstance(step, Beat) and step.is_round >= is_round:
            break
    return played


def _layers(token: Sequence[Step]) -> Iterator[list[Step]]:
    steps = iter(token)
    while layer := _until(steps, is_round=False):
        yield layer


def _decode_seconds(name: str, tracker: GraphTracker, batches: int) -> tuple[float, float]:
    """Of one token: untracked and tracked."""
    sides = Decoder(name, None), Decoder(name, tracker)
    samples = [
        [[side.seconds(layer) for side in sides] for layer in range(len(sides[0].layers))] for _ in range(batches + 1)
    ]
    off, on = (
        sum(statistics.median(batch[layer][side] for batch in samples[1:]) for layer in range(len(samples[0])))
        for side in range(2)
    )
    return off, on


def main() -> None:
    batches = int(sys.argv[1])
    for name in DECODED:
        with GraphTracker() as tracker:
            off, on = _decode_seconds(name, tracker, batches)
            if tracker.fault_count:
                raise SystemExit(f"{tracker.fault_count} calls were not understood by the tracker")
        print(f"{name}: {off} {on}")


if __name__ == "__main__":
    main()
