"""Promise: a scrape of /metrics on a machine with 32 chips costs the daemon at most 5 ms of CPU.

The chips are those of a Galaxy on the runtime model, with tensors, programs, circular buffers, ring and caches. The
figure is the CPU time of the whole daemon per scrape, all threads, the kernel's share included, less what it takes by
itself in the same time. The row without a target is the writing alone; its baseline is the same page written by
prometheus_client.
"""

import http.client
import os
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, ActorFailed, daemon, galaxy
from benchmarks.stage.setting import Setting
from ttmem.collector import Collector
from ttmem.daemon.metrics.exporter import Asked, Exporter
from ttmem.daemon.metrics.registry import MetricsCollector
from ttmem.daemon.metrics.rows.service import Service
from ttmem.daemon.metrics.text import OPEN_METRICS, PageText
from ttmem.sources import Places

SCRAPES = 20
IDLE_SECONDS = 1.0
FORMATS = {"OpenMetrics": "application/openmetrics-text", "classic text": "text/plain"}


def measure(setting: Setting) -> Iterator[Row]:
    repeats = setting.repeats(9, 2)
    with setting.fresh_directory() as own, galaxy(own):
        with daemon(own, "--quiet") as (server, _):
            path = str(own.directory / "daemon.sock")
            series = _scraped(path, FORMATS["OpenMetrics"], 1).count(b"\n") - 1
            idle = _idle_share(server)
            for name, accept in FORMATS.items():
                costs = (_scrape_ms(server, path, accept, idle) for _ in range(repeats))
                words = f"32 chips, {name} of {series:,} lines"
                yield row(words, statistics.median(costs), "ms CPU", target="<= 5")
        yield _writing(str(own.directory), repeats)


def _idle_share(server: Actor) -> float:
    """What the daemon takes of a core while nobody asks."""
    began, before = time.monotonic(), server.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    return (server.cpu_seconds() - before) / (time.monotonic() - began)


def _scrape_ms(server: Actor, path: str, accept: str, idle: float) -> float:
    began, before = time.monotonic(), server.cpu_seconds()
    _scraped(path, accept, SCRAPES)
    used = server.cpu_seconds() - before - idle * (time.monotonic() - began)
    return 1e3 * used / SCRAPES


def _scraped(path: str, accept: str, count: int) -> bytes:
    """The last of so many pages, all over one connection, as Prometheus does it."""
    with closing(http.client.HTTPConnection("ttmem", timeout=10)) as line:
        line.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        line.sock.connect(path)
        for _ in range(count):
            line.request("GET", "/metrics", headers={"accept": accept})
            answer = line.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise ActorFailed(f"/metrics: status {answer.status}")
        return body


def _writing(directory: str, repeats: int) -> Row:
    with Collector(Places(uid=os.geteuid(), directory=directory)) as collector:
        collector.wait_settled()
        service = Service(True, "0", 0, time.time_ns())
        rows = Exporter(collector, asked=Asked(), service=lambda: service, telemetry=lambda: ()).rows()
    registry = CollectorRegistry()
    registry.register(MetricsCollector(lambda: rows))
    text = PageText()
    ours = _least_ms(lambda: text.written(rows, OPEN_METRICS), repeats)
    theirs = _least_ms(lambda: generate_latest(registry), repeats)  # type: ignore[no-untyped-call]
    return row("32 chips, writing rows alone", ours, "ms CPU", baseline=theirs)


def _least_ms(work: Callable[[], object], repeats: int) -> float:
    def once() -> float:
        began = time.process_time()
        work()
        return 1e3 * (time.process_time() - began)

    return min(once() for _ in range(repeats))
