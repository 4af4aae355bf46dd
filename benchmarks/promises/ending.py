"""Promise: a daemon that 1,000,000 live allocations were reported to ends within 1 s of CPU time after SIGTERM.

Its CPU time is that of all threads, from the signal until the kernel hands its account over with the exit status. What
socket clients hold is written to the checkpoint meanwhile, and printed if the log is on, here into a pipe that nobody
reads; a journal is on disk already.
"""

import time
from collections.abc import Iterator

from benchmarks.baseline.query import ServerQuery
from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import daemon, message_sender, puppet
from benchmarks.stage.setting import Setting, median_of

LIVE_COUNT = 1_000_000
TABLE = str(1 << 20)  # room for all of them in the journal
TARGET = "<= 1"
DEADLINE_SECONDS = 60


def measure(setting: Setting) -> Iterator[Row]:
    times = setting.repeats(3)
    words = f"SIGTERM with {LIVE_COUNT:,} live"
    for log, options in (("", ("--quiet",)), (", events logged to a pipe nobody reads", ("--log-events",))):
        used = median_of(times, lambda options=options: _socket_seconds(setting, *options))  # type: ignore[misc]
        yield row(f"{words} of a socket client{log}", used, "s CPU", target=TARGET)
    used = median_of(times, lambda: _journal_seconds(setting))
    yield row(f"{words} in a journal", used, "s CPU", target=TARGET)


def _socket_seconds(setting: Setting, *options: str) -> float:
    with (
        setting.fresh_directory() as own,
        daemon(own, *options) as (server, path),
        message_sender(own, path, LIVE_COUNT, per_send=256),
    ):
        return server.terminate()


def _journal_seconds(setting: Setting) -> float:
    with setting.fresh_directory() as own, puppet(own, LIVE_COUNT, TTMEM_TABLE=TABLE), daemon(own) as (server, path):
        with ServerQuery(path) as query:
            deadline = time.monotonic() + DEADLINE_SECONDS
            while query.dram_bytes() == 0:  # a look knows all of a journal, or nothing
                if time.monotonic() > deadline:
                    raise RuntimeError(f"the journal was not read within {DEADLINE_SECONDS} s")
        return server.terminate()
