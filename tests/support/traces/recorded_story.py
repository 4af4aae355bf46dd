"""Plays a workload while it is recorded, and says what the model had meanwhile:

    python -m tests.support.traces.recorded_story NAME STRIDE ROUNDS

The recording is `story.ttmem` in TTMEM_DIR. Of every STRIDEth step is printed, with its time, what every pool of every
chip held by the model's arithmetic, and the fullest core as the ledger had it. A phase goes from each to the next.
"""

import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path

import ttmem
from tests.support.recorded.comparison import Story
from ttmem import GraphTracker
from ttmem.collector import Collector
from ttmem.metal.workloads import WORKLOADS, Player
from ttmem.recording import Meta, RecordingWriter
from ttmem.sources import Places

_RESTARTED_AFTER = 4  # moments


def _restart(story: Story) -> None:
    """Another recorder goes on, in another segment."""
    story.writer.close()
    story.collector = Collector(Places(uid=os.geteuid(), directory=os.environ["TTMEM_DIR"]))
    story.writer = RecordingWriter(story.path, story.collector.ledger, meta=Meta())


def main(name: str, stride: str, round_count: str) -> None:
    story = Story(Path(os.environ["TTMEM_DIR"]))
    with GraphTracker() as tracker, ExitStack() as phases:
        workload = WORKLOADS[name]
        mesh = workload.open(tracker=tracker)
        player = Player(mesh)
        for number, _ in enumerate(player.play(workload.steps(mesh.chips[0]))):
            if number % 50 == 0:
                story.collector.tick()
            if number % int(stride) == 0:
                phases.close()
                phases.enter_context(ttmem.phase(f"part {number // int(stride)}"))
                story.note(mesh)
            if len(story.noted) == _RESTARTED_AFTER:
                _restart(story)
                story.note(mesh)
            if player.round_count >= int(round_count):
                break
        phases.close()
        story.note(mesh)
        mesh.close()
    story.collector.tick()
    story.writer.close()
    moments = [
        {
            "at_ns": one.monotonic_ns,
            "used": {str(chip): used for chip, used in one.used.items()},
            "fullest": one.fullest,
        }
        for one in story.noted
    ]
    launch_count = sum(process.launch_count or 0 for process in story.collector.snapshot().processes)
    print(json.dumps({"moments": moments, "launch_count": launch_count}))


if __name__ == "__main__":
    main(*sys.argv[1:])
