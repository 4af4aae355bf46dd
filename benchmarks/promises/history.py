"""Promise: sampling the history of 4 chips takes at most 0.3 % of a core, and so it does with 32.

Chips are those of a Galaxy on the runtime model, all of them or the first four. One sample is taken per second, so a
percentage of a core is a hundredth of a second per sample. CPU time of the sampling thread; the row without a target is
what a history of an hour costs whoever asks for it.
"""

import itertools
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import galaxy
from benchmarks.stage.setting import Setting
from ttmem.collector import Collector
from ttmem.collector.history import HistoryRecorder
from ttmem.snapshot.values import replace
from ttmem.sources import Places

SAMPLES = 100
HOUR_SECONDS = 3600


def measure(setting: Setting) -> Iterator[Row]:
    repeats = setting.repeats(9, 2)
    with (
        setting.fresh_directory() as own,
        galaxy(own),
        Collector(Places(uid=os.geteuid(), directory=str(own.directory))) as collector,
    ):
        collector.wait_settled()
        for chips in (4, 32):
            recorder = _recorder(collector, chips)
            spent = statistics.median(_cpu_seconds(recorder.take_due, SAMPLES) for _ in range(repeats))
            yield row(f"{chips} chips, a sample per second", 100 * spent, "% of a core", target="<= 0.3")
        spent = statistics.median(_cpu_seconds(lambda: recorder.history(HOUR_SECONDS), 1) for _ in range(repeats))
        yield row("32 chips, the history of an hour", 1e3 * spent, "ms CPU")


def _recorder(collector: Collector, chips: int) -> HistoryRecorder:
    """One whose clock has moved on by a second whenever it looks."""
    seconds = itertools.count(1_700_000_000)

    def sample() -> tuple[Any, ...]:
        time_ns, rows, processes, happenings = collector.ledger.sample()
        return time_ns, rows[:chips], processes, happenings

    return HistoryRecorder(
        sample,
        lambda: (),
        clock_ns=lambda: next(seconds) * 1_000_000_000,
        overview=lambda: replace(overview := collector.overview(), devices=overview.devices[:chips]),
    )


def _cpu_seconds(work: Callable[[], object], count: int) -> float:
    began = time.thread_time()
    for _ in range(count):
        work()
    return (time.thread_time() - began) / count
