"""What goes with a daemon: programs that report to it alone, by the seeds' socket, and those whose journals only it may
read. A picture without them would be wrong, and one of before is better, in grey, until there is a daemon again. After
a while the figures that can be had are shown without them.
"""

import os
import time
from collections.abc import Callable

from ttmem.errors import DaemonGone
from ttmem.snapshot.usage import Snapshot
from ttmem.view.words import plural

__all__ = ["Steadiness"]

_PATIENCE_SECONDS = 15.0  # whoever starts daemons again has done so by then


class Steadiness:
    """Remembers of whom a daemon told, for as long as the monitor runs."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: frozenset[int] = frozenset()  # pids
        self._lost_at: float | None = None

    def check(self, overview: Snapshot, *, is_by_daemon: bool) -> None:
        """DaemonGone if a daemon told of living processes that cannot be seen without it."""
        seen = frozenset(row.pid for row in overview.processes if row.state != "ended" and row.is_visible)
        if is_by_daemon:
            self._told, self._lost_at = seen, None
            return
        missing = [pid for pid in self._told - seen if os.path.exists(f"/proc/{pid}")]
        now = self._clock()
        self._lost_at = self._lost_at or now
        if not missing or now - self._lost_at >= _PATIENCE_SECONDS:
            self._told, self._lost_at = frozenset(), None
            return
        raise DaemonGone(f"the daemon has gone that alone told of {plural(len(missing), 'process', 'es')}")
