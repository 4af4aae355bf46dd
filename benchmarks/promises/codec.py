"""Promise: the overview of 200 processes on 32 chips is encoded in at most 2 ms of CPU and decoded in 4; with 2.8 MB of
details in 6 and 12.

The figures are those of a collector that reads 200 real journals; decoding is the first one of a client, which has no
rows yet. Every process holds something on all 32 chips, so the details of 64 of them are 2.8 MB.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import crowd
from benchmarks.stage.setting import Setting
from ttmem.collector import Collector
from ttmem.snapshot.codec import decoded, encoded
from ttmem.snapshot.usage import Snapshot
from ttmem.sources.directories import Places

PROCESSES, CHIPS, ALLOCATIONS, DETAILED = 200, 32, 20, 64


def measure(setting: Setting) -> Iterator[Row]:
    processes, repeats = setting.repeats(PROCESSES, 4), setting.repeats(30, 2)
    with (
        setting.fresh_directory() as own,
        crowd(own, processes, CHIPS, ALLOCATIONS),
        Collector(Places(uid=os.getuid(), directory=str(own.directory))) as collector,
    ):
        collector.wait_settled()
        overview = collector.overview()
        detailed = collector.overview(details=[process.key for process in overview.processes[:DETAILED]])
    for name, figures, encode_ms, decode_ms in (("overview", overview, 2, 4), ("with details", detailed, 6, 12)):
        text = encoded(figures)
        if decoded(text, Snapshot) != figures:
            raise RuntimeError(f"{name}: what was decoded is not what was encoded")
        yield row(f"{name}: size", len(text) / 1e6, "MB")
        encoding = _cost_ms(lambda figures=figures: encoded(figures), repeats)  # type: ignore[misc]
        yield row(f"{name}: encoded", encoding, "ms CPU", target=f"<= {encode_ms}")
        decoding = _cost_ms(lambda text=text: decoded(text, Snapshot), repeats)  # type: ignore[misc]
        yield row(f"{name}: decoded", decoding, "ms CPU", target=f"<= {decode_ms}")


def _cost_ms(act: Callable[[], object], repeats: int) -> float:
    costs = []
    for _ in range(repeats):
        began = time.process_time()
        act()
        costs.append(1000 * (time.process_time() - began))
    return statistics.median(costs)
