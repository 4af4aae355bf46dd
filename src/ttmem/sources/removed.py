"""Finds journals whose files were removed while their processes live.

Such a journal has no name any more, but its process holds it open and holds its lock. The kernel lists all locks in one
small file, /proc/locks: of every process that holds one on a whole file which is no journal we know, the descriptors
are looked through for a file without a name. That costs one read where nobody's journal was removed. Names in
/proc/PID/maps would prove nothing: a journal is made without a name, and shows as deleted there all its life.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from ttmem.sources.journals import FoundJournal
from ttmem.sources.places import Places
from ttmem.sources.procfs import PROC

__all__ = ["RemovedJournals"]

_EVERY_SECONDS = 1.0
_PAUSE_PER_COST = 200  # with thousands of locks rarer: at most this part of the time
_AGAIN_SECONDS = 10.0  # a file that had a name is looked at again after that time
_MAGIC = b"TMEMJNL1"
_REMEMBERED_MOST = 4096


FileKey = tuple[int, int]  # device and inode


class _Lock(NamedTuple):
    """A lock on a whole file, as /proc/locks tells it."""

    pid: int
    file: FileKey


class RemovedJournals:
    """Looks for them now and then; each is handed out once."""

    def __init__(self, places: Places, *, proc: str = PROC, clock: Callable[[], float] = time.monotonic) -> None:
        self._places = places
        self._proc = proc
        self._clock = clock
        self._due = float("-inf")
        self._until: dict[_Lock, float] = {}  # locks that need no look until then

    def scan(self, known: Collection[FileKey]) -> list[FoundJournal]:
        """Those that no earlier scan has handed out; `known`: files that have a name."""
        now = self._clock()
        if now < self._due:
            return []
        began = time.thread_time()
        found = self._found(known, now)
        self._due = now + max(_EVERY_SECONDS, (time.thread_time() - began) * _PAUSE_PER_COST)
        return found

    def _found(self, known: Collection[FileKey], now: float) -> list[FoundJournal]:
        held = [lock for lock in self._locks() if lock.file not in known and lock.pid != os.getpid()]
        before = self._until if len(self._until) < _REMEMBERED_MOST else {}
        self._until = {lock: before[lock] for lock in held if lock in before}
        found = []
        unnamed: dict[int, dict[int, list[FoundJournal]]] = {}  # by process: its descriptors are gone through once
        for lock in held:
            if self._until.get(lock, now) > now:
                continue
            if lock.pid not in unnamed:
                unnamed[lock.pid] = self._unnamed_files_of(lock.pid)
            journal = self._journal_among(unnamed[lock.pid].get(lock.file[1], []))
            self._until[lock] = float("inf") if journal else now + _AGAIN_SECONDS
            found += [journal] if journal else []
        return found

    def _locks(self) -> Iterator[_Lock]:
        try:
            with open(f"{self._proc}/locks", "rb") as file:
                lines = file.read().splitlines()
        except OSError:
            return
        for line in lines:  # 1: POSIX  ADVISORY  WRITE 4711 00:19:815 0 EOF
            words = line.split()
            if len(words) == 8 and words[1] == b"POSIX" and words[3] == b"WRITE" and words[6:] == [b"0", b"EOF"]:
                major, minor, inode = words[5].split(b":")
                yield _Lock(int(words[4]), (os.makedev(int(major, 16), int(minor, 16)), int(inode)))

    def _unnamed_files_of(self, pid: int) -> dict[int, list[FoundJournal]]:
        """The files without a name that a process has open, by inode; those of several file systems may share one."""
        folder = f"{self._proc}/{pid}/fd"
        found: dict[int, list[FoundJournal]] = {}
        try:
            names = os.listdir(folder)
        except OSError:  # gone, or not ours to look into
            return found
        for name in names:
            path = f"{folder}/{name}"
            try:
                facts = os.stat(path)
            except OSError:
                continue
            if stat.S_ISREG(facts.st_mode) and facts.st_nlink == 0:
                found.setdefault(facts.st_ino, []).append(FoundJournal(path, facts.st_dev, facts.st_ino))
        return found

    def _journal_among(self, files: list[FoundJournal]) -> FoundJournal | None:
        for file in files:
            try:
                if self._is_placed(os.readlink(file.path)) and _is_journal(file.path):
                    return file
            except OSError:
                continue
        return None

    def _is_placed(self, told: str) -> bool:
        """Whether it was made where journals are looked for; the kernel still tells the directory."""
        directory = os.path.dirname(told)
        return any(directory in (place.path, os.path.realpath(place.path)) for place in self._places.listed())


def _is_journal(path: str) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return os.pread(descriptor, len(_MAGIC), 0) == _MAGIC
    finally:
        os.close(descriptor)
