"""The directories that may hold journals, and what is known about the files of each.

`$TTMEM_DIR` if it is set, and only that. Else those in which a program tries to make its journal, one after the other
(`native/src/journal/directories.hpp`): `/dev/shm/ttmem-<uid>`, `$XDG_RUNTIME_DIR/ttmem`, `/run/user/<uid>/ttmem` and
`/dev/shm/ttmem-<uid>.<random>`. Any user may make the first of them in another's name, but not the last, so one
that does not belong to its user is skipped silently. A program makes one such directory if it has to; of a
user that has made more, 16 are listed and the others counted (`UnlistedJournals` finds journals there by their locks).

Every user also learns that other users' directories are there. Root looks into all of them, into `/run/user/*/ttmem`,
and into the /dev/shm of every other mount namespace (containers), through procfs.

The stock runtime's own counters lie in `/dev/shm` (`$TTMEM_STOCK_SHM_DIR` names another directory, and then only that);
root looks into that of containers as well.

A directory may hold a hundred thousand files that are no journals. Its names are listed without a question about each,
and what is new is examined in portions. A user whose directories took long to look into is left alone for 24 times as
long, so that no user can make a viewer spend more than about 4 % of a core.
"""

import os
import stat
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ttmem.sources.namespaces import MountNamespaces, UidMap
from ttmem.sources.procfs import PROC

__all__ = [
    "RUNTIME_DIRECTORY",
    "Examined",
    "FileKey",
    "JournalDirectory",
    "Payer",
    "Place",
    "Places",
    "Rests",
    "Roots",
    "UnlistedCount",
    "examined",
    "payer_of",
    "region_names",
    "region_number",
]

_USERS_NAME = "ttmem-"  # and the uid
_OTHERS_EVERY_SECONDS = 0.5
_PAUSE_PER_COST = 24  # a shared directory full of files costs at most about 4 % of a core
_USURPED_MOST = 100  # directories with others' names that one user has made
_FURTHER_MOST = 16  # directories with its own name and something behind it


class Place(NamedTuple):
    """A directory to look into; `owner_uid` is who must own it (besides root), None for any user."""

    path: str
    owner_uid: int | None


class UnlistedCount(NamedTuple):
    """How many directories of a user are not listed, and where."""

    uid: int
    path: str
    directory_count: int
    is_usurped: bool  # they have other users' names


class Roots(NamedTuple):
    """Where a system keeps shared memory, users' runtime directories and processes."""

    shm: str = "/dev/shm"
    run: str = "/run/user"
    proc: str = PROC


SYSTEM = Roots()
_Unlisted = dict[int, tuple[str, int]]  # by owner: where, and how many directories are not listed


class Places:
    """Lists the directories worth a look, for one user; new users and containers are noticed on the way.

    Any thread may ask. What is found is replaced as a whole, by one thread at a time: the one that has _looking.
    """

    def __init__(
        self,
        *,
        uid: int,
        directory: str | None = None,
        runtime_directory: str | None = None,
        stock_directory: str | None = None,
        roots: Roots = SYSTEM,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.uid = uid
        self._directory = directory
        self._stock_directory = stock_directory
        self._roots = roots
        self._namespaces: MountNamespaces | None = None  # made when root first looks into containers
        self._clock = clock
        self._others: list[Place] = []
        self._container_shm: list[str] = []
        self._looking = threading.Lock()
        self.unlisted: tuple[UnlistedCount, ...] = ()
        self._others_due = float("-inf")
        self._own = [Place(os.path.join(roots.shm, f"{_USERS_NAME}{uid}"), uid)]
        for runtime in filter(None, (runtime_directory, os.path.join(roots.run, str(uid)))):
            place = Place(os.path.join(runtime, "ttmem"), uid)
            if place not in self._own:
                self._own.append(place)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str], *, uid: int, roots: Roots = SYSTEM) -> "Places":
        """The places a program with this environment would report to, and a viewer should read."""
        runtime = environ.get("XDG_RUNTIME_DIR", "")
        return cls(
            uid=uid,
            directory=environ.get("TTMEM_DIR") or None,
            runtime_directory=runtime if runtime.startswith("/") else None,
            stock_directory=environ.get("TTMEM_STOCK_SHM_DIR") or roots.shm,
            roots=roots,
        )

    @property
    def main(self) -> str:
        """The first place where this user's own journals are looked for."""
        return self._directory or self._own[0].path

    def is_main_ours(self) -> bool:
        """Whether journals may be read from there: from a directory of our name that another user made, none are."""
        if self._directory:
            return True
        try:
            return os.lstat(self.main).st_uid in (self.uid, 0)
        except OSError:
            return False

    @property
    def own(self) -> list[str]:
        """The places of this user's own journals that are there or can be made, in the order programs try them."""
        if self._directory:
            return [self._directory]
        return [place.path for place in self._own if os.path.isdir(os.path.dirname(place.path))] or [self.main]

    def stock_listed(self) -> list[str]:
        """The directories in which the stock runtime keeps its counters; none if no place was given."""
        if self._stock_directory is None:
            return []
        if self.uid != 0 or self._stock_directory != self._roots.shm:
            return [self._stock_directory]
        self._look_around()
        return [self._stock_directory, *self._container_shm]

    def listed(self) -> list[Place]:
        """Every directory to look into now; one that is not there is no error."""
        if self._directory is not None:
            return [Place(self._directory, None)]
        self._look_around()
        return [*self._own, *self._others]

    def _look_around(self) -> None:
        """A walk through /proc is too dear for every scan."""
        if self._clock() < self._others_due:
            return
        with self._looking:
            now = self._clock()
            if now < self._others_due:  # another thread did it meanwhile
                return
            began = time.thread_time()
            own = {place.path for place in self._own}
            containers = self._containers() if self.uid == 0 else []
            self._container_shm = _others_than(self._roots.shm, [self._shm_of(pid) for pid in containers])
            if self._directory is None:
                found = _FoundDirectories()
                self._others = [place for place in self._find_others(containers, found) if place.path not in own]
                self.unlisted = tuple(found.unlisted())
            cost = time.thread_time() - began
            self._others_due = now + max(_OTHERS_EVERY_SECONDS, cost * _PAUSE_PER_COST)

    def _containers(self) -> list[int]:
        """A process of each."""
        self._namespaces = self._namespaces or MountNamespaces(self._roots.proc)
        return self._namespaces.others()

    def _shm_of(self, pid: int) -> str:
        """The /dev/shm of a process in another mount namespace."""
        return f"{self._roots.proc}/{pid}/root/dev/shm"

    def is_further(self, directory: str) -> bool:
        """Whether that is one of the directories of which a user may have made many."""
        above, name = os.path.split(directory)
        uid, _, rest = name.removeprefix(_USERS_NAME).partition(".")
        is_named = name.startswith(_USERS_NAME) and uid.isdecimal() and rest != ""
        return self._directory is None and is_named and above == self._roots.shm

    def _find_others(self, containers: list[int], found: "_FoundDirectories") -> Iterator[Place]:
        """Other people's directories, here and in the namespaces of these processes."""
        yield from found.directories(self._roots.shm)
        if self.uid != 0:
            return
        for name in _names(self._roots.run):
            if name.isdecimal():
                yield Place(os.path.join(self._roots.run, name, "ttmem"), int(name))
        for pid in containers:  # user ids of there read otherwise from here
            uids = UidMap.of(self._roots.proc, pid)
            yield from found.directories(self._shm_of(pid), uids.outside)


class _FoundDirectories:
    """Directories with users' names, at one look around. What one user has made is bounded, wherever it is."""

    def __init__(self) -> None:
        self._counts: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}  # usurped, or further of its own
        self._where: dict[tuple[bool, int], str] = {}

    def directories(self, shm: str, outside: Callable[[int], int] = lambda uid: uid) -> Iterator[Place]:
        """Those to be searched."""
        for name in _names(shm):
            uid, dot, _ = name.removeprefix(_USERS_NAME).partition(".")
            if not uid.isdecimal() or not name.startswith(_USERS_NAME):
                continue
            place = Place(os.path.join(shm, name), outside(int(uid)))
            owner = _owner_of(place.path)
            is_usurped = owner not in (place.owner_uid, 0, None)
            if is_usurped and dot:  # nothing is missing there
                continue
            if owner is None or not (is_usurped or dot) or self._has_room(owner, shm, is_usurped=is_usurped):
                yield place

    def _has_room(self, owner: int, shm: str, *, is_usurped: bool) -> bool:
        count = self._counts[is_usurped]
        count[owner] += 1
        if count[owner] <= _most(is_usurped=is_usurped):
            return True
        self._where.setdefault((is_usurped, owner), shm)
        return False

    def unlisted(self) -> Iterator[UnlistedCount]:
        """What was left out."""
        for (is_usurped, uid), shm in self._where.items():
            yield UnlistedCount(uid, shm, self._counts[is_usurped][uid] - _most(is_usurped=is_usurped), is_usurped)


def _most(*, is_usurped: bool) -> int:
    return _USURPED_MOST if is_usurped else _FURTHER_MOST


def _others_than(own: str, directories: list[str]) -> list[str]:
    """Directories of which each is another one: containers may share theirs, with us or among themselves."""
    found: dict[tuple[int, int], str] = {}
    for directory in (own, *directories):
        try:
            facts = os.stat(directory)
        except OSError:  # gone, or not readable
            continue
        found.setdefault((facts.st_dev, facts.st_ino), directory)
    return [path for path in found.values() if path != own]


def _owner_of(path: str) -> int | None:
    try:
        return os.lstat(path).st_uid
    except OSError:  # gone, or not to be looked at
        return None


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except OSError:  # gone meanwhile, or not ours to read
        return []


FileKey = tuple[int, int]  # device and inode
Payer = tuple[int, int]  # who has to wait for what directories cost: a user

_FREE_SECONDS = 0.002  # what a look may cost without a pause: 20 of them a second are 4 %

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
    is_irregular: bool


class JournalDirectory:
    """The files of one directory by name: to be examined, read, of others, irregular."""

    def __init__(self) -> None:
        self.waiting: dict[str, int] = {}  # not examined yet, or examined and not opened: the inode of each
        self.owners: dict[str, int] = {}  # of those that were examined and not opened
        self.files: dict[str, FileKey] = {}
        self.foreign: dict[str, int] = {}  # the owner of each
        self.irregular: dict[str, int] = {}
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
            for table in (self.waiting, self.owners, self.foreign, self.irregular):
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
        return Examined(facts.st_uid, None, is_irregular=True)
    is_readable = facts.st_uid == os.geteuid() or os.access(path, os.R_OK, effective_ids=True)
    return Examined(facts.st_uid, (facts.st_dev, facts.st_ino) if is_readable else None, is_irregular=False)


RUNTIME_DIRECTORY = "/dev/shm"
_BEFORE, _BEHIND = "tt_device_", "_memory"
_MOST_DIGITS = 20


def region_number(name: str) -> int | None:
    """The number in the name of a region; None if that is no region's."""
    digits = name.removeprefix(_BEFORE).removesuffix(_BEHIND)
    is_region = digits.isdecimal() and len(digits) <= _MOST_DIGITS and name == f"{_BEFORE}{digits}{_BEHIND}"
    return int(digits) if is_region else None


def region_names(directory: str) -> list[str]:
    """The regions in a directory, in order."""
    try:
        return sorted(name for name in os.listdir(directory) if region_number(name) is not None)
    except OSError:  # not there, or not ours to read
        return []
