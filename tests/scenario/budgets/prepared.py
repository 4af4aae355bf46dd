"""Small recordings that are made step by step: who allocates what, at which line, in which phase."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.journals.reporters import Nursery, Reporter
from ttmem.collector import Collector
from ttmem.recording import Meta, RecordingWriter
from ttmem.sources import Places

__all__ = ["Step", "recorded"]

BOARD = ("wormhole_b0", "n300")
_BINARY, _UNKNOWN_SIZES = 1, (0,) * 10


class Step(NamedTuple):
    """One allocation, in a phase of its own; `is_kept`: it is not freed when the phase ends."""

    site: str
    size_bytes: int
    phase: str = ""
    pool: int = 0
    chip: int = 0
    buffer_count: int = 1
    is_kept: bool = True
    is_binary: bool = False


def recorded(
    nursery: Nursery,
    journals: Path,
    path: Path,
    steps: Sequence[Step],
    *,
    chips: Sequence[int] = (0x71,),
    board: tuple[str, str] = BOARD,
    is_mesh: bool = False,
) -> Path:
    """A recording of one process that does all of that; consecutive steps of the same phase share one run of it."""
    journals.mkdir()
    collector = Collector(Places(uid=os.geteuid(), directory=str(journals)))
    writer = RecordingWriter(path, collector.ledger, meta=Meta())
    reporter = nursery.start(journals, TTMEM_LABEL="model")
    targets = [
        reporter.call("open_device", chip, index, *board, (8, 8), (12, 64), _UNKNOWN_SIZES, 0)
        for index, chip in enumerate(chips)
    ]
    if is_mesh:
        targets = [reporter.call("open_mesh", 5, 1, len(chips), tuple(targets))]
    _play(reporter, targets, steps)
    collector.wait_settled()
    writer.close()
    reporter.kill()
    return path


def _play(reporter: Reporter, targets: Sequence[int], steps: Sequence[Step]) -> None:
    phase, handle, temporary, number = "", 0, list[int](), 0
    for step in [*steps, Step("", 0)]:
        if step.phase != phase:
            reporter.do(*(("report_free", one) for one in temporary))
            temporary.clear()
            if handle:
                reporter.call("end_phase", handle)
            handle = reporter.call("begin_phase", reporter.call("intern", step.phase)) if step.phase else 0
            phase = step.phase
        for _ in range(step.buffer_count if step.size_bytes else 0):
            number += 1
            made = reporter.call(*_call(step, targets[step.chip], number, reporter))
            temporary += [] if step.is_kept else [made]


def _call(step: Step, target: int, number: int, reporter: Reporter) -> tuple[Any, ...]:
    if step.is_binary:
        return ("report_binary_status", target, number, _BINARY, step.size_bytes)
    site = reporter.call("intern", step.site)
    return ("report_buffer_alloc", target, number, step.size_bytes, step.size_bytes, 0, 0, step.pool, site)
