"""Promise: 5,000 reporting processes are all shown by a viewer that may have 1,024 files open, with the right figures;
and 50,000 files of another user that are no journals cost a daemon at most 5 % of a core.

Shown are the processes whose figures are exact in one snapshot. A daemon's share of a core is its CPU time over ten
seconds; what the files cost comes on top of a daemon that has nothing to do, while their directory changes a hundred
times a second. Needs 2.3 GB of shared memory.
"""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import Actor, daemon, multitude
from benchmarks.stage.setting import Setting
from tests.support.journals.crowds import SOMEBODY, always_changing, junk
from ttmem.devices import Pool
from ttmem.snapshot.codec import decoded
from ttmem.view.pages.smi import SmiDocument

DESCRIPTORS = 1024
HOLDS_LEAST = 4096  # bytes: the first process; every further one holds one more


def measure(setting: Setting) -> Iterator[Row]:
    count = setting.repeats(5000, 50)
    with setting.fresh_directory() as own, multitude(own, count):
        seconds = _cpu_of_children()
        shown = _exactly_shown(_table(own))
        yield row(f"{count:,} processes, {DESCRIPTORS:,} descriptors: shown by ps", shown, "", target=f">= {count}")
        yield row("... CPU of that ps", _cpu_of_children() - seconds, "s")
        with daemon(own) as (server, _):
            resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))  # noticed within a second
            yield row("... share of a core of an idle daemon", _share(server, setting), "%")
            shown = _exactly_shown(_table(own))
            yield row("... shown by that daemon", shown, "", target=f">= {count}")
    with setting.fresh_directory() as own, daemon(own) as (server, _):
        idle = _share(server, setting)
        junk(own.directory, setting.repeats(50_000, 500), uid=SOMEBODY if os.geteuid() == 0 else None)
        with always_changing(own.directory):
            yield row("50,000 other files: share of a core", _share(server, setting) - idle, "%", target="<= 5")


def _table(own: Setting) -> SmiDocument:
    """What `ttmem ps` says; a daemon answers it if one runs there."""
    command = [sys.executable, "-m", "ttmem", "ps", "--json"]
    limited = ["sh", "-c", f'ulimit -n {DESCRIPTORS} && exec "$@"', "sh", *command]
    done = subprocess.run(limited, env=own.environment(TTMEM="0"), capture_output=True, check=True)
    return decoded(done.stdout, SmiDocument)


def _exactly_shown(document: SmiDocument) -> int:
    held = sorted(process.used_bytes(Pool.DRAM) or 0 for process in document.processes)
    return len(held) if held == [HOLDS_LEAST + at for at in range(len(held))] and document.is_complete else 0


def _cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _share(server: Actor, setting: Setting) -> float:
    """CPU time of a process in percent of a core."""
    began, spent = time.monotonic(), server.cpu_seconds()
    time.sleep(0.2 if setting.is_quick else 10)
    return 100 * (server.cpu_seconds() - spent) / (time.monotonic() - began)
