"""What is alive: per device and type how much, and the single allocations with their owners, largest first.

A type is a pool (dram, l1, cb, ...), or for kernels what they are for (application, fabric, dispatch, unknown). Totals
are those of the snapshot, right also where a list is not whole; lists are cut after the largest few, and say so.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ttmem.devices import PLANNED_POOLS, BufferLayout, Device, Kind, Pool
from ttmem.errors import SelectionError
from ttmem.snapshot.selection import MOST, device_test, known_devices
from ttmem.snapshot.usage import DeviceUsage, KindUsage, PoolUsage, ProcessUsage, Snapshot, Source
from ttmem.tracking import CoreType, FoundBy

__all__ = ["Allocation", "Dump", "DumpDevice", "DumpGroup", "Owner", "PlacedPart", "Unlisted", "dump_of"]

_VIEW, _ESTIMATED = 1, 64  # flags of a row
_KERNEL_POOLS = frozenset({Pool.KERNEL, Pool.ETH, Pool.DISPATCH})  # told by type of kernel, not by place
_ORDER = (Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.TRACE, Pool.CB, Pool.HOST, Pool.UNKNOWN)

Row = Sequence[Any]  # of `Ledger.allocations`


class Owner(NamedTuple):
    """Whose an allocation is."""

    pid: int
    user: str
    label: str
    source: Source = "journal"
    is_visible: bool = True  # False: `pid` is a number of another pid namespace


class PlacedPart(NamedTuple):
    """One address of a buffer that is allocated by core, and the cores it has there."""

    address: int
    core_count: int
    core_set: str  # `0,0-7,7;0,8-3,8`: rectangles, corners included; empty if nobody told


class Allocation(NamedTuple):
    """One thing that is alive."""

    kind: Kind
    pool: Pool
    id: int
    address: int | None  # None where the reporter names none, and for kernels
    program: int | None  # of kernels and circular buffers, where it is known
    name: str  # of a kernel; empty if nobody told
    stack: tuple[str, ...]  # "file:line function" that asked for it, innermost first; empty if nobody told
    core_type: CoreType  # of a kernel
    found_by: FoundBy  # how the type of a kernel was found
    packed_bytes: tuple[int, ...]  # of a kernel's binaries, one for each processor; empty if nobody told
    size_bytes: int  # what it is charged; 0 for a view
    requested_bytes: int
    page_bytes: int | None  # of a buffer, where it is known
    layout: BufferLayout  # of a buffer
    core_count: int | None  # of kernels, circular buffers, and buffers that are allocated by core
    holder_count: int  # how often it was allocated at the same place and not yet freed
    is_view: bool  # memory that belongs to another allocation
    is_estimated: bool
    time_ns: int | None
    thread: int | None  # that made it, by the kernel's number; None where nobody told
    owner: Owner
    per_core_bytes: int | None = None  # of a buffer that is allocated by core
    parts: tuple[PlacedPart, ...] = ()  # of such a buffer, one for each address
    operation: str = ""  # that asked for it, or whose program it is; empty if nobody told
    tensor: str = ""  # "1x1x32x64 bfloat16 tile": what a buffer holds; empty if nobody told


@dataclass(frozen=True, slots=True)
class DumpGroup:
    """Everything of one type on one device."""

    type: str
    is_kernel: bool
    used_bytes: int
    count: int
    is_estimated: bool  # some of its sizes came from the seeds' rule
    allocations: tuple[Allocation, ...]  # largest first

    @property
    def more_count(self) -> int:
        """How many are alive that are not listed."""
        return max(0, self.count - len(self.allocations))

    @property
    def more_bytes(self) -> int:
        return max(0, self.used_bytes - sum(one.size_bytes for one in self.allocations)) if self.more_count else 0

    @property
    def is_planned(self) -> bool:
        """An inventory of what programs would take, not bytes that exclude each other."""
        return self.is_kernel or self.type in {pool.word for pool in PLANNED_POOLS}


class DumpDevice(NamedTuple):
    """One chip and what is alive on it."""

    device: Device
    groups: tuple[DumpGroup, ...]


class Unlisted(NamedTuple):
    """A process whose single allocations could not all be followed."""

    owner: Owner
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Dump:
    """All that is alive at one instant."""

    time_ns: int
    source: str
    places: tuple[str, ...]
    is_kernels_only: bool
    process_count: int  # that report now
    ended_count: int
    devices: tuple[DumpDevice, ...]  # on which something is alive
    unlisted: tuple[Unlisted, ...]
    notes: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return sum(group.count for device in self.devices for group in device.groups)


def dump_of(
    snapshot: Snapshot,
    allocations: Mapping[int, Iterable[Row]],
    *,
    kernels: bool = False,
    device: str | int | None = None,
    most: int = MOST,
) -> Dump:
    """What is alive, from a snapshot and the rows of `Ledger.allocations` by process key.

    `kernels` keeps kernels only, `device` one device (as `ps -i` names it), `most` cuts lists (0: not at all).
    """
    usages = _chosen(snapshot, None if device is None else str(device))
    rows = _sorted_out(snapshot, allocations, {usage.device.number for usage in usages})
    devices = (DumpDevice(usage.device, tuple(_groups(usage, rows, kernels, most))) for usage in usages)
    return Dump(
        time_ns=snapshot.time_ns,
        source=snapshot.source,
        places=snapshot.places,
        is_kernels_only=kernels,
        process_count=len(snapshot.live),
        ended_count=len(snapshot.ended),
        devices=tuple(found for found in devices if found.groups),
        unlisted=tuple(Unlisted(owner_of(process), reason) for process in snapshot.live if (reason := _why(process))),
        notes=tuple(finding.line for finding in snapshot.findings if finding.pid is None),
    )


def _chosen(snapshot: Snapshot, word: str | None) -> tuple[DeviceUsage, ...]:
    if word is None:
        return snapshot.devices
    is_meant = device_test(word)
    usages = tuple(usage for usage in snapshot.devices if is_meant(usage.device))
    if not usages:
        raise SelectionError(f"no device {word} here; {known_devices(usage.device for usage in snapshot.devices)}")
    return usages


_Rows = dict[tuple[int, str], list[tuple[Row, Owner]]]


def _sorted_out(snapshot: Snapshot, allocations: Mapping[int, Iterable[Row]], wanted: set[int]) -> _Rows:
    """Rows by device and type; one on a mesh stands under every chip of it."""
    found: _Rows = defaultdict(list)
    for process in filter(lambda one: one.is_verified, snapshot.live):
        owner = owner_of(process)
        for row in allocations.get(process.key, ()):
            name = _type_of(Kind(row[1]), Pool(row[3]))
            for number in row[0]:
                if number in wanted:
                    found[number, name].append((row, owner))
    return found


def _why(process: ProcessUsage) -> str:
    """Why its allocations are not all listed; empty if they are."""
    return process.reason or ("read" if process.source == "runtime" else "")


def owner_of(process: ProcessUsage) -> Owner:
    return Owner(process.pid, process.user, process.label, process.source, process.is_visible)


def _type_of(kind: Kind, pool: Pool) -> str:
    return kind.word if kind.is_kernel else pool.word


def _groups(usage: DeviceUsage, rows: _Rows, is_kernels_only: bool, most: int) -> Iterable[DumpGroup]:
    """Buffers by pool, then kernels by type; only what is alive."""
    totals: list[tuple[str, bool, PoolUsage | KindUsage]] = []
    if not is_kernels_only:
        pools = {pool.pool: pool for pool in usage.pools if pool.pool not in _KERNEL_POOLS}
        totals += [(pool.word, False, pools[pool]) for pool in _ORDER if pool in pools]
    totals += [(kernel.kind.word, True, kernel) for kernel in usage.kernels]
    for name, is_kernel, total in totals:
        if total.count:
            listed = _largest(rows.get((usage.device.number, name), []), most)
            is_estimated = isinstance(total, KindUsage) and total.is_estimated
            name = name.removeprefix("kernel_")
            yield DumpGroup(name, is_kernel, total.used_bytes, total.count, is_estimated, listed)


def rank_by_size(row: Row) -> tuple[int, int, int]:
    """The largest first, of equal ones the oldest."""
    return -row[5], row[12], row[2]


def _largest(rows: list[tuple[Row, Owner]], most: int) -> tuple[Allocation, ...]:
    def rank(pair: tuple[Row, Owner]) -> tuple[int, int, int]:
        return rank_by_size(pair[0])

    chosen = heapq.nsmallest(most, rows, key=rank) if most else sorted(rows, key=rank)
    return tuple(allocation_from_row(row, owner) for row, owner in chosen)


def allocation_from_row(row: Row, owner: Owner) -> Allocation:
    _, kind_number, identity, pool, flags, reserved, requested, address, per_bank, cores, *others = row
    thread, _, time_ns, *rest = others
    *_, holders, program, core_type, found_by, layout, page_bytes, operation, tensor, packed, name, parts = rest
    kind = Kind(kind_number)
    return Allocation(
        kind=kind,
        pool=Pool(pool),
        id=identity,
        address=address or None,
        program=program,
        name=name if kind.is_kernel else "",
        stack=() if kind.is_kernel or not name else tuple(name.split("\n")),
        core_type=CoreType(core_type),
        found_by=FoundBy(found_by),
        packed_bytes=packed if kind.is_kernel else (),
        size_bytes=reserved,
        requested_bytes=requested,
        page_bytes=page_bytes or None,
        layout=BufferLayout(layout),
        core_count=cores or None,
        per_core_bytes=per_bank if parts else None,
        parts=tuple(PlacedPart(*part) for part in parts),
        holder_count=holders,
        is_view=bool(flags & _VIEW),
        is_estimated=kind is not Kind.BUFFER and bool(flags & _ESTIMATED),
        time_ns=time_ns or None,
        thread=thread or None,
        owner=owner,
        operation=operation,
        tensor=tensor,
    )
