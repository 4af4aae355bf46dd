"""What is alive: per device and type how much, and the single allocations with their owners, largest first.

A type is a pool (dram, l1, cb, ...), or for kernels what they are for (application, fabric, dispatch, unknown). Totals
are those of the snapshot, right also where a list is not whole; lists are cut after the largest few, and say so.
Instead of single allocations, sums by the line, phase or operation that made them (`by`).
"""

from typing import Literal, get_args

import msgspec

from ttmem.devices import PLANNED_POOLS, BufferLayout, Kind, Pool
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.usage import ProcessUsage, Source
from ttmem.snapshot.values import Answer, Count, Device, Hex, Struct, TimeNs
from ttmem.tracking import CoreType, FoundBy

__all__ = [
    "BY",
    "By",
    "Dump",
    "DumpDevice",
    "DumpGroup",
    "DumpSum",
    "DumpedAllocation",
    "Owner",
    "PlacedPart",
    "ProcessNote",
    "Unlisted",
    "owner_of",
]

By = Literal["", "site", "phase", "operation"]  # what sums are made by; empty: single allocations are listed
BY: tuple[By, ...] = get_args(By)

_set = msgspec.structs.force_setattr


class Owner(Struct, frozen=True):
    """Whose an allocation is."""

    pid: Count
    user: str
    label: str
    source: Source = "journal"
    is_visible: bool = True  # False: `pid` is a number of another pid namespace


class PlacedPart(Struct, frozen=True):
    """One address of a buffer that is allocated by core, and the cores it has there."""

    address: Hex
    core_count: Count
    core_set: str  # `0,0-7,7;0,8-3,8`: rectangles, corners included; empty if not known


class DumpedAllocation(Struct, frozen=True):
    """One thing that is alive."""

    kind: Kind
    pool: Pool
    id: Hex
    address: Hex | None  # None where the reporter names none, and for kernels
    program: Count | None  # of kernels and circular buffers, where it is known
    name: str  # of a kernel; empty if not known
    stack: tuple[str, ...]  # "file:line function" that asked for it, innermost first; empty if not known
    core_type: CoreType  # of a kernel
    found_by: FoundBy  # how the type of a kernel was found
    packed_bytes: tuple[Count, ...]  # of a kernel's binaries, one for each processor; empty if not known
    size_bytes: Count  # what it is charged; 0 for a view
    requested_bytes: Count
    page_bytes: Count | None  # of a buffer, where it is known
    layout: BufferLayout  # of a buffer
    core_count: Count | None  # of kernels, circular buffers, and buffers that are allocated by core
    holder_count: Count  # how often it was allocated at the same place and not yet freed
    is_view: bool  # memory that belongs to another allocation
    is_estimated: bool
    time_ns: TimeNs | None
    thread: Count | None  # that made it, by the kernel's number; None where not known
    owner: Owner
    per_core_bytes: Count | None = None  # of a buffer that is allocated by core
    parts: tuple[PlacedPart, ...] = ()  # of such a buffer, one for each address
    operation: str = ""  # that asked for it, or whose program it is; empty if not known
    tensor: str = ""  # "1x1x32x64 bfloat16 tile": what a buffer holds; empty if not known


class DumpSum(Struct, frozen=True):
    """All of one type on one device that one line, phase or operation made."""

    name: str  # of the phase or the operation; empty for a line, and where it is not known
    stack: tuple[str, ...]  # of a line: it, and the one that called it
    size_bytes: Count
    count: Count


class DumpGroup(Struct, frozen=True):
    """Everything of one type on one device."""

    type: str
    is_kernel: bool
    used_bytes: Count  # of `cb` what cores give up for all loaded programs: the union, not the sum of what is listed
    count: Count
    is_estimated: bool  # some of its sizes are binary size x cores
    allocations: tuple[DumpedAllocation, ...]  # largest first
    sums: tuple[DumpSum, ...] = ()  # instead of single allocations, largest first
    more_sum_count: Count = 0  # lines, phases or operations that `sums` does not list
    resident_bytes: Count | None = None  # of `cb`: the same of the programs that ran last

    freed_bytes: Count | None = None  # by the processes that are alive, as far as that is known

    # ---- follows from the others
    more_count: Count = 0  # how many are alive that are not listed
    more_bytes: Count | None = 0  # None: of `cb`, which share addresses
    is_planned: bool = False  # an inventory of what programs would take, not bytes that exclude each other

    def __post_init__(self) -> None:
        more_count = max(0, self.count - len(self.allocations) - sum(one.count for one in self.sums))
        listed = sum(one.size_bytes for one in self.allocations) + sum(one.size_bytes for one in self.sums)
        _set(self, "more_count", more_count)
        more_bytes = max(0, self.used_bytes - listed) if more_count else 0
        _set(self, "more_bytes", None if self.type == Pool.CB.word and more_count else more_bytes)
        _set(self, "is_planned", self.is_kernel or self.type in _PLANNED)


_PLANNED = {pool.word for pool in PLANNED_POOLS}


class DumpDevice(Struct, frozen=True):
    """One chip and what is alive on it."""

    device: Device
    groups: tuple[DumpGroup, ...]


class Unlisted(Struct, frozen=True):
    """A process whose single allocations could not all be followed."""

    owner: Owner
    reason: str


class ProcessNote(Struct, frozen=True, kw_only=True):
    """What is to be said of a process besides what it holds: its incidents, and why its lines are not known."""

    owner: Owner
    is_ended: bool
    incidents: tuple[Incident, ...]
    incident_count: Count
    refusal_count: Count
    clash_count: Count
    sites_off: str
    devices: tuple[Device, ...] = ()  # the chips of its incidents

    @property
    def pid(self) -> int:
        return self.owner.pid

    @property
    def label(self) -> str:
        return self.owner.label

    @property
    def was_refused(self) -> bool:
        return bool(self.incident_count or self.refusal_count or self.clash_count)

    @property
    def unlisted_incident_count(self) -> int:
        """Incidents whose details are not recorded."""
        return max(0, self.incident_count - len(self.incidents))


class Dump(Answer, frozen=True, kw_only=True):
    """All that is alive at one instant."""

    time_ns: TimeNs
    source: str
    places: tuple[str, ...]
    is_kernels_only: bool
    process_count: Count  # that report now
    ended_count: Count
    devices: tuple[DumpDevice, ...]  # on which something is alive
    unlisted: tuple[Unlisted, ...]
    notes: tuple[str, ...] = ()
    by: By = ""
    process_notes: tuple[ProcessNote, ...] = ()
    is_complete: bool = True  # follows from the others: no process is unlisted

    def __post_init__(self) -> None:
        _set(self, "is_complete", not self.unlisted)

    @property
    def count(self) -> int:
        return sum(group.count for device in self.devices for group in device.groups)


def owner_of(process: ProcessUsage) -> Owner:
    return Owner(process.pid, process.user, process.label, process.source, process.is_visible)
