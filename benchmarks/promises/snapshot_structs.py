"""Promise: a full snapshot as structs, details of every process included, costs a collector at most 0.5 ms of CPU for 4
processes on 4 chips, 3 ms for 16 on 32, 20 ms for 100 on 32.

Every process frees one buffer and makes another between two snapshots, so every row and every struct is made again.
`overview` is the same without details. Reading the journals is not part of it; `snapshot_rows` is the native share.
"""

import os
import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, crowd
from benchmarks.stage.setting import Setting
from ttmem.collector import Collector
from ttmem.snapshot.usage import Snapshot
from ttmem.sources.directories import Places

SIZES = ((4, 4, 0.5), (16, 32, 3.0), (100, 32, 20.0))  # processes, chips, most milliseconds
ALLOCATIONS = 20


def measure(setting: Setting) -> Iterator[Row]:
    repeats = setting.repeats(40, 2)
    for processes, chips, most_ms in SIZES if not setting.is_quick else SIZES[:1]:
        with (
            setting.fresh_directory() as own,
            crowd(own, processes, chips, ALLOCATIONS) as members,
            Collector(Places(uid=os.getuid(), directory=str(own.directory))) as collector,
        ):
            collector.wait_settled()
            shown = len(collector.snapshot().live)
            if shown != processes:
                raise RuntimeError(f"expected {processes} processes, found {shown}")
            name = f"{processes} x {chips}"
            whole = _cost_ms(collector.snapshot, collector, members, repeats)
            yield row(f"{name}: snapshot", whole, "ms CPU", target=f"<= {most_ms}")
            yield row(f"{name}: overview", _cost_ms(collector.overview, collector, members, repeats), "ms CPU")


def _cost_ms(made: Callable[[], Snapshot], collector: Collector, members: Actor, repeats: int) -> float:
    costs = []
    for _ in range(repeats):
        members.ask("move")
        collector.ledger.drain()
        began = time.process_time()
        made()
        costs.append(1000 * (time.process_time() - began))
    return statistics.median(costs)
