"""Whose child a process is, for those who ask for all processes again and again.

A parent may end, and its children then get another: what was found is good for a few seconds. A pid may also be used
anew: the moment a process began is part of its name.
"""

import time
from collections.abc import Callable

from ttmem.sources.procfs import PROC, Folder, stat_of

__all__ = ["Parents"]

_GOOD_SECONDS = 5.0
_MOST = 4096


class Parents:
    """Remembers parents. Any thread may ask: at worst two ask the kernel for the same."""

    def __init__(self, proc: Folder = PROC, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._proc = proc
        self._clock = clock
        self._known: dict[tuple[int, int | None], tuple[float, int | None]] = {}  # until when, and who

    def parent_of(self, pid: int, start_time_ns: int | None) -> int | None:
        """The parent of a process of our own pid namespace; None if there is no such process any more."""
        now = self._clock()
        until, parent = self._known.get((pid, start_time_ns), (now, None))
        if until > now:
            return parent
        if len(self._known) >= _MOST:
            self._known = {}
        stat = stat_of(pid, self._proc)
        parent = stat.parent if stat is not None else None
        self._known[pid, start_time_ns] = now + _GOOD_SECONDS, parent
        return parent
