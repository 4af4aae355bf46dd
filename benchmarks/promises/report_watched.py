"""Promise: a report costs at most 1.3 x what it costs alone, while a collector reads along or is being lapped.

One reporting process, the same batches three times: with nobody reading, with a collector that keeps up (bursts
with pauses), and flat out, faster than any collector.
"""

import statistics
from collections.abc import Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, collector, puppet
from benchmarks.stage.setting import Setting

LIVE = 1_000
IN_BURSTS = "bursts 20 16384 2000"
FLAT_OUT = "bursts 1 4000000 0"


def measure(setting: Setting) -> Iterator[Row]:
    batches = setting.repeats(11)
    with setting.fresh_directory() as own, puppet(own, LIVE) as (writer, _):
        writer.ask(FLAT_OUT)
        alone = {pace: _batch_means(writer, pace, batches) for pace in (IN_BURSTS, FLAT_OUT)}
        with collector(own) as reader:
            watched = _batch_means(writer, IN_BURSTS, batches)
            lost_before = _lost(reader)
            lapped = _batch_means(writer, FLAT_OUT, batches)
            lost = _lost(reader) - lost_before
        for pace in alone:
            alone[pace] += _batch_means(writer, pace, batches)
    yield from _compared("collector present", watched, alone[IN_BURSTS])
    yield from _compared("collector lapped", lapped, alone[FLAT_OUT])
    yield row("collector lapped: records it lost", lost, "records", target=">= 1")


def _batch_means(writer: Actor, pace: str, count: int) -> list[float]:
    return [float(writer.ask(pace)) for _ in range(count)]


def _lost(reader: Actor) -> int:
    return int(reader.ask("counts").split()[1])


def _compared(words: str, watched: list[float], alone: list[float]) -> Iterator[Row]:
    watched_ns, alone_ns = statistics.median(watched), statistics.median(alone)
    yield row(f"collector absent, for {words.split()[-1]}", alone_ns, "ns")
    yield row(words, watched_ns, "ns")
    yield row(f"{words} / absent", watched_ns / alone_ns, "x", target="<= 1.3")
