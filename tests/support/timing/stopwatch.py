"""How long something took, on a machine that others use, too.

A promise about time is one about the program. What it spends waiting for a processor that somebody else has is no part
of that: it is taken off, as the kernel counts it per thread. On a quiet machine nothing is taken off.
"""

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.timing.waiting import PATIENCE_SECONDS

TRIES = 5


class Stopwatch:
    """Runs from its making; takes off what this process, and another one that is named, wait for processors."""

    def __init__(self, pid: int | None = None) -> None:
        self._pids = {os.getpid(), pid or os.getpid()}
        self._delays_ns: dict[str, int] = {}  # by thread
        self._look()
        self._before_ns = sum(self._delays_ns.values())
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long it has been, by now."""
        passed = time.monotonic() - self._began
        self._look()
        return max(0.0, passed - (sum(self._delays_ns.values()) - self._before_ns) / 1e9)

    def end_of(self, process: "subprocess.Popen[Any]") -> int:
        """Waits for a process; its exit status. Its threads tell only until they end, so they are asked often."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        before_ns = self._own_ns()
        while process.poll() is None:
            assert time.monotonic() < deadline, f"process {process.pid} has not ended within {PATIENCE_SECONDS:g} s"
            self._before_ns += self._own_ns() - before_ns  # we were late to look, and it went on without us
            before_ns = self._own_ns()
            self._look()
            time.sleep(0.002)
        return int(process.returncode)

    def _own_ns(self) -> int:
        return sum(self._delays_ns.get(thread, 0) for thread in os.listdir("/proc/self/task"))

    def _look(self) -> None:
        for pid in self._pids:
            with suppress(OSError):  # it has ended
                for thread in os.listdir(f"/proc/{pid}/task"):
                    self._ask(pid, thread)

    def _ask(self, pid: int, thread: str) -> None:
        with suppress(OSError, IndexError):  # ended meanwhile, or a kernel that does not count it
            self._delays_ns[thread] = int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text().split()[1])


def least(measure: Callable[[], float], *, under: float) -> float:
    """The best of some tries, the first that is good enough being the last: who is too slow is so every time."""
    best = measure()
    for _ in range(TRIES - 1):
        if best < under:
            break
        best = min(best, measure())
    return best
