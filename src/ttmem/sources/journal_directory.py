"""One directory of journals, and what is known about each of its files.

A directory may hold a hundred thousand files that are no journals. Its names are listed without a question about each,
and what is new is examined in portions. A user whose directories took long to look into is left alone for 24 times as
long, so that nobody can make a viewer spend more than about 4 % of a core.
"""

import os
import stat
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["Examined", "FileKey", "JournalDirectory", "Payer", "Rests", "examined", "payer_of"]

FileKey = tuple[int, int]  # device and inode
Payer = tuple[int, int]  # who has to wait for what directories cost: a user

_FREE_SECONDS = 0.002  # what a look may cost without a pause: 20 of them a second are 4 %
_PAUSE_PER_COST = 24

# Time stamps of files move in steps of a few milliseconds: a directory changed this recently may change again
# without a new stamp.
_STAMP_SETTLES_NS = 100_000_000


def payer_of(facts: os.stat_result) -> Payer:
    """The owner of a directory. Containers of root are users of their own: each has its own file system."""
    return facts.st_uid, facts.st_dev if facts.st_uid == 0 else 0


class Rests:
    """Whose directories are left alone for now, by what all of them together cost in a look."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._due: dict[Payer, float] = {}
        self._spent: dict[Payer, float] = defaultdict(float)

    def has(self, payer: Payer) -> bool:
        return self._clock() < self._due.get(payer, float("-inf"))

    def spend(self, payer: Payer, cpu_seconds: float) -> None:
        self._spent[payer] += cpu_seconds

    def settle(self) -> None:
        """Ends a look: who has spent more than is free has to wait."""
        now = self._clock()
        self._due = {payer: due for payer, due in self._due.items() if due > now}
        for payer, cost in self._spent.items():
            if cost > _FREE_SECONDS:
                self._due[payer] = max(self._due.get(payer, now), now) + cost * _PAUSE_PER_COST
        self._spent.clear()


class Examined(NamedTuple):
    """What a file is: a journal to be read, one that may not be read, or nothing of that kind."""

    uid: int
    file: FileKey | None
    is_strange: bool


class JournalDirectory:
    """The files of one directory by name: to be examined, read, of others, strange."""

    def __init__(self) -> None:
        self.waiting: dict[str, int] = {}  # not examined yet, or examined and not opened: the inode of each
        self.owners: dict[str, int] = {}  # of those that were examined and not opened
        self.files: dict[str, FileKey] = {}
        self.foreign: dict[str, int] = {}  # the owner of each
        self.strange: dict[str, int] = {}
        self.refused_uid: int | None = None  # who does not let us read the directory itself
        self._inodes: dict[str, int] = {}
        self._modified_ns = -1
        self._seen_ns = 0

    def has_changed(self, facts: os.stat_result) -> bool:
        """Whether names may have come or gone since they were listed."""
        return not self._modified_ns == facts.st_mtime_ns < self._seen_ns - _STAMP_SETTLES_NS

    def forget(self, name: str) -> None:
        """A name that is gone already: if it comes back it is new."""
        self._inodes.pop(name, None)

    def list_names(self, path: str, facts: os.stat_result, seen_ns: int) -> Iterator[FileKey]:
        """Takes note of what came; yields the files of names that went away."""
        self._modified_ns, self._seen_ns = facts.st_mtime_ns, seen_ns
        self.refused_uid = None
        try:
            inodes = _names_in(path)
        except PermissionError:
            inodes, self.refused_uid = {}, facts.st_uid
        except OSError:  # went away between the two looks
            inodes = {}
        if inodes == self._inodes:
            return
        before, self._inodes = self._inodes, inodes
        for name in [name for name, inode in before.items() if inodes.get(name) != inode]:
            for table in (self.waiting, self.owners, self.foreign, self.strange):
                table.pop(name, None)
            if name in self.files:
                yield self.files.pop(name)
        self.waiting.update((name, inode) for name, inode in inodes.items() if before.get(name) != inode)


def _names_in(path: str) -> dict[str, int]:
    with os.scandir(path) as entries:
        return {
            entry.name: entry.inode()
            for entry in entries
            if entry.name.endswith(".journal") and not entry.name.startswith(".")
        }


def examined(path: str) -> Examined | None:
    """What a file is; None if it is not there any more."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(facts.st_mode):
        return Examined(facts.st_uid, None, is_strange=True)
    is_readable = facts.st_uid == os.geteuid() or os.access(path, os.R_OK, effective_ids=True)
    return Examined(facts.st_uid, (facts.st_dev, facts.st_ino) if is_readable else None, is_strange=False)
