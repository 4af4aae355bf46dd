"""Who is behind a pid that the runtime wrote into its counters: a living process, or none any more.

A region names pids as their own processes know them. That is trusted as far as it can be checked: the process must not
have ended (a zombie has), must have started before the slot was last written (else the pid was given out again), and
must have the region mapped. One of another pid namespace is found by what it has mapped and by the pid it has there.
Whose mappings may not be seen is judged by the rest.
"""

import os
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from ttmem.sources import procfs
from ttmem.sources.stock_shm.region import ProcessSlot

__all__ = ["FileKey", "LivingOwners", "Owners", "SlotOwner"]

_STAMP_TOLERANCE_NS = 1_000_000_000  # a start is known to 10 ms, and clocks are set
_LEAST_PAUSE_SECONDS = 2.0
_PAUSE_PER_COST = 50  # looking through all processes takes at most this part of the time
_MAPPED_SECONDS = 5.0
_NAME_PART = b"tt_device_"
_REMEMBERED_MOST = 10_000
_KERNEL_THREADS = 2  # the parent of all of them

FileKey = tuple[int, int]  # device and inode


class SlotOwner(NamedTuple):
    """A living process that uses a region."""

    pid: int  # as seen from here
    uid: int
    command: str
    start_time_ns: int
    container: int | None  # its pid namespace, if that is not ours


class Owners(Protocol):
    """Who knows which processes live. `begin` starts a look at all regions, within which no process is asked twice."""

    def begin(self) -> None: ...
    def owner_of(self, file: FileKey, file_uid: int, slot: ProcessSlot) -> SlotOwner | None: ...
    def attached_to(self, file: FileKey) -> list[SlotOwner]: ...


class _Attached(NamedTuple):
    """A process that has regions mapped."""

    owner: SlotOwner
    start_ticks: int
    inner_pid: int
    files: frozenset[FileKey]


class LivingOwners:
    """Asks /proc. Regions that are copies, in a directory the runtime does not use, are mapped by no process: with
    `has_mappings` False a pid and its start have to do."""

    def __init__(self, proc: procfs.Folder = procfs.PROC, *, has_mappings: bool = True) -> None:
        self._proc = proc
        self._has_mappings = has_mappings
        self._own_namespace = procfs.own_pid_namespace(proc)
        self._seen_mapped: dict[tuple[int, int, FileKey], float] = {}  # until when that is believed
        self._known: dict[tuple[int, int], SlotOwner] = {}
        self._stats: dict[int, procfs.Stat | None] = {}  # of this look
        self._dead: dict[tuple[FileKey, int], int] = {}  # by slot: the stamp at which it was found dead
        self._census: list[_Attached] = []
        self._census_ns = 0
        self._census_due = float("-inf")

    def begin(self) -> None:
        """Forgets who lived at the last look."""
        self._stats.clear()
        for memory in (self._known, self._dead, self._seen_mapped):
            if len(memory) > _REMEMBERED_MOST:
                memory.clear()  # what is still so is found again

    def owner_of(self, file: FileKey, file_uid: int, slot: ProcessSlot) -> SlotOwner | None:
        """The process a slot belongs to; None if it is gone."""
        if self._dead.get((file, slot.pid)) == slot.last_update_ns:
            return None
        here = self._here(file_uid, slot)
        is_mapped = self._is_mapped(here, file) if here and self._has_mappings else None
        found = here if is_mapped else self._elsewhere(file, slot) if self._has_mappings else None
        if found is None and is_mapped is None and here:
            is_first = here.start_time_ns <= slot.last_update_ns + _STAMP_TOLERANCE_NS
            found = here if is_first else None  # else the pid was given out again
        if found is None:
            self._dead[file, slot.pid] = slot.last_update_ns
        return found

    def attached_to(self, file: FileKey) -> list[SlotOwner]:
        """Every process that has a region mapped, whether it is named there or not."""
        if time.monotonic() >= self._census_due:
            self._take_census()
        return [one.owner for one in self._census if file in one.files and self._lives(one)]

    def _here(self, file_uid: int, slot: ProcessSlot) -> SlotOwner | None:
        """The process of that pid in our own namespace, if it can be the one."""
        stat = self._stat(slot.pid)
        owner = self._owner(slot.pid, stat) if stat and not stat.is_over else None
        # The region is its maker's alone: no other user, but root, can be attached to it.
        if stat is None or owner is None or owner.uid not in (0, file_uid):
            return None
        is_kernels = _KERNEL_THREADS in (slot.pid, stat.parent) and not owner.command
        return None if is_kernels else owner

    def _elsewhere(self, file: FileKey, slot: ProcessSlot) -> SlotOwner | None:
        """A process of another pid namespace that goes by that pid there."""
        for is_second in (False, True):
            for one in self._census:
                if one.owner.container and one.inner_pid == slot.pid and file in one.files and self._lives(one):
                    return one.owner
            if is_second or self._census_ns > slot.last_update_ns + _STAMP_TOLERANCE_NS:
                return None
            self._take_census()
        return None

    def _is_mapped(self, owner: SlotOwner, file: FileKey) -> bool | None:
        """None if it may not be seen."""
        key = (owner.pid, owner.start_time_ns, file)
        now = time.monotonic()
        if now < self._seen_mapped.get(key, 0.0):
            return True
        maps = procfs.maps_of(owner.pid, self._proc)
        if maps is None:
            return None
        if file not in _mapped_files(maps):
            return False
        self._seen_mapped[key] = now + _MAPPED_SECONDS  # exec drops mappings, and keeps pid and start
        return True

    def _take_census(self) -> None:
        began, self._census_ns = time.monotonic(), time.time_ns()
        self._census = list(self._attached())
        now = time.monotonic()
        self._census_due = now + max(_LEAST_PAUSE_SECONDS, (now - began) * _PAUSE_PER_COST)

    def _attached(self) -> Iterator[_Attached]:
        for name in filter(str.isdecimal, os.listdir(self._proc)):
            pid = int(name)
            maps = procfs.maps_of(pid, self._proc)
            if not maps or _NAME_PART not in maps:
                continue
            stat = procfs.stat_of(pid, self._proc)
            owner = self._owner(pid, stat) if stat and not stat.is_over else None
            if stat and owner:
                inner_pid = procfs.innermost_pid(pid, self._proc)
                yield _Attached(owner, stat.start_ticks, inner_pid, frozenset(_mapped_files(maps)))

    def _lives(self, one: _Attached) -> bool:
        stat = self._stat(one.owner.pid)
        return stat is not None and not stat.is_over and stat.start_ticks == one.start_ticks

    def _stat(self, pid: int) -> procfs.Stat | None:
        if pid not in self._stats:
            self._stats[pid] = procfs.stat_of(pid, self._proc)
        return self._stats[pid]

    def _owner(self, pid: int, stat: procfs.Stat) -> SlotOwner | None:
        key = (pid, stat.start_ticks)
        if key not in self._known:
            try:
                uid = os.stat(f"{self._proc}/{pid}").st_uid
            except OSError:
                return None
            namespace = procfs.pid_namespace_of(pid, self._proc)
            is_ours = namespace is None or self._own_namespace in (None, namespace)
            command = procfs.command_of(pid, self._proc)
            owner = SlotOwner(pid, uid, command, procfs.start_time_ns(stat), None if is_ours else namespace)
            self._known[key] = owner
        return self._known[key]


def _mapped_files(maps: bytes) -> Iterable[FileKey]:
    """Device and inode of every region that a process has mapped."""
    found = set()
    for line in maps.splitlines():
        if _NAME_PART in line:
            # 7f12a000-7f12d000 rw-s 00000000 00:19 4711   /dev/shm/tt_device_5_memory
            _, _, _, device, inode, *_ = line.split(None, 5)
            major, minor = (int(part, 16) for part in device.split(b":"))
            found.add((os.makedev(major, minor), int(inode)))
    return found
