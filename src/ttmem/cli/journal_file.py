"""One journal by its path: a collector that reads that file and nothing else."""

import os
import time

from ttmem.collector import Collector
from ttmem.errors import NothingToRead
from ttmem.snapshot import Snapshot
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.sources import Places

__all__ = ["JournalFile"]

_SETTLE_SECONDS = 2.0
_STEP_SECONDS = 0.002


class JournalFile:
    """What a journal tells, whoever wrote it and wherever it lies."""

    def __init__(self, path: str) -> None:
        real = os.path.realpath(path)
        try:
            facts = os.stat(real)
        except OSError as error:
            raise NothingToRead(f"{path}: {error.strerror}") from None
        self._collector = Collector(Places(uid=os.geteuid(), directory=os.path.dirname(real)))
        key, trouble = self._collector.ledger.attach(real, facts.st_dev, facts.st_ino)
        if not key:
            raise NothingToRead(f"{path}: {trouble or 'cannot be opened'}")

    def snapshot(self) -> Snapshot:
        """Its process, and the chips that one speaks of."""
        ledger = self._collector.ledger
        deadline = time.monotonic() + _SETTLE_SECONDS
        ledger.drain()
        found = self._collector.snapshot()
        while any(process.reason == "settling" for process in found.processes) and time.monotonic() < deadline:
            ledger.run(_STEP_SECONDS)
            found = self._collector.snapshot()
        return found

    def incident_copy(self, pid: int, number: int, *, key: int) -> IncidentCopy | None:
        """An incident with what was alive then."""
        return self._collector.incident_copy(pid, number, key=key)
