"""Promise: a scrape of /metrics on a machine with 32 chips costs the daemon at most 12 us of CPU for each line.

The chips are those of a Galaxy on the runtime model, with tensors, programs, circular buffers, ring and caches. Between
two scrapes nothing happens, or on every chip a program ran and a tensor was made. The figure is the CPU time of the
whole daemon per scrape, all threads, the kernel's share included, less what it takes in the same time without being
asked. The row without a target is what prometheus_client takes of it.
"""

import http.client
import os
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, ActorFailed, daemon, galaxy
from benchmarks.stage.setting import Setting
from ttmem.collector import Collector
from ttmem.daemon.metrics.exporter import Asked, Exporter, chosen_format
from ttmem.daemon.metrics.service import Service
from ttmem.sources import Places

SCRAPES = 20
IDLE_SECONDS = 1.0
OPEN = "application/openmetrics-text"


def measure(setting: Setting) -> Iterator[Row]:
    repeats = setting.repeats(9, 2)
    with setting.fresh_directory() as own, galaxy(own) as program:
        with daemon(own, "--quiet", TTMEM_STOCK_SHM_DIR=str(own.directory)) as (server, _):
            path = str(own.directory / "daemon.sock")
            lines = _scraped(path, OPEN, 1).count(b"\n")
            idle = _idle_share(server)
            words = f"32 chips, {lines:,} lines"
            rest = [_scrape_ms(server, path, idle) for _ in range(repeats)]
            yield row(
                f"{words}, nothing happened", 1e3 * statistics.median(rest) / lines, "us CPU/line", target="<= 12"
            )
            busy = [
                _scrape_ms(server, path, idle, program) - _unasked_ms(server, idle, program) for _ in range(repeats)
            ]
            yield row(
                f"{words}, all chips changed", 1e3 * statistics.median(busy) / lines, "us CPU/line", target="<= 12"
            )
        yield _writing(str(own.directory), repeats)


def _per_line(what: str, scrapes_ms: list[float], lines: int) -> Row:
    return row(what, 1e3 * statistics.median(scrapes_ms) / lines, "us CPU/line", target="<= 12")


def _idle_share(server: Actor) -> float:
    """What the daemon takes of a core while nobody asks."""
    began, before = time.monotonic(), server.cpu_seconds()
    time.sleep(IDLE_SECONDS)
    return (server.cpu_seconds() - before) / (time.monotonic() - began)


def _scrape_ms(server: Actor, path: str, idle: float, program: Actor | None = None) -> float:
    """Per scrape of so many; between them, a program does something."""
    began, before = time.monotonic(), server.cpu_seconds()
    _scraped(path, OPEN, SCRAPES, program)
    used = server.cpu_seconds() - before - idle * (time.monotonic() - began)
    return 1e3 * used / SCRAPES


def _unasked_ms(server: Actor, idle: float, program: Actor) -> float:
    """What the daemon takes for as many steps of a program when nobody asks."""
    began, before = time.monotonic(), server.cpu_seconds()
    for _ in range(SCRAPES):
        program.ask("go on")
    return 1e3 * (server.cpu_seconds() - before - idle * (time.monotonic() - began)) / SCRAPES


def _scraped(path: str, accept: str, count: int, program: Actor | None = None) -> bytes:
    """The last of so many pages, all over one connection, as Prometheus does it."""
    with closing(http.client.HTTPConnection("ttmem", timeout=10)) as line:
        line.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        line.sock.connect(path)
        for _ in range(count):
            if program:
                program.ask("go on")
            line.request("GET", "/metrics", headers={"accept": accept})
            answer = line.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise ActorFailed(f"/metrics: status {answer.status}")
        return body


def _writing(directory: str, repeats: int) -> Row:
    with Collector(Places(uid=os.geteuid(), directory=directory, stock_directory=directory)) as collector:
        collector.wait_settled()
        rows = Exporter(collector, asked=Asked(), service=Service("0", 0)).rows()
    write, _ = chosen_format(OPEN)
    lines = write(rows).count(b"\n")
    return row(
        "32 chips, writing rows alone, per line", 1e3 * _least_ms(lambda: write(rows), repeats) / lines, "us CPU"
    )


def _least_ms(work: Callable[[], object], repeats: int) -> float:
    def once() -> float:
        began = time.process_time()
        work()
        return 1e3 * (time.process_time() - began)

    return min(once() for _ in range(repeats))
