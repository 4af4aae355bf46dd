"""Promise: a recorder loses nothing at 2 M events/s from one process, nor at 0.5 M/s from each of four, beside busy
processors; at 6 M/s it counts what it lost, and keeps at least half.

Reporting processes keep a pace for some seconds, with the ring that `ttmem run --record` asks for, while `ttmem record`
writes what they do and two other processes only count. They begin once they are recorded. `reached` is what
they really did: where the machine has less time for them than the pace needs, the pace is lower.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import puppet
from benchmarks.stage.setting import Setting
from benchmarks.stage.spectators import busy_processors, recorder
from ttmem.errors import RecordingDamaged
from ttmem.recording import Recording

RING = 1 << 18
CASES = ((1, 2_000_000, 1_000), (4, 500_000, 1_000), (1, 6_000_000, 1_000), (1, 6_000_000, 100_000))


class Outcome(NamedTuple):
    kept: int
    lost: int
    seconds: float


def measure(setting: Setting) -> Iterator[Row]:
    for process_count, rate, live_count in CASES:
        found = _recorded(setting, process_count, rate, live_count)
        name = f"{process_count} x {rate / 1e6:g} M/s, {live_count:,} alive"
        yield row(f"{name}: reached", (found.kept + found.lost) / found.seconds / 1e6, "M/s")
        if process_count * rate <= 2_000_000:
            yield row(f"{name}: lost", found.lost, "events", target="<= 0")
        else:
            yield row(f"{name}: kept", 100 * found.kept / (found.kept + found.lost), "%", target=">= 50")


def _recorded(setting: Setting, process_count: int, rate: int, live_count: int) -> Outcome:
    seconds = setting.repeats(3)
    with setting.fresh_directory() as own:
        path = own.directory / "losses.ttmem"
        with recorder(own, path), busy_processors(2), ExitStack() as stack:
            writers = [
                stack.enter_context(puppet(own, live_count, TTMEM_RING=str(RING)))[0] for _ in range(process_count)
            ]
            while _row_count(path) < process_count * live_count:
                time.sleep(0.05)
            began = time.monotonic()
            for number, writer in enumerate(writers):
                writer.tell(f"pace {rate} {seconds} {own.directory / f'marks{number}'}")
            for writer in writers:
                writer.hear()
            took = time.monotonic() - began
        recording = Recording(path)
        return Outcome(recording.row_count, recording.lost_record_count, took)


def _row_count(path: Path) -> int:
    try:
        return Recording(path).row_count
    except RecordingDamaged:
        return 0  # not a block yet
