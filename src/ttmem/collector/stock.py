"""The stock runtime's own counters, if there are any: most machines have none, and then nothing is loaded for them.

field            who touches it
_counters        whoever sees the first region makes them, guarded by _making; then they stay and have their own lock
"""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from ttmem.snapshot import Readings, Snapshot
from ttmem.snapshot.counters import NO_READINGS
from ttmem.sources.hosts import user_name
from ttmem.sources.stock_shm.names import region_names

if TYPE_CHECKING:
    from ttmem.collector.runtime_counters import RuntimeCounters

__all__ = ["Stock"]


class Stock:
    """What the counters in some directories say. Any thread may ask."""

    def __init__(self, directories: Callable[[], list[str]]) -> None:
        self._directories = directories
        self._making = threading.Lock()
        self._counters: RuntimeCounters | None = None

    @property
    def counters(self) -> "RuntimeCounters":
        """Who reads and joins them; made when first needed."""
        from ttmem.collector.runtime_counters import RuntimeCounters
        from ttmem.sources.stock_shm.regions import StockCounters

        with self._making:
            if self._counters is None:
                reader = StockCounters(self._directories, user_of=user_name)
                self._counters = RuntimeCounters(reader, user_of=user_name)
            return self._counters

    def read(self) -> Readings:
        """What they say now."""
        if self._counters is None and not any(map(region_names, self._directories())):
            return NO_READINGS
        return self.counters.read()

    def joined(self, snapshot: Snapshot, readings: Readings) -> Snapshot:
        """The snapshot with all that was read."""
        return self.counters.joined(snapshot, readings) if readings.places else snapshot
