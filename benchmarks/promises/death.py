"""Promise: what a dead process held is given back within 100 ms of the kernel ending it, also while it is a zombie.

Measured from the moment its pidfd is readable to the first snapshot without it. The baseline asks kill(pid, 0)
every 3 seconds, and never notices a zombie; its figure is of processes that were waited for at once.
"""

import os
import select
import signal
import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.baseline.query import ServerQuery
from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, older_puppet, older_server, puppet
from benchmarks.stage.collecting import following
from benchmarks.stage.setting import Setting
from ttmem._native import Ledger, testing

DEADLINE_SECONDS = 10
POLL_SECONDS = 0.0002
OLD_PHASES_SECONDS = (0.3, 0.9, 1.5, 2.1, 2.7)


def measure(setting: Setting) -> Iterator[Row]:
    sent_ms = [_old_death_ms(setting, after) for after in OLD_PHASES_SECONDS[: setting.repeats(5)]]
    cases = (("1,000 live, waited for", 1_000, True), ("1,000 live, zombie", 1_000, False))
    for words, live_count, is_reaped in (*cases, ("100,000 live, zombie", 100_000, False)):
        times_ms = [_death_ms(setting, live_count, is_reaped) for _ in range(setting.repeats(25, 2))]
        middle, worst = (statistics.median(sent_ms), max(sent_ms)) if is_reaped else (None, None)
        yield row(f"{words}, median", statistics.median(times_ms), "ms", baseline=middle)
        yield row(f"{words}, worst", max(times_ms), "ms", target="<= 100", baseline=worst)


def _death_ms(setting: Setting, live_count: int, is_reaped: bool) -> float:
    with setting.fresh_directory() as own, puppet(own, live_count) as (writer, _), following(own.directory) as ledger:
        _wait_for(lambda: _live_count(ledger) == live_count)
        return _time_to_forget_ms(writer, lambda: _live_count(ledger) == 0, is_reaped)


def _live_count(ledger: Ledger) -> int:
    """What living processes hold; an ended one keeps its last figures in the snapshot but holds nothing."""
    return sum(one["live_count"] for one in testing.flat_rows(ledger)["processes"] if one["state"] == "live")


def _old_death_ms(setting: Setting, after_seconds: float) -> float:
    """Killed a while after the server began to look every 3 seconds."""
    with (
        setting.fresh_directory() as own,
        older_server(own) as (_, socket_path),
        older_puppet(own, 1_000, socket_path) as writer,
        ServerQuery(socket_path) as query,
    ):
        time.sleep(after_seconds)
        return _time_to_forget_ms(writer, lambda: query.dram_bytes() == 0, is_reaped=True)


def _time_to_forget_ms(writer: Actor, is_forgotten: Callable[[], bool], is_reaped: bool) -> float:
    descriptor = os.pidfd_open(writer.pid)
    try:
        os.kill(writer.pid, signal.SIGKILL)
        select.select([descriptor], [], [])
        began = time.monotonic_ns()
        if is_reaped:
            writer.process.wait()
        _wait_for(is_forgotten)
        return (time.monotonic_ns() - began) / 1e6
    finally:
        os.close(descriptor)


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"nothing happened within {DEADLINE_SECONDS} s")
        time.sleep(POLL_SECONDS)
