"""Which journals belong to a program we started, and to what that started in turn.

A new journal names its process. While that lives, a mark in its environment or its ancestors tell whose child it is. A
process that reported and ended between two looks cannot be asked any more; if it started after our program, it is
taken for ours.
"""

import os
import re

from ttmem.sources import FoundJournal, Journals, Places, procfs

__all__ = ["Offspring"]

_NAME = re.compile(r"(\d+)-(\d+)-[0-9a-f]+\.journal")


class Offspring:
    """The journals of one program and its descendants; journals that were there before are nobody's."""

    def __init__(self, places: Places, *, mark: str) -> None:
        self._journals = Journals(places)
        self._journals.scan()
        self._mark = mark
        self._pid = 0
        self._start_ticks = 0
        self.paths: set[str] = set()

    def began(self, pid: int) -> None:
        """Names the program, as soon as it runs."""
        stat = procfs.stat_of(pid)
        self._pid = pid
        self._start_ticks = stat.start_ticks if stat else 0

    def look(self) -> None:
        """Takes note of journals that have appeared."""
        self.paths.update(found.path for found in self._journals.scan() if self._is_ours(found))

    def _is_ours(self, found: FoundJournal) -> bool:
        match = _NAME.fullmatch(os.path.basename(found.path))
        if match is None:
            return False
        pid, start_ticks = int(match[1]), int(match[2])
        if pid == self._pid:
            return True
        stat = procfs.stat_of(pid)
        environment = procfs.environment_of(pid)
        is_gone = stat is None or stat.start_ticks != start_ticks or environment == set()
        if is_gone:
            return start_ticks >= self._start_ticks
        return self._mark in (environment or ()) or procfs.is_descendant(pid, self._pid)
