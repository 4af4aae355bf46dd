"""Reads the regions of a directory: opened for reading only, never made, written or touched.

The runtime writes through a mapping, which moves no time stamp, so every look reads every file: 8.5 KB a chip. What is
no sound region is one finding; what may not be read is another user's and listed as foreign. Of files beyond what any
machine has chips 256 of a user are read, and the next look is 24 times as long away as the last one took.
"""

import errno
import os
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.errors import RegionDamaged
from ttmem.snapshot import Finding, Foreign
from ttmem.snapshot.counters import NO_READINGS, ReadChip, Readings, ReadProcess
from ttmem.sources.directories import RUNTIME_DIRECTORY, region_names, region_number
from ttmem.sources.stock_shm.layouts import LARGEST_BYTES
from ttmem.sources.stock_shm.owners import FileKey, LivingOwners, Owners, SlotOwner
from ttmem.sources.stock_shm.region import CounterRegion, CounterSums, ProcessSlot, decode_region

__all__ = ["StockCounters", "read_region_file"]

_POOLS = (Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.TRACE, Pool.CB)
_UNIQUE_IDS = 1 << 64
_READ_MOST = 256  # files of one user
_PAUSE_PER_COST = 24  # about 4 % of a core


class RegionFile(NamedTuple):
    """The bytes of a region, and whose file it is."""

    data: bytes
    key: FileKey
    uid: int


def read_region_file(path: str) -> RegionFile:
    """All bytes at one look. What is no file of its own, or changes its size meanwhile, is RegionDamaged."""
    file = _opened(path)
    try:
        before = os.fstat(file)
        if not stat.S_ISREG(before.st_mode):
            raise RegionDamaged("is a link, a pipe or a directory, not a region of the runtime's counters; ignored")
        data = os.pread(file, LARGEST_BYTES + 1, 0)
        after = os.fstat(file)
    finally:
        os.close(file)
    if before.st_size != after.st_size or len(data) != min(after.st_size, LARGEST_BYTES + 1):
        raise RegionDamaged(
            f"changed its size while it was read: {before.st_size:,} bytes before, {len(data):,} read, "
            f"{after.st_size:,} after; a region keeps its size: look again"
        )
    return RegionFile(data, (after.st_dev, after.st_ino), after.st_uid)


def _opened(path: str) -> int:
    """Open for reading, if possible without moving the time of its last access."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        try:
            return os.open(path, flags | os.O_NOATIME)
        except PermissionError:  # only owners may ask for that
            return os.open(path, flags)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise RegionDamaged(
                "is a link, a pipe or a directory, not a region of the runtime's counters; ignored"
            ) from None
        raise


class StockCounters:
    """The regions of some directories. Any number of readers may look; the runtime does not notice."""

    def __init__(
        self,
        directories: Callable[[], Iterable[str]],
        *,
        owners: Owners | None = None,
        user_of: Callable[[int], str] = str,
        clock_ns: Callable[[], int] = time.time_ns,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._last: tuple[float, Readings] = (float("-inf"), NO_READINGS)  # until when the last look has to do
        self._directories = directories
        self._owners = owners
        self._own: dict[str, LivingOwners] = {}
        self._user_of = user_of
        self._clock_ns = clock_ns

    def read(self) -> Readings:
        """What all regions say now; said again for a while if there are too many files to look at once more."""
        until, readings = self._last
        if self._clock() < until:
            return readings
        began = self._cpu_clock()
        readings, is_crowd = self._look()
        rest = (self._cpu_clock() - began) * _PAUSE_PER_COST if is_crowd else 0.0
        self._last = (self._clock() + rest, readings)
        return readings

    def _look(self) -> tuple[Readings, bool]:
        """What all regions say, and whether there are more files than chips."""
        is_crowd = False
        chips: list[ReadChip] = []
        foreign: list[Foreign] = []
        findings: list[Finding] = []
        rest: list[Finding] = []
        places = []
        for directory in self._directories():
            names = region_names(directory)
            if not names:
                continue
            places.append(directory)
            owners = self._owners_in(directory)
            owners.begin()
            is_crowd = is_crowd or len(names) > _READ_MOST
            for name in _some_of(names, directory, rest) if len(names) > _READ_MOST else names:
                match self._read_one(os.path.join(directory, name), name, owners):
                    case ReadChip() as chip:
                        chips.append(chip)
                    case Foreign() as row:
                        foreign.append(row)
                    case Finding() as finding:
                        findings.append(finding)
        if not places:
            return NO_READINGS, False
        found = tuple(places), tuple(chips), tuple(foreign), (*findings, *rest)
        return Readings(self._clock_ns(), *found), is_crowd

    def _owners_in(self, directory: str) -> Owners:
        if self._owners is not None:
            return self._owners
        if directory not in self._own:
            self._own[directory] = LivingOwners(has_mappings=directory.endswith(RUNTIME_DIRECTORY))
        return self._own[directory]

    def _read_one(self, path: str, name: str, owners: Owners) -> ReadChip | Foreign | Finding | None:
        try:
            file = read_region_file(path)
            region = decode_region(file.data)
            if not region.is_ready:
                raise RegionDamaged(f"is not filled in yet (state {region.init_word}); look again")
            return _chip(path, name, region, _Judged(file, region, owners))
        except RegionDamaged as damaged:
            return Finding("region_ignored", 1, path=path, text=str(damaged))
        except PermissionError:
            return self._foreign(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            return Finding("region_ignored", 1, path=path, text=f"cannot be read: {error.strerror}")

    def _foreign(self, path: str) -> Foreign | None:
        try:
            uid = os.lstat(path).st_uid
        except OSError:
            return None
        return Foreign(path, uid, self._user_of(uid), "counters")


def _some_of(names: Iterable[str], directory: str, rest: list[Finding]) -> list[str]:
    """At most `_READ_MOST` files of every user, and a finding for the rest."""
    counts: Counter[int] = Counter()
    chosen = []
    for name in names:
        try:
            uid = os.lstat(os.path.join(directory, name)).st_uid
        except OSError:  # gone
            continue
        counts[uid] += 1
        if counts[uid] <= _READ_MOST:
            chosen.append(name)
    for uid, count in counts.items():
        if count > _READ_MOST:
            more = count - _READ_MOST
            text = f"and {more:,} more files of uid {uid} with names of the runtime's counters; ignored"
            rest.append(Finding("region_ignored", more, path=directory, text=text))
    return chosen


class _Judged:
    """The slots of a region: whose processes live, and what the others left behind."""

    def __init__(self, file: RegionFile, region: CounterRegion, owners: Owners) -> None:
        self.stale = CounterSums()
        living: dict[int, tuple[SlotOwner, CounterSums, int | None]] = {}
        for slot in region.processes:
            owner = owners.owner_of(file.key, file.uid, slot)
            if owner is None:
                self.stale = self.stale.plus(slot.sums)
            else:
                _add(living, owner, slot)
        if region.unnamed_count:
            for owner in owners.attached_to(file.key):
                living.setdefault(owner.pid, (owner, CounterSums(), None))
        self.living = tuple(living.values())


def _add(living: dict[int, tuple[SlotOwner, CounterSums, int | None]], owner: SlotOwner, slot: ProcessSlot) -> None:
    """A process with two slots (its first was lost) is still one."""
    _, sums, stamp = living.get(owner.pid, (owner, CounterSums(), None))
    living[owner.pid] = (owner, sums.plus(slot.sums), max(stamp or 0, slot.last_update_ns))


def _chip(path: str, name: str, region: CounterRegion, judged: _Judged) -> ReadChip:
    number = region_number(name)
    held = CounterSums()
    for _, sums, _ in judged.living:
        held = held.plus(sums)
    return ReadChip(
        unique_id=number if region.layout.is_named_by_unique_id and (number or 0) < _UNIQUE_IDS else None,
        name=name.removesuffix("_memory"),
        device_index=region.device_id,
        path=path,
        used=_by_pool(region.totals.less(judged.stale).least(held)),
        stale=_by_pool(judged.stale),
        processes=tuple(
            ReadProcess(
                pid=owner.pid,
                uid=owner.uid,
                command=owner.command,
                container=owner.container,
                start_time_ns=owner.start_time_ns,
                last_update_ns=stamp,
                used=_by_pool(sums),
            )
            for owner, sums, stamp in judged.living
        ),
    )


def _by_pool(sums: CounterSums) -> dict[Pool, int]:
    return dict(zip(_POOLS, sums, strict=True))
