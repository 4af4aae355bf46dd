"""Promise: with 200 processes on 32 chips and 100,000 live allocations, a refresh of the monitor's figures costs at
most 50 ms of CPU: read by the viewer itself, and asked of a daemon (both sides together).

Every process frees one buffer and makes another between two looks, so nothing is as it was. `still` is the same while
nobody does anything. A whole snapshot, and one process close up, are shown for comparison.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, crowd, daemon
from benchmarks.stage.setting import Setting
from ttmem.collector import Collector
from ttmem.figures.daemon_client import SOCKET_NAME, DaemonClient
from ttmem.snapshot import Snapshot
from ttmem.sources import Places

PROCESSES, CHIPS, ALLOCATIONS = 200, 32, 500
TARGET = "<= 50"
PATIENCE_SECONDS = 60.0
_REST_SECONDS = 2.0
_SETTLE_SECONDS = 0.05  # for a daemon to read what everybody just said, as it would without a viewer


def measure(setting: Setting) -> Iterator[Row]:
    process_count = PROCESSES if not setting.is_quick else 4
    looks = setting.repeats(25, 2)
    with setting.fresh_directory() as own, crowd(own, process_count, CHIPS, ALLOCATIONS) as members:
        yield from _embedded(own.directory, members, looks)
        yield from _asked(own, members, looks)


def _embedded(directory: Path, members: Actor, looks: int) -> Iterator[Row]:
    def refresh() -> Snapshot:
        collector.tick()
        return collector.overview()

    with Collector(Places(uid=os.geteuid(), directory=str(directory))) as collector:
        collector.wait_settled(PATIENCE_SECONDS)
        _check(refresh())
        still = _cost_ms(refresh, time.process_time, looks)
        moving = _cost_ms(refresh, time.process_time, looks, members)
        whole = _cost_ms(collector.snapshot, time.process_time, max(2, looks // 5))
        pid = collector.overview().processes[0].pid
        close_up = _cost_ms(lambda: collector.process(pid), time.process_time, looks)
    yield row("overview", moving, "ms CPU", target=TARGET)
    yield row("overview, still", still, "ms CPU", target=TARGET)
    yield row("whole snapshot", whole, "ms CPU")
    yield row("one process", close_up, "ms CPU", target=TARGET)


def _asked(setting: Setting, members: Actor, looks: int) -> Iterator[Row]:
    with daemon(setting) as (server, _):
        client = DaemonClient(str(setting.directory / SOCKET_NAME), timeout_seconds=PATIENCE_SECONDS)
        _check(client.overview())
        before, began, since = _by_thread(server.pid), server.cpu_seconds(), time.monotonic()
        time.sleep(_REST_SECONDS)
        share = (server.cpu_seconds() - began) / (time.monotonic() - since)
        after = _by_thread(server.pid)
        follower = max(after, key=lambda thread: after[thread] - before.get(thread, 0.0))

        def worked() -> float:
            """By both sides, less the daemon's thread that follows all journals, asked or not."""
            threads = _by_thread(server.pid)
            return time.process_time() + sum(threads.values()) - threads[follower]

        yield row("asked of a daemon", _cost_ms(client.overview, worked, looks, members), "ms CPU", target=TARGET)
        yield row("asked of a daemon, still", _cost_ms(client.overview, worked, looks), "ms CPU", target=TARGET)
        yield row("a daemon nobody asks", 100 * share, "% CPU")


def _by_thread(pid: int) -> dict[str, float]:
    """CPU seconds of each thread of a process, by its number."""
    tasks = Path(f"/proc/{pid}/task")
    return {thread.name: int((thread / "schedstat").read_text().split()[0]) / 1e9 for thread in tasks.iterdir()}


def _cost_ms(
    look: Callable[[], object], worked: Callable[[], float], looks: int, members: Actor | None = None
) -> float:
    """The least of several looks: what it costs, not what the machine was doing meanwhile."""
    costs = []
    for _ in range(looks):
        if members is not None:
            members.ask("move")
            time.sleep(_SETTLE_SECONDS)
        began = worked()
        look()
        costs.append(1e3 * (worked() - began))
    return min(costs)


def _check(overview: Snapshot) -> None:
    held = sum(process.live_count or 0 for process in overview.processes)
    if len(overview.devices) != CHIPS or held != len(overview.processes) * ALLOCATIONS:
        raise RuntimeError(f"expected {CHIPS} chips and all allocations, found {len(overview.devices)} and {held}")
