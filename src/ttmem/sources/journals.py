"""Finds journals: which files are there, which are new, which belong to others.

A scan is cheap enough for twenty a second: a directory whose time stamp did not move is not read again. Links are never
followed, and a file is known by device and inode, whichever way led to it.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ttmem.snapshot import Finding, Foreign
from ttmem.sources.places import Place, Places

__all__ = ["FoundJournal", "Journals"]

# Time stamps of files move in steps of a few milliseconds: a directory changed this recently may change again
# without a new stamp.
_STAMP_SETTLES_NS = 100_000_000

FileKey = tuple[int, int]


class FoundJournal(NamedTuple):
    """A journal file, by path and by what it is."""

    path: str
    device: int
    inode: int


class _Directory(NamedTuple):
    """What the last look into a directory showed."""

    modified_ns: int
    seen_ns: int
    names: dict[str, FileKey]
    foreign: tuple[Foreign, ...]
    strange: tuple[Finding, ...]


class Journals:
    """All journals in a set of places; each is handed out once, when it is first seen."""

    def __init__(
        self,
        places: Places,
        *,
        user_of: Callable[[int], str] = str,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.places = places
        self._user_of = user_of
        self._clock_ns = clock_ns
        self._directories: dict[FileKey, _Directory] = {}
        self._names: dict[FileKey, set[str]] = {}
        self._ignored: dict[str, Finding] = {}
        self._strange: tuple[Finding, ...] = ()
        self._put_back: list[FoundJournal] = []
        self.foreign: tuple[Foreign, ...] = ()
        self.looked_into: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Directories and files that were passed over because something is wrong with them."""
        return (*self._ignored.values(), *self._strange)

    def scan(self) -> list[FoundJournal]:
        """The journals that no earlier scan has handed out."""
        found, self._put_back = self._put_back, []
        seen: dict[FileKey, _Directory] = {}
        looked_into: list[str] = []
        for place in self.places.listed():
            key = self._look(place, found)
            if key is None:
                continue
            looked_into.append(place.path)
            seen[key] = self._directories[key]
        self.foreign = tuple(row for directory in seen.values() for row in directory.foreign)
        self._strange = tuple(finding for directory in seen.values() for finding in directory.strange)
        self.looked_into = tuple(looked_into)
        return found

    def offer_again(self, journal: FoundJournal) -> None:
        """For the next scan: there was no descriptor to open it with."""
        self._put_back.append(journal)

    def _look(self, place: Place, found: list[FoundJournal]) -> FileKey | None:
        try:
            facts = os.lstat(place.path)
        except OSError:  # not there (yet)
            return None
        if not self._is_sound(place, facts):
            return None
        key = (facts.st_dev, facts.st_ino)
        known = self._directories.get(key)
        if known and known.modified_ns == facts.st_mtime_ns < known.seen_ns - _STAMP_SETTLES_NS:
            return key
        seen_ns = self._clock_ns()
        names, foreign, strange = self._read(place.path, facts)
        self._forget(known.names if known else {}, names)
        self._directories[key] = _Directory(facts.st_mtime_ns, seen_ns, names, foreign, strange)
        for name, file in names.items():
            if file not in self._names:
                found.append(FoundJournal(os.path.join(place.path, name), *file))
            self._names.setdefault(file, set()).add(name)
        return key

    def _is_sound(self, place: Place, facts: os.stat_result) -> bool:
        trouble = ""
        if not stat.S_ISDIR(facts.st_mode):
            trouble = "is no directory of its own"
        elif place.owner_uid is not None and facts.st_uid not in (place.owner_uid, 0):
            trouble = f"belongs to uid {facts.st_uid}, not to uid {place.owner_uid} of its name"
        if trouble:
            finding = Finding("directory_ignored", 1, path=place.path, text=f"{trouble}; ignored")
            self._ignored.setdefault(place.path, finding)
        else:
            self._ignored.pop(place.path, None)
        return not trouble

    def _read(
        self, path: str, facts: os.stat_result
    ) -> tuple[dict[str, FileKey], tuple[Foreign, ...], tuple[Finding, ...]]:
        try:
            entries = list(_journal_files(path))
        except PermissionError:
            return {}, (Foreign(path, facts.st_uid, self._user_of(facts.st_uid)),), ()
        except OSError:  # went away between the two looks
            return {}, (), ()
        names = {}
        foreign: dict[int, Foreign] = {}  # one row per user
        strange = []
        for name, file in entries:
            if not stat.S_ISREG(file.st_mode):
                text = "is a link, a pipe or a directory, not a journal; ignored"
                strange.append(Finding("file_ignored", 1, path=os.path.join(path, name), text=text))
            elif _is_readable(os.path.join(path, name), file):
                names[name] = (file.st_dev, file.st_ino)
            else:
                foreign[file.st_uid] = Foreign(path, file.st_uid, self._user_of(file.st_uid))
        return names, tuple(foreign.values()), tuple(strange)

    def _forget(self, before: dict[str, FileKey], now: dict[str, FileKey]) -> None:
        """Drops names that went away, so that a new file with an old file's inode counts as new."""
        for name in before.keys() - now.keys():
            file = before[name]
            names = self._names.get(file, set())
            names.discard(name)
            if not names:
                self._names.pop(file, None)


def _journal_files(path: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(path) as entries:
        for entry in entries:
            if not entry.name.endswith(".journal") or entry.name.startswith("."):
                continue
            try:
                facts = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            yield entry.name, facts


def _is_readable(path: str, facts: os.stat_result) -> bool:
    """Asked of others' files only: one's own journal must never be touched more than needed."""
    return facts.st_uid == os.geteuid() or os.access(path, os.R_OK, effective_ids=True)
