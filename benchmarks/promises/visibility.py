"""Promise: an event is visible to a Python reader after 0.3 ms (p50) and 5 ms (p99), for 10 % of a core at a
million events a second and 2 % when nothing happens.

The reporting process adds one byte of trace memory every 5 ms among its other events and notes the time in a
shared file; the reader polls snapshots and compares. CPU is that of a whole collector process that nobody asks.
The baseline is the old design's server at whatever rate it manages.
"""

import mmap
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.baseline.query import ServerQuery
from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, collector, older_puppet, older_server, puppet
from benchmarks.stage.collecting import following
from benchmarks.stage.setting import Setting, quantile
from ttmem._native import Ledger, testing

EVENTS_PER_SECOND = 1_000_000
LIVE = 1_000
TRACE = 1  # the pool's number in client.h
MARKS_BYTES = 65_536 * 8
POLL_SECONDS = 0.00005


def measure(setting: Setting) -> Iterator[Row]:
    seconds = setting.repeats(5)
    latencies = _latencies_ms(setting, seconds)
    sent_latencies = _old_latencies_ms(setting, seconds)
    for name, part, target in (("p50", 0.5, "<= 0.3"), ("p99", 0.99, "<= 5")):
        value, baseline = quantile(latencies, part), quantile(sent_latencies, part)
        yield row(f"visible at 1 M events/s, {name}", value, "ms", target=target, baseline=baseline)
    busy, idle = _cpu_percent(setting, seconds)
    old_busy, old_idle = _old_cpu_percent(setting, seconds)
    yield row("CPU at 1 M events/s", busy, "%", target="<= 10", baseline=old_busy)
    yield row("CPU idle", idle, "%", target="<= 2", baseline=old_idle)


def _latencies_ms(setting: Setting, seconds: float) -> list[float]:
    with setting.fresh_directory() as own, puppet(own, LIVE) as (writer, _), following(own.directory) as ledger:
        return _watched_ms(writer, own.directory / "marks", seconds, lambda: _trace_bytes(ledger))


def _trace_bytes(ledger: Ledger) -> int:
    return sum(used for _key, _device, pool, used, *_ in testing.flat_rows(ledger)["process_pools"] if pool == TRACE)


def _old_latencies_ms(setting: Setting, seconds: float) -> list[float]:
    with (
        setting.fresh_directory() as own,
        older_server(own) as (_, socket_path),
        older_puppet(own, LIVE, socket_path) as writer,
        ServerQuery(socket_path) as query,
    ):
        return _watched_ms(writer, own.directory / "marks", seconds, query.trace_bytes)


def _watched_ms(writer: Actor, marks_path: Path, seconds: float, visible_marks: Callable[[], int]) -> list[float]:
    """How long each mark took from being made to being counted by `visible_marks`."""
    marks_path.write_bytes(bytes(MARKS_BYTES))
    writer.tell(f"pace {EVENTS_PER_SECOND} {seconds} {marks_path}")
    latencies: list[float] = []
    with open(marks_path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as marks:
        ending = time.monotonic() + seconds
        while time.monotonic() < ending:
            seen, now_ns = visible_marks(), time.monotonic_ns()
            noted = min(seen, struct.unpack_from("<Q", marks)[0])
            for mark in range(len(latencies), noted):
                made_ns = struct.unpack_from("<Q", marks, 8 + 8 * mark)[0]
                latencies.append((now_ns - made_ns) / 1e6)
            time.sleep(POLL_SECONDS)
    writer.hear()
    if not latencies:
        raise RuntimeError("no mark became visible")
    return latencies


def _cpu_percent(setting: Setting, seconds: float) -> tuple[float, float]:
    with setting.fresh_directory() as own, puppet(own, LIVE) as (writer, _), collector(own) as reader:
        return _shares(reader, writer, own.directory / "marks", seconds)


def _old_cpu_percent(setting: Setting, seconds: float) -> tuple[float, float]:
    with (
        setting.fresh_directory() as own,
        older_server(own) as (server, socket_path),
        older_puppet(own, LIVE, socket_path) as writer,
    ):
        return _shares(server, writer, own.directory / "marks", seconds)


def _shares(observed: Actor, writer: Actor, marks_path: Path, seconds: float) -> tuple[float, float]:
    """CPU in per cent of a core while events flow, and while none do."""
    busy = _share(observed, lambda: writer.ask(f"pace {EVENTS_PER_SECOND} {seconds} {marks_path}"))
    time.sleep(0.5)  # lets the collector fall back to its idle rhythm
    return busy, _share(observed, lambda: time.sleep(seconds))


def _share(observed: Actor, act: Callable[[], object]) -> float:
    cpu, began = observed.cpu_seconds(), time.monotonic()
    act()
    return 100 * (observed.cpu_seconds() - cpu) / (time.monotonic() - began)
