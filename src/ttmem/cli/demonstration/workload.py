"""The process behind `ttmem demo`: plays one workload on the runtime model and reports like any program would.

Run as `python -m ttmem.cli.demonstration.workload '{"name": "llama-8b"}'`. It works until a line comes in, reports what
came of it, and holds its devices until its standard input ends. Its messages are `Report`s, one JSON object per line.
"""

import json
import os
import select
import sys
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from ttmem.errors import TtmemError

if TYPE_CHECKING:
    from ttmem.metal.mesh import MeshDevice
    from ttmem.metal.workloads import Workload

__all__ = ["DONE", "FAILED", "KILL", "PHASE", "READY", "Order", "Report"]

READY = "ready"  # the devices are open
PHASE = "phase"  # it goes on to something else
KILL = "kill"  # it wants to be killed now
DONE = "done"  # it plays no more: it was asked to stop, played all rounds, or the runtime refused something
FAILED = "failed"  # it could not even begin


@dataclass(frozen=True, kw_only=True)
class Order:
    """What is to be played, and how."""

    name: str
    board: str | None = None  # None: where the workload is at home
    chip_offset: int = 0  # chips that others have
    speed: float = 1.0  # 0: as fast as it goes
    round_count: int | None = None  # None: without end
    is_slow: bool = False


@dataclass(frozen=True, kw_only=True)
class Report:
    """What the process reports. `expected`, by plain arithmetic: the highest use of each pool of each chip."""

    event: str
    name: str = ""
    board: str = ""
    chip_count: int = 0
    phase: str = ""
    played: str = ""  # how much: 20 tokens
    expected: dict[str, int] = field(default_factory=dict)
    refusal: str = ""


def perform(order: Order) -> None:
    """Opens the devices of a workload, plays it, and holds them until standard input ends."""
    import ttmem
    from ttmem.metal.workloads import WORKLOADS

    workload = WORKLOADS[order.name]
    ttmem.record_sites()
    try:
        with (
            ttmem.GraphTracker() as tracker,
            workload.open(order.board, tracker=tracker, chip_offset=order.chip_offset, is_slow=order.is_slow) as mesh,
        ):
            _send(Report(event=READY))
            _send(_play(order, workload, mesh))
            while os.read(sys.stdin.fileno(), 1 << 10):
                pass
    except TtmemError as error:
        _send(Report(event=FAILED, refusal=str(error)))


def _play(order: Order, workload: "Workload", mesh: "MeshDevice") -> Report:
    import ttmem
    from ttmem.metal.workloads import Beat, ExpectedUse, Kill, PhaseStep, Player

    chip = mesh.chips[0]
    player, expected = Player(mesh, phase=ttmem.phase), ExpectedUse(chip)
    event = DONE
    for step in player.play(workload.steps(chip)):
        expected.add(step)
        if isinstance(step, Kill):
            event = KILL
        if isinstance(step, PhaseStep):
            _send(Report(event=PHASE, name=workload.name, phase=step.name))
        if isinstance(step, Beat):
            is_over = player.round_count == order.round_count
            if is_over or _must_stop(step.seconds / order.speed if order.speed else 0.0):
                break
    return Report(
        event=event,
        name=workload.name,
        board=chip.board,
        chip_count=len(mesh.chips),
        played=workload.played(player.round_count),
        expected={pool.word: size_bytes for pool, size_bytes in sorted(expected.peak.items())},
        refusal=player.refusal,
    )


def _must_stop(wait_seconds: float) -> bool:
    return bool(select.select([sys.stdin], [], [], wait_seconds)[0])


def _send(report: Report) -> None:
    print(json.dumps(asdict(report)), flush=True)


if __name__ == "__main__":
    perform(Order(**json.loads(sys.argv[1])))
