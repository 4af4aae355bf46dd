"""Finds journals that no directory shows: by their locks.

The file of a journal may have been removed while its process lives, or lie in one of more directories than are listed
of a user (`places`). Its process holds it open and holds its lock. The kernel lists all locks in one small file,
/proc/locks: of every process that holds one on a whole file which is no journal we know, the descriptors are looked
through. That costs one read where every journal is known. Names in /proc/PID/maps would prove nothing: a journal is
made without a name, and shows as deleted there all its life.
"""

import os
import stat
import time
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from ttmem.sources.journals import FoundJournal
from ttmem.sources.places import Places
from ttmem.sources.procfs import PROC

__all__ = ["UnlistedJournals"]

_EVERY_SECONDS = 1.0
_PAUSE_PER_COST = 200  # with thousands of locks rarer: at most this part of the time
_AGAIN_SECONDS = 10.0  # a file that had a name is looked at again after that time
_MAGIC = b"TMEMJNL1"
_REMEMBERED_MOST = 65_536


FileKey = tuple[int, int]  # device and inode


class _OpenFile(NamedTuple):
    """A regular file that a process has open, by its descriptor."""

    path: str
    device: int
    inode: int
    has_name: bool


class _Lock(NamedTuple):
    """A lock on a whole file, as /proc/locks tells it."""

    pid: int
    file: FileKey


class UnlistedJournals:
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
        opened: dict[int, dict[int, list[_OpenFile]]] = {}  # by process: its descriptors are gone through once
        for lock in held:
            if self._until.get(lock, now) > now:
                continue
            if lock.pid not in opened:
                opened[lock.pid] = self._open_files_of(lock.pid)
            journal = self._journal_among(opened[lock.pid].get(lock.file[1], []), lock)
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

    def _open_files_of(self, pid: int) -> dict[int, list[_OpenFile]]:
        """The files that a process has open, by inode; those of several file systems may share one. Those that have a
        name only if a journal could lie where nobody looks."""
        folder = f"{self._proc}/{pid}/fd"
        found: dict[int, list[_OpenFile]] = {}
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
            if stat.S_ISREG(facts.st_mode) and (facts.st_nlink == 0 or self._places.unlisted):
                file = _OpenFile(path, facts.st_dev, facts.st_ino, facts.st_nlink != 0)
                found.setdefault(facts.st_ino, []).append(file)
        return found

    def _journal_among(self, files: list[_OpenFile], lock: _Lock) -> FoundJournal | None:
        for file in files:
            try:
                directory = os.path.dirname(os.readlink(file.path))  # a journal's own name is not told
                name = _journal_name(file.path) if self._is_wanted(file, directory, lock) else ""
                if name:
                    return FoundJournal(self._path_of(file, f"{directory}/{name}", lock.pid), file.device, file.inode)
            except OSError:
                continue
        return None

    def _is_wanted(self, file: _OpenFile, directory: str, lock: _Lock) -> bool:
        """One with a name only if it is the very file that is locked: a journal of our own must not be opened."""
        if file.has_name:
            return lock.file == (file.device, file.inode) and self._places.is_further(directory)
        return self._is_placed(directory)

    def _path_of(self, file: _OpenFile, told: str, pid: int) -> str:
        """How a journal is opened: by its name, which may be one below the root of another mount namespace; by the
        descriptor of its process if it has none."""
        paths = (told, f"{self._proc}/{pid}/root{told}") if file.has_name else ()
        return next((path for path in paths if _is_file(path, (file.device, file.inode))), file.path)

    def _is_placed(self, directory: str) -> bool:
        """Whether journals are looked for there; the kernel still tells the directory of a removed file."""
        listed = (place.path for place in self._places.listed())
        return self._places.is_further(directory) or any(directory in (path, os.path.realpath(path)) for path in listed)


def _is_file(path: str, key: FileKey) -> bool:
    try:
        facts = os.lstat(path)
    except OSError:
        return False
    return (facts.st_dev, facts.st_ino) == key


def _journal_name(path: str) -> str:
    """The name that a journal was given, by its header; empty for a file that is no journal."""
    from ttmem.events import STRUCTS  # here, since there is hardly ever such a file
    from ttmem.sources.inspected.parts import PartReader

    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        head = os.pread(descriptor, STRUCTS["Identity"].size_bytes, 0)
    finally:
        os.close(descriptor)
    if not head.startswith(_MAGIC) or len(head) < STRUCTS["Identity"].size_bytes:
        return ""
    writer = PartReader("Identity", head)
    pid, start_ticks, nonce = map(writer.integer, ("pid", "start_ticks", "nonce"))
    return f"{pid}-{start_ticks}-{nonce & 0xFFFF_FFFF:08x}.journal"
