"""Finds journals: which files are there, which are new, which belong to others.

A scan is cheap enough for twenty a second: a directory whose time stamp did not move is not read again. Links are never
followed, and a file is known by device and inode, whichever way led to it.

Nobody can hide journals among files that are none, or make a viewer busy with them. Every file whose lock is held is
handed out; of the others at most 1,024 of one user in a scan. Of what was passed over 100 files of a user are named,
and the rest are one count. `journal_directory` bounds what the directories of a user may cost, `places` how many there
are.
"""

import os
import stat
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

from ttmem.snapshot import Finding, Foreign
from ttmem.sources import procfs
from ttmem.sources.journal_directory import FileKey, JournalDirectory, Payer, Rests, examined, payer_of
from ttmem.sources.places import Place, Places, Unlisted

__all__ = ["FoundJournal", "Journals"]

UNLOCKED_MOST = 1024  # files of one user that are handed out in a scan though nobody holds their lock
_EXAMINED_MOST = 32_768  # files of a directory in one scan, besides those whose lock is held
NAMED_MOST = 100  # findings of one user
_STRANGE = "is a link, a pipe or a directory, not a journal; ignored"


class FoundJournal(NamedTuple):
    """A journal file, by path and by what it is."""

    path: str
    device: int
    inode: int


class _Passed(NamedTuple):
    """What was passed over in one directory."""

    foreign: tuple[Foreign, ...]
    strange: dict[int, list[str]]  # by owner: the first of them
    strange_count: Counter[int]
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
        self.findings: tuple[Finding, ...] = ()  # directories and files that were passed over: something is wrong
        self.looked_into: tuple[str, ...] = ()
        self.is_behind = False  # files are left whose lock may be held by somebody who cannot be seen from here

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
        if not is_same or self.looked_into != tuple(seen) or self._unlisted != self.places.unlisted:
            self._unlisted = self.places.unlisted
            self.looked_into = tuple(seen)
            self._tell(seen)
        self._handed_out = len(found)
        return found

    def spent(self, cpu_seconds: float) -> None:
        """What it cost to read what the last scan handed out: directories pay for the files that nobody holds."""
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
        moment is kept: the process by which a container was found may have ended."""
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
        if file.is_strange:
            directory.strange[name] = file.uid
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
        strange: dict[int, list[str]] = defaultdict(list)
        for name, uid in directory.strange.items():
            if len(strange[uid]) < NAMED_MOST:
                strange[uid].append(name)
        uids = [directory.refused_uid] if directory.refused_uid is not None else [*set(directory.foreign.values())]
        foreign = tuple(Foreign(path, uid, self._user_of(uid)) for uid in uids)
        return _Passed(foreign, strange, Counter(directory.strange.values()), len(directory.waiting))

    def _tell(self, seen: dict[str, FileKey]) -> None:
        """Puts together what was passed over in all directories."""
        passed = {path: self._passed[key] for path, key in seen.items()}
        self.foreign = tuple(row for one in passed.values() for row in one.foreign)
        self.findings = (
            *self._ignored.values(),
            *_more_directories(self._unlisted),
            *_strange_files(passed),
            *(_not_examined(path, one.waiting_count) for path, one in passed.items() if one.waiting_count),
        )
        self.is_behind = any(one.waiting_count for one in passed.values()) and not procfs.sees_all_locks()


def _strange_files(passed: dict[str, _Passed]) -> Iterator[Finding]:
    """Files that are no journals: of every user the first, and how many more there are."""
    named: Counter[int] = Counter()
    counted: Counter[int] = Counter()
    where: dict[int, str] = {}
    for path, one in passed.items():
        counted += one.strange_count
        for uid, names in one.strange.items():
            where[uid] = path
            for name in names[: NAMED_MOST - named[uid]]:
                named[uid] += 1
                yield Finding("file_ignored", 1, path=os.path.join(path, name), text=_STRANGE)
    for uid, count in (counted - named).items():
        text = f"and {count:,} more links, pipes or directories of uid {uid}; ignored"
        yield Finding("file_ignored", count, path=where[uid], text=text)


def _more_directories(unlisted: Iterable[Unlisted]) -> Iterator[Finding]:
    for uid, path, count, is_usurped in unlisted:
        text = f"and {count:,} more directories of uid {uid}"
        text += (
            " under other users' names; ignored"
            if is_usurped
            else " are not looked into; journals there are shown if their lock is held"
        )
        yield Finding("directory_ignored", count, path=path, text=text)


def _not_examined(path: str, count: int) -> Finding:
    text = (
        f"{count:,} files of this directory were not opened in this look: nobody holds their lock, and at most "
        f"{UNLOCKED_MOST:,} such files of a user are opened at once"
    )
    return Finding("file_ignored", count, path=path, text=text)
