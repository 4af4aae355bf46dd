"""What is listed: processes that report or were read, directories of others that may not be read, and processes of
which only the driver knows that they have a chip open.

An entry is known by its `stamp`, which stays the same when rows move, and when a daemon comes or goes.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple
from zlib import crc32

from ttmem.devices import PLANNED_POOLS, Pool
from ttmem.monitor.parts.drawing import MonitorFrame
from ttmem.snapshot.history import ProcessRates
from ttmem.snapshot.host import Foreign
from ttmem.snapshot.usage import PoolUsage, ProcessUsage, Snapshot
from ttmem.snapshot.values import Device
from ttmem.view.table import Role

__all__ = ["HELD_POOLS", "ProcessEntry", "entries_of", "stamp_of"]

_KERNEL_POOLS = (Pool.KERNEL, Pool.ETH, Pool.DISPATCH)
HELD_POOLS = tuple(pool for pool in Pool if pool not in PLANNED_POOLS and pool is not Pool.HOST)
_SECOND_NS = 1_000_000_000
_NONE: Mapping[int, Device] = MappingProxyType({})
_NOTHING: Mapping[Pool, PoolUsage] = MappingProxyType({})


class ProcessEntry(NamedTuple):
    """One line of the list; `row` is None where no process reports."""

    stamp: int
    pid: int | None
    user: str
    label: str
    command: str
    state: str
    via: str
    row: ProcessUsage | None = None
    parent_pid: int | None = None
    age_ns: int | None = None
    chips: Mapping[int, Device] = _NONE  # all there are, by number
    numbers: tuple[int, ...] = ()  # of those it is on
    pools: Mapping[Pool, PoolUsage] = _NOTHING
    refused: Role | None = None  # red while an incident of it is news, then quiet; None: nothing was refused to it
    rates: ProcessRates | None = None  # what it does per second, and takes of the host
    time_ns: int = 0  # of these figures
    core_bytes: int | None = None  # L1 of the fullest core it has for itself; None where it shares its chips

    @property
    def devices(self) -> list[Device]:
        return [self.chips[number] for number in self.numbers if number in self.chips]

    @property
    def is_doubted(self) -> bool:
        return self.row is not None and bool(self.row.reason or self.row.finding_count)

    @property
    def is_dead(self) -> bool:
        return self.state == "ended"

    def used(self, pool: Pool) -> int | None:
        """What it holds of a pool; unknown, if nothing is known of it at all."""
        found = self.pools.get(pool)
        return found.used_bytes if found else self._nothing

    @property
    def cb_bytes(self) -> int | None:
        """What cores give up for its circular buffers; those of several programs lie on top of each other."""
        if self.row is None or Pool.CB not in self.pools:
            return self._nothing
        return self.used(Pool.CB) if self.is_read else self.row.cb_planned_bytes

    @property
    def kernel_bytes(self) -> int | None:
        """Code of its loaded kernels on all kinds of cores: an inventory."""
        found = [self.pools[pool].used_bytes for pool in _KERNEL_POOLS if pool in self.pools]
        return sum(found) if found else self._nothing

    @property
    def total_bytes(self) -> int | None:
        """What it holds of device memory: DRAM, trace, L1, L1_SMALL; no inventories, which take no room."""
        found = [self.pools[pool].used_bytes for pool in HELD_POOLS if pool in self.pools]
        return sum(found) if found else self._nothing

    @property
    def peak_bytes(self) -> int | None:
        """The sum of the peaks of the same pools."""
        found = [self.pools[pool].peak_bytes for pool in HELD_POOLS if pool in self.pools]
        return sum(found) if found else self._nothing

    @property
    def is_peak_lower_bound(self) -> bool:
        return any(pool.is_lower_bound or pool.is_read for pool in self.pools.values() if pool.pool in HELD_POOLS)

    def is_sample(self, *pools: Pool) -> bool:
        """Whether what was read of one of these pools is a sample."""
        return self.is_read and any(self.pools[pool].origin == "sample" for pool in pools if pool in self.pools)

    @property
    def is_read(self) -> bool:
        return self.via == "read"

    @property
    def _nothing(self) -> int | None:
        """0 for a process of which all is known; None for one of which something or all is not."""
        is_whole = self.row is not None and not self.row.reason
        return 0 if self.row and is_whole and self.row.origin not in ("unknown", "read", "sample") else None


def stamp_of(row: ProcessUsage) -> int:
    """A number that no other process of this machine has, whichever source counts."""
    if not row.pid:
        return 1 << 70 | row.key  # no process is known: the reader's own number has to do
    began = (row.start_time_ns or 0) // _SECOND_NS
    return (row.pid << 32 | began & 0xFFFF_FFFF) + 1


def entries_of(frame: MonitorFrame) -> list[ProcessEntry]:
    """All of them, as they come."""
    overview = frame.overview
    if overview is None:
        return []
    chips = {usage.device.number: usage.device for usage in overview.devices}
    rates = {(one.key, one.pid): one for one in frame.history.processes} if frame.history else {}
    red = {one.pid for one in frame.incidents if one.is_fresh}
    cores = _own_cores(overview)
    listed = [
        _entry_of(row, overview.time_ns, chips, red)._replace(
            rates=rates.get((row.key, row.pid)), core_bytes=cores.get(row.key)
        )
        for row in overview.processes
    ]
    listed += [_foreign(directory) for directory in overview.foreign]
    return [*listed, *_silent(frame, overview)]


def _own_cores(overview: Snapshot) -> dict[int, int]:
    """The fullest core of processes that share none of their chips: what is there is theirs. By their keys."""
    holders: dict[int, list[int]] = {}
    for row in overview.live:
        for number in row.chips:
            holders.setdefault(number, []).append(row.key)
    fullest = {usage.device.number: usage.fullest_core_bytes for usage in overview.devices}
    found = {}
    for row in overview.live:
        cores = [fullest.get(number) for number in row.chips]
        known = [core for core in cores if core is not None]
        if known and len(known) == len(cores) and all(holders[number] == [row.key] for number in row.chips):
            found[row.key] = max(known)
    return found


def _entry_of(row: ProcessUsage, time_ns: int, chips: Mapping[int, Device], red: Collection[int]) -> ProcessEntry:
    return ProcessEntry(
        stamp=stamp_of(row),
        pid=row.pid,
        user=row.user,
        label=row.label or row.command,
        command=row.command,
        state=row.state,
        via="read" if row.source == "runtime" else row.source,
        row=row,
        parent_pid=row.parent_pid,
        age_ns=None if row.start_time_ns is None else max(0, time_ns - row.start_time_ns),
        chips=chips,
        numbers=row.chips,
        pools={usage.pool: usage for usage in row.pools},
        refused=(Role.FULL if row.pid in red and row.incidents else Role.DIM) if row.was_refused else None,
        time_ns=time_ns,
    )


def _foreign(directory: Foreign) -> ProcessEntry:
    stamp = -(1 << 40) - crc32(f"{directory.what} {directory.path}".encode(errors="replace"))
    return ProcessEntry(stamp, None, directory.user, f"{directory.what} in {directory.path}", "", "foreign", "")


def _silent(frame: MonitorFrame, overview: Snapshot) -> Iterator[ProcessEntry]:
    """Processes that have a chip open, as the driver says, and report nothing."""
    known = {row.pid for row in overview.processes if row.is_visible}
    chips: dict[int, list[str]] = {}
    commands: dict[int, str] = {}
    for chip in frame.telemetry or ():
        for pid, command in zip(chip.pids or (), (*chip.commands, *[""] * len(chip.pids or ())), strict=False):
            if pid not in known:
                chips.setdefault(pid, []).append(chip.dev_node)
                commands[pid] = command
    for pid, nodes in sorted(chips.items()):
        command = commands[pid]
        label = command or f"has {', '.join(nodes)} open"
        yield ProcessEntry(-pid, pid, "", label, command, "live", "driver")
