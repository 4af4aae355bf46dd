"""Finds journals: which files are there, which are new, which belong to others.

A scan is cheap enough for twenty a second: a directory whose time stamp did not move is not read again. Links are never
followed, and a file is known by device and inode, whichever way led to it.

No user can hide journals among files that are none, or make a viewer busy with them. Every file whose lock is held is
handed out; of the others at most 1,024 of one user in a scan. Of what was skipped 100 files of a user are named,
and the rest are one count. `directories` bounds what the directories of a user may cost, and how
many there are.

The file of a journal may have been removed while its process lives, or lie in one of more directories than are listed
of a user. Its process holds it open and holds its lock. The kernel lists all locks in one small file,
/proc/locks: of every process that holds one on a whole file which is no journal we know, the descriptors are looked
through. That costs one read where every journal is known. Names in /proc/PID/maps would prove nothing: a journal is
made without a name, and shows as deleted there all its life.
"""

import os
import stat
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from ttmem.snapshot import Finding, Foreign, replace
from ttmem.snapshot.values import clean
from ttmem.sources import procfs
from ttmem.sources.directories import (
    FileKey,
    JournalDirectory,
    Payer,
    Place,
    Places,
    Rests,
    UnlistedCount,
    examined,
    payer_of,
)
from ttmem.sources.procfs import PROC

__all__ = ["JOURNAL_MAGIC", "FoundJournal", "Journals", "UnlistedJournals"]

JOURNAL_MAGIC = b"TMEMJNL"  # how a journal begins; a digit follows

UNLOCKED_MOST = 1024  # files of one user that are handed out in a scan though no process holds their lock
_EXAMINED_MOST = 32_768  # files of a directory in one scan, besides those whose lock is held
NAMED_MOST = 100  # findings of one user
_IRREGULAR = "is a link, a pipe or a directory, not a journal; ignored"


class FoundJournal(NamedTuple):
    """A journal file, by path and by what it is."""

    path: str
    device: int
    inode: int


class _Passed(NamedTuple):
    """What was skipped in one directory."""

    foreign: tuple[Foreign, ...]
    irregular: dict[int, list[str]]  # by owner: the first of them
    irregular_count: Counter[int]
    waiting_count: int


_NOTHING = _Passed((), {}, Counter(), 0)


class Journals:
    """All journals in a set of places; each is handed out once, when it is first seen."""

    def __init__(
        self,
        places: Places,
        *,
        user_of: Callable[[int], str] = str,
        clock_ns: Callable[[], int] = time.time_ns,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self.places = places
        self._user_of = user_of
        self._clock_ns = clock_ns
        self._cpu_clock = cpu_clock
        self._rests = Rests(clock)
        self._directories: dict[FileKey, JournalDirectory] = {}
        self._paths: dict[FileKey, str] = {}  # of those directories
        self._passed: dict[FileKey, _Passed] = {}
        self._name_count: Counter[FileKey] = Counter()  # of every file that was handed out
        self._ignored: dict[str, Finding] = {}
        self._put_back: list[FoundJournal] = []
        self._locked: frozenset[int] | None = None  # inodes, as long as a scan lasts
        self._opened: Counter[int] = Counter()  # by owner: what this scan has handed out without a lock
        self._unlocked: Counter[Payer] = Counter()  # ... and of crowded directories, by who pays for it
        self._handed_out = 0
        self._unlisted = places.unlisted
        self.foreign: tuple[Foreign, ...] = ()
        self.findings: tuple[Finding, ...] = ()  # directories and files that were skipped: something is wrong
        self.searched: tuple[str, ...] = ()
        self._seen: tuple[str, ...] = ()
        self.is_behind = False  # files are left whose lock may be held by a process that cannot be seen from here

    @property
    def files(self) -> Collection[FileKey]:
        """Every file that has a name in these places and was handed out."""
        return self._name_count.keys()

    def scan(self, *, is_hurried: bool = False) -> list[FoundJournal]:
        """The journals that no earlier scan has handed out; hurried: without rest after one that cost much."""
        found, self._put_back = self._put_back, []
        self._locked = None
        self._opened.clear()
        self._unlocked.clear()
        seen: dict[str, FileKey] = {}
        is_same = True
        listed = self.places.listed()
        for place in listed:
            key, is_unchanged = self._look(place, found, is_hurried=is_hurried)
            is_same = is_same and is_unchanged
            if key is not None:
                seen[place.path] = key
        self._rests.settle()
        is_same = not self._forget_directories(listed, seen) and is_same
        if not is_same or self._seen != tuple(seen) or self._unlisted != self.places.unlisted:
            self._unlisted = self.places.unlisted
            self._seen = tuple(seen)
            self._summarize(seen)
        self._handed_out = len(found)
        return found

    def spent(self, cpu_seconds: float) -> None:
        """What it cost to read what the last scan handed out: directories pay for the files without a holder."""
        for payer, count in self._unlocked.items():
            self._rests.spend(payer, cpu_seconds * count / max(1, self._handed_out))
        self._rests.settle()

    def offer_again(self, journal: FoundJournal) -> None:
        """For the next scan: there was no descriptor to open it with."""
        self._put_back.append(journal)

    def _look(self, place: Place, found: list[FoundJournal], *, is_hurried: bool) -> tuple[FileKey | None, bool]:
        """Which directory that is, if it can be used, and whether all is as it was."""
        try:
            facts = os.lstat(place.path)
        except OSError:  # not there (yet, or any more)
            return None, self._ignored.pop(place.path, None) is None
        was_ignored = place.path in self._ignored
        if not self._is_sound(place, facts):
            return None, was_ignored
        key = (facts.st_dev, facts.st_ino)
        directory = self._directories.setdefault(key, JournalDirectory())
        self._paths[key] = place.path
        has_changed, payer = directory.has_changed(facts), payer_of(facts)
        if not (has_changed or directory.waiting) or (self._rests.has(payer) and not is_hurried):
            self._passed.setdefault(key, _NOTHING)
            return key, not was_ignored
        began = self._cpu_clock()
        if has_changed:
            for file in directory.list_names(place.path, facts, self._clock_ns()):
                self._forget(file)
        self._unlocked[payer] += self._examine(directory, place.path, found)
        self._passed[key] = self._passed_over(directory, place.path)
        self._rests.spend(payer, self._cpu_clock() - began)
        return key, False

    def _forget_directories(self, listed: list[Place], seen: dict[str, FileKey]) -> bool:
        """Whatever is not listed any more, or was replaced; whether there was any. One that cannot be reached for a
        moment stays known: the process by which a container was found may have ended."""
        paths, keys = {place.path for place in listed}, set(seen.values())
        ignored = [path for path in self._ignored if path not in paths]
        for path in ignored:
            del self._ignored[path]
        unseen = [key for key in self._directories if key not in keys]
        gone = [key for key in unseen if self._paths[key] not in paths or self._paths[key] in seen]
        for key in gone:
            for file in self._directories.pop(key).files.values():
                self._forget(file)
            del self._paths[key]
            self._passed.pop(key, None)
        return bool(ignored or gone)

    def _examine(self, directory: JournalDirectory, path: str, found: list[FoundJournal]) -> int:
        """Hands out what is new: all files whose lock is held, and some of the others. Of a crowd, how many others."""
        names = [*directory.waiting]
        is_crowd = len(names) > UNLOCKED_MOST
        locked = [name for name in names if directory.waiting[name] in self._locks()] if is_crowd else []
        for name in locked:
            self._take(directory, path, name, found, is_locked=True)
        unlocked_before = sum(self._opened.values())
        for name in names[:_EXAMINED_MOST]:
            if name in directory.waiting:
                self._take(directory, path, name, found, is_locked=False)
        return sum(self._opened.values()) - unlocked_before if is_crowd else 0

    def _take(
        self, directory: JournalDirectory, path: str, name: str, found: list[FoundJournal], *, is_locked: bool
    ) -> None:
        inode = directory.waiting[name]
        owner = directory.owners.get(name)
        if not is_locked and owner is not None and self._opened[owner] >= UNLOCKED_MOST:
            return
        del directory.waiting[name]
        directory.owners.pop(name, None)
        file = examined(os.path.join(path, name))
        if file is None:
            directory.forget(name)
            return
        if file.is_irregular:
            directory.irregular[name] = file.uid
        elif file.file is None:
            directory.foreign[name] = file.uid
        elif file.file in self._name_count or is_locked or self._may_open(file.uid, inode):
            directory.files[name] = file.file
            if file.file not in self._name_count:
                found.append(FoundJournal(os.path.join(path, name), *file.file))
            self._name_count[file.file] += 1
        else:
            directory.waiting[name] = inode  # at the end: others come first in the next scan
            directory.owners[name] = file.uid

    def _may_open(self, uid: int, inode: int) -> bool:
        """Whether this scan may hand out one more file of a user."""
        if self._opened[uid] >= UNLOCKED_MOST:
            return inode in self._locks()
        self._opened[uid] += 1
        return True

    def _locks(self) -> frozenset[int]:
        if self._locked is None:
            self._locked = procfs.locked_inodes()
        return self._locked

    def _forget(self, file: FileKey) -> None:
        """Drops a name that went away, so that a new file with an old file's inode counts as new."""
        self._name_count[file] -= 1
        if self._name_count[file] <= 0:
            del self._name_count[file]

    def _is_sound(self, place: Place, facts: os.stat_result) -> bool:
        trouble = ""
        if not stat.S_ISDIR(facts.st_mode):
            trouble = "is no directory of its own"
        elif place.owner_uid is not None and facts.st_uid not in (place.owner_uid, 0):
            trouble = f"belongs to uid {facts.st_uid}, not to uid {place.owner_uid} of its name"
        if trouble:
            text = f"{trouble}; ignored"
            if place.owner_uid is not None:
                text += f", programs of uid {place.owner_uid} report in the next of their places instead"
            finding = Finding("directory_ignored", 1, path=place.path, text=text)
            self._ignored.setdefault(place.path, finding)
        else:
            self._ignored.pop(place.path, None)
        return not trouble

    def _passed_over(self, directory: JournalDirectory, path: str) -> _Passed:
        irregular: dict[int, list[str]] = defaultdict(list)
        for name, uid in directory.irregular.items():
            if len(irregular[uid]) < NAMED_MOST:
                irregular[uid].append(name)
        uids = [directory.refused_uid] if directory.refused_uid is not None else [*set(directory.foreign.values())]
        foreign = tuple(Foreign(path, uid, self._user_of(uid)) for uid in uids)
        return _Passed(foreign, irregular, Counter(directory.irregular.values()), len(directory.waiting))

    def _summarize(self, seen: dict[str, FileKey]) -> None:
        """Puts together what was searched and skipped; names that are no UTF-8 are cleaned here, once."""
        passed = {path: self._passed[key] for path, key in seen.items()}
        self.searched = tuple(map(clean, seen))
        self.foreign = tuple(replace(row, path=clean(row.path)) for one in passed.values() for row in one.foreign)
        findings = (
            *self._ignored.values(),
            *_more_directories(self._unlisted),
            *_irregular_files(passed),
            *(_not_examined(path, one.waiting_count) for path, one in passed.items() if one.waiting_count),
        )
        self.findings = tuple(replace(one, path=clean(one.path), text=clean(one.text)) for one in findings)
        self.is_behind = any(one.waiting_count for one in passed.values()) and not procfs.sees_all_locks()


def _irregular_files(passed: dict[str, _Passed]) -> Iterator[Finding]:
    """Files that are no journals: of every user the first, and how many more there are."""
    named: Counter[int] = Counter()
    counted: Counter[int] = Counter()
    where: dict[int, str] = {}
    for path, one in passed.items():
        counted += one.irregular_count
        for uid, names in one.irregular.items():
            where[uid] = path
            for name in names[: NAMED_MOST - named[uid]]:
                named[uid] += 1
                yield Finding("file_ignored", 1, path=os.path.join(path, name), text=_IRREGULAR)
    for uid, count in (counted - named).items():
        text = f"and {count:,} more links, pipes or directories of uid {uid}; ignored"
        yield Finding("file_ignored", count, path=where[uid], text=text)


def _more_directories(unlisted: Iterable[UnlistedCount]) -> Iterator[Finding]:
    for uid, path, count, is_usurped in unlisted:
        text = f"and {count:,} more directories of uid {uid}"
        text += (
            " under other users' names; ignored"
            if is_usurped
            else " are not searched; journals there are shown if their lock is held"
        )
        yield Finding("directory_ignored", count, path=path, text=text)


def _not_examined(path: str, count: int) -> Finding:
    text = (
        f"{count:,} files of this directory were not opened this time: no process holds their lock, and at most "
        f"{UNLOCKED_MOST:,} such files of a user are opened at once"
    )
    return Finding("file_ignored", count, path=path, text=text)


_EVERY_SECONDS = 1.0
_PAUSE_PER_COST = 200  # with thousands of locks rarer: at most this part of the time
_AGAIN_SECONDS = 10.0  # a file that had a name is looked at again after that time
_REMEMBERED_MOST = 65_536


class _OpenFile(NamedTuple):
    """A regular file that a process has open, by its descriptor."""

    path: str
    device: int
    inode: int
    has_name: bool


class _Lock(NamedTuple):
    """A lock on a whole file, as /proc/locks lists it."""

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
        name only if a journal could lie where no scan looks."""
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
                directory = os.path.dirname(os.readlink(file.path))  # a journal's own name is not given
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

    def _path_of(self, file: _OpenFile, given: str, pid: int) -> str:
        """How a journal is opened: by its name, which may be one below the root of another mount namespace; by the
        descriptor of its process if it has none."""
        paths = (given, f"{self._proc}/{pid}/root{given}") if file.has_name else ()
        return next((path for path in paths if _is_file(path, (file.device, file.inode))), file.path)

    def _is_placed(self, directory: str) -> bool:
        """Whether journals are looked for there; the kernel still gives the directory of a removed file."""
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
    from ttmem.events.parts import PartReader

    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        head = os.pread(descriptor, STRUCTS["Identity"].size_bytes, 0)
    finally:
        os.close(descriptor)
    if not head.startswith(JOURNAL_MAGIC) or len(head) < STRUCTS["Identity"].size_bytes:
        return ""
    writer = PartReader("Identity", head)
    pid, start_ticks, nonce = map(writer.integer, ("pid", "start_ticks", "nonce"))
    return f"{pid}-{start_ticks}-{nonce & 0xFFFF_FFFF:08x}.journal"
