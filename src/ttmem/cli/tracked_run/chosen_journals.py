"""The journals of processes that were named, and of all that carry the mark of a run."""

import os
import time
from collections.abc import Iterable

from ttmem.cli.tracked_run.child_journals import marks_of, writer_of
from ttmem.collector import Collector
from ttmem.errors import NothingToRead
from ttmem.sources import FoundJournal, Journals, Places, procfs

__all__ = ["ChosenJournals"]

_SETTLE_SECONDS, _STEP_SECONDS = 2.0, 0.002


class ChosenJournals:
    """Looks for them, and attaches each once. A pid that no process has is a NothingToRead."""

    def __init__(self, places: Places, collector: Collector, pids: Iterable[int], *, mark: str) -> None:
        self._journals = Journals(places)
        self._collector = collector
        self._mark = mark
        self._ticks = {pid: _start_ticks(pid) for pid in pids}
        missing = [pid for pid, ticks in self._ticks.items() if ticks is None]
        if missing:
            raise NothingToRead(f"expected processes that run, found none of pid {missing[0]}; ttmem ps lists them")

    def look(self, *, is_hurried: bool = False) -> None:
        """Takes those that have appeared."""
        for found in self._journals.scan(is_hurried=is_hurried):
            if self._is_chosen(found):
                key, trouble = self._collector.ledger.attach(*found)
                if not key and not trouble:
                    self._journals.offer_again(found)

    def catch_up(self) -> None:
        """Takes all that was reported before."""
        ledger = self._collector.ledger
        self.look(is_hurried=True)
        ledger.drain()
        deadline = time.monotonic() + _SETTLE_SECONDS
        while (ledger.is_settling() or self._has_unnoticed_death()) and time.monotonic() < deadline:
            ledger.run(_STEP_SECONDS)

    def _has_unnoticed_death(self) -> bool:
        """Whether the ledger takes a process for alive that has ended."""
        live = [process.pid for process in self._collector.overview().live if process.is_visible]
        return any(_start_ticks(pid) is None for pid in live)

    @property
    def is_over(self) -> bool:
        """Whether all processes that were named have ended."""
        return all(_start_ticks(pid) != ticks for pid, ticks in self._ticks.items())

    def _is_chosen(self, found: FoundJournal) -> bool:
        writer = writer_of(found.path)
        if writer is not None and self._ticks.get(writer[0]) == writer[1]:
            return True
        return bool(self._mark) and self._mark in marks_of(os.fspath(found.path))


def _start_ticks(pid: int) -> int | None:
    stat = procfs.stat_of(pid)
    return None if stat is None or stat.is_over else stat.start_ticks
