"""Processes beside those that are measured: a recorder, and some that do nothing but keep the processors busy."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.stage.actors import ActorFailed
from benchmarks.stage.setting import Setting

_READY_SECONDS = 20.0


@contextmanager
def busy_processors(count: int) -> Iterator[None]:
    """So many processes that count for ever."""
    counters = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for counter in counters:
            counter.kill()
            counter.wait()


@contextmanager
def recorder(setting: Setting, path: Path) -> Iterator[int]:
    """`ttmem record -o PATH` of everything in the setting's directory: its pid, while it follows; then it ends."""
    command = [sys.executable, "-m", "ttmem", "record", "-o", str(path)]
    process = subprocess.Popen(command, env=setting.environment(TTMEM="0"), stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + _READY_SECONDS
        while not any(path.glob("*.blocks")):
            if process.poll() is not None or time.monotonic() > deadline:
                raise ActorFailed(f"`ttmem record` did not begin, status {process.poll()}")
            time.sleep(0.01)
        yield process.pid
        process.send_signal(signal.SIGINT)
        process.wait()
    finally:
        process.kill()
        process.wait()
