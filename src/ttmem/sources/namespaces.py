"""Namespaces of containers: a way into the files of each, and how user ids of there read from here."""

import os
from typing import NamedTuple

from ttmem.sources.procfs import PROC, Folder, bytes_of

__all__ = ["MountNamespaces", "UidMap"]


class MountNamespaces:
    """A process of each mount namespace but our own: a way into containers' files.

    Processes move to another namespace when they are young, if at all, and hardly ever later: those that are not young
    are looked at in every twentieth look only. On a machine with thousands of processes that is most of the work. Nor
    are they listed in between: the kernel says which pid it gave away last, and new processes have those up to it.
    """

    _YOUNG_LOOKS = 4
    _WHOLE_LOOKS = 20
    _NEW_MOST = 256  # pids that are tried one by one

    def __init__(self, proc: Folder = PROC) -> None:
        self._proc = proc
        self._known: dict[int, str] = {}  # the namespace of each process
        self._young: dict[int, int] = {}  # processes, and for how many looks they stay young
        self._plain = {""}  # namespaces of no interest: our own, and that of those who have none
        self._others: dict[str, int] = {}  # the first process of each other namespace
        self._born = (0, 0)
        self._look_count = 0

    def others(self) -> list[int]:
        is_whole = self._look_count % self._WHOLE_LOOKS == 0
        self._look_count += 1
        own = _mount_namespace(self._proc, "self") or ""
        before, self._born = self._born, _born(self._proc) if own else (0, 0)  # else this procfs is not of our pids
        moved = self._plain != {"", own}
        self._plain = {"", own}
        if is_whole or not self._born[0] or self._has_lost_one():
            moved |= self._list()
        elif before != self._born:
            moved |= self._take_in(range(before[0] + 1, self._born[0] + 1))
        for pid in [*self._known] if is_whole else [*self._young]:
            moved |= self._look_at(pid)
        self._young = {pid: left - 1 for pid, left in self._young.items() if left > 1}
        if moved:
            self._update_others()
        return sorted(self._others.values())

    def _update_others(self) -> None:
        others = sorted(pid for pid, namespace in self._known.items() if namespace not in self._plain)
        self._others = {self._known[pid]: pid for pid in reversed(others)}

    # The rest says whether a process of another namespace came or went.

    def _list(self) -> bool:
        """Takes in processes that are new, and forgets those that are gone."""
        pids = set(map(int, filter(str.isdecimal, os.listdir(self._proc))))
        gone = [self._forget(pid) for pid in self._known.keys() - pids]
        self._know(pids - self._known.keys())
        return any(gone)

    def _take_in(self, pids: range) -> bool:
        """Pids that were given away since the last look, if the kernel says which, and if they are not too many."""
        if not 0 < len(pids) <= self._NEW_MOST:
            return self._list()
        self._know(set(pids) - self._known.keys())
        return False

    def _know(self, pids: set[int]) -> None:
        self._known.update(dict.fromkeys(pids, ""))
        self._young.update(dict.fromkeys(pids, self._YOUNG_LOOKS))

    def _forget(self, pid: int) -> bool:
        self._young.pop(pid, None)
        return self._known.pop(pid) not in self._plain

    def _look_at(self, pid: int) -> bool:
        namespace = _mount_namespace(self._proc, pid)
        if namespace is None:
            return self._forget(pid)
        before, self._known[pid] = self._known[pid], namespace
        return before != namespace and not {before, namespace} <= self._plain

    def _has_lost_one(self) -> bool:
        """Whether a process that stands for its namespace has ended, or moved on."""
        return any(_mount_namespace(self._proc, pid) != namespace for namespace, pid in self._others.items())


def _born(proc: Folder) -> tuple[int, int]:
    """The pid that was given away last, and how many processes there are: some are given a pid of their choice. Zeros
    if the kernel does not say."""
    try:
        return int(bytes_of(f"{proc}/sys/kernel/ns_last_pid")), os.stat(proc).st_nlink
    except (OSError, ValueError):
        return 0, 0


def _mount_namespace(proc: Folder, pid: int | str) -> str | None:
    """Empty for a kernel thread, or one that is not ours to see; None for one that is gone."""
    try:
        return os.readlink(f"{proc}/{pid}/ns/mnt")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:
        return ""


class UidMap(NamedTuple):
    """How user ids inside a user namespace read from outside: (first inside, first outside, count)."""

    ranges: tuple[tuple[int, int, int], ...]

    @classmethod
    def of(cls, proc: Folder, pid: int) -> "UidMap":
        try:
            lines = bytes_of(f"{proc}/{pid}/uid_map").splitlines()
        except OSError:
            lines = []
        parts = [line.split() for line in lines]
        return cls(tuple((int(first), int(outside), int(count)) for first, outside, count in parts))

    def outside(self, uid: int) -> int:
        for first, outside, count in self.ranges:
            if first <= uid < first + count:
                return outside + uid - first
        return uid
