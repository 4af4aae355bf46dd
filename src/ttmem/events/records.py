"""The events that the records of a journal stand for, each with the table of its own bits.

A record is eight words. Which bits of them mean what depends on the record's type and, for allocations, on its kind.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from ttmem.devices import BinaryStatus, BufferLayout, Kind, Pool
from ttmem.events.bits import ADDRESS, ALLOCATION, ID, PER_BANK, PHASE, REQUESTED, RESERVED, Bits
from ttmem.tracking import CoreType, FoundBy, Stall

_PAGE_COUNTED = 1 << 27  # a page's code with this bit is a number of pages
_FURTHER = 64  # among the flags of a buffer
BY_CORE = Bits(ADDRESS, 51, 1)  # of a buffer: it is allocated by core


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every event says: when (in ticks of the writer's clock), where, by whom."""

    TYPE: ClassVar[int] = 0
    BITS: ClassVar[dict[str, Bits]] = {}

    sequence: int = 0
    time_ticks: int = 0
    kind: Kind = Kind.UNKNOWN
    pool: Pool = Pool.DRAM
    flags: int = 0
    site: int = 0
    target: int = 0
    thread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationMade(Event):
    """An allocation of a kind this version does not know: its words as they are."""

    TYPE = 1
    BITS: ClassVar[dict[str, Bits]] = ALLOCATION

    id: int
    address: int = 0
    reserved_bytes: int = 0
    requested_bytes: int = 0
    per_bank_bytes: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferAllocated(Event):
    TYPE = 1
    BITS: ClassVar[dict[str, Bits]] = {
        **{k: v for k, v in ALLOCATION.items() if k not in ("address", "count")},
        "address": Bits(ADDRESS, 0, 48),
        "layout": Bits(ADDRESS, 48, 3),
        "page_low": Bits(ADDRESS, 52, 12),
        "page_high": Bits(PER_BANK, 48, 16),
    }

    kind: Kind = Kind.BUFFER
    id: int
    address: int = 0
    reserved_bytes: int = 0
    requested_bytes: int = 0
    per_bank_bytes: int = 0
    layout: BufferLayout = BufferLayout.UNKNOWN
    page_low: int = 0  # bits 0 to 11 of the page's code
    page_high: int = 0  # bits 12 to 27

    @property
    def page_bytes(self) -> int:
        """0 if not reported; a large one is known by how many of them were requested."""
        code = self.page_high << 12 | self.page_low
        if code < _PAGE_COUNTED:
            return code
        return self.requested_bytes // (code - _PAGE_COUNTED) if code > _PAGE_COUNTED else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreBufferAllocated(Event):
    """A buffer that is allocated by core, or a further part of one: what lies at one address, on some of its cores."""

    TYPE = 1
    BITS: ClassVar[dict[str, Bits]] = {
        "id": Bits(ID),
        "address": Bits(ADDRESS, 0, 48),
        "layout": Bits(ADDRESS, 48, 3),  # and BY_CORE
        "core_set_low": Bits(ADDRESS, 52, 12),
        "reserved_bytes": Bits(RESERVED, 0, 43),
        "requested_bytes": Bits(REQUESTED, 0, 48),
        "size_per_core_bytes": Bits(PER_BANK, 0, 27),
        "next_part": Bits(PER_BANK, 27, 21),
        "core_set_high": Bits(PER_BANK, 48, 16),
    }

    kind: Kind = Kind.BUFFER
    pool: Pool = Pool.L1
    id: int
    address: int = 0
    layout: BufferLayout = BufferLayout.UNKNOWN
    core_set_low: int = 0  # bits 0 to 11
    reserved_bytes: int = 0
    requested_bytes: int = 0
    size_per_core_bytes: int = 0
    next_part: int = 0  # its place among the live entries + 1; 0: none follows
    core_set_high: int = 0  # bits 12 to 27

    @property
    def core_set(self) -> int:
        return self.core_set_high << 12 | self.core_set_low

    @property
    def core_count(self) -> int:
        return self.reserved_bytes // self.size_per_core_bytes if self.size_per_core_bytes else 0

    @property
    def is_further(self) -> bool:
        """Whether it is not the first part, which alone counts as an allocation."""
        return bool(self.flags & _FURTHER)


STACK_SITE = 1 << 31  # in a site: it is a node of the journal's tree of stacks, else a text
PROGRAM_ZERO = (1 << 48) - 1  # how the program is reported whose number is 0, which alone means unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class CircularBufferAllocated(Event):
    """A circular buffer, a dataflow buffer or a scratchpad."""

    TYPE = 1
    BITS: ClassVar[dict[str, Bits]] = {
        "id": Bits(ID),
        "address": Bits(ADDRESS, 0, 32),
        "core_set": Bits(ADDRESS, 32, 32),
        "reserved_bytes": Bits(RESERVED, 0, 43),
        "program": Bits(REQUESTED, 0, 48),
        "size_per_core_bytes": Bits(PER_BANK, 0, 48),
        "core_count": Bits(PER_BANK, 48, 16),
    }

    kind: Kind = Kind.CIRCULAR_BUFFER
    pool: Pool = Pool.CB
    id: int
    address: int = 0
    core_set: int = 0
    reserved_bytes: int = 0
    program: int = 0
    size_per_core_bytes: int = 0
    core_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelLoaded(Event):
    TYPE = 1
    BITS: ClassVar[dict[str, Bits]] = {
        "id": Bits(ID),
        "program": Bits(ADDRESS, 0, 48),
        "core_type": Bits(ADDRESS, 48, 4),
        "found_by": Bits(ADDRESS, 52, 4),
        "reserved_bytes": Bits(RESERVED, 0, 43),
        "binary_times_cores_bytes": Bits(REQUESTED, 0, 48),
        "binary_bytes": Bits(PER_BANK, 0, 48),
        "core_count": Bits(PER_BANK, 48, 16),
    }

    kind: Kind = Kind.KERNEL_APPLICATION
    pool: Pool = Pool.KERNEL
    id: int
    program: int = 0
    core_type: CoreType = CoreType.UNKNOWN
    found_by: FoundBy = FoundBy.UNKNOWN
    reserved_bytes: int = 0
    binary_times_cores_bytes: int = 0
    binary_bytes: int = 0
    core_count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryStored(Event):
    """A program's binaries got a place in DRAM."""

    TYPE = 1
    BITS: ClassVar[dict[str, Bits]] = {
        "program": Bits(ID),
        "launched_sequence": Bits(ADDRESS),
        "reserved_bytes": Bits(RESERVED, 0, 43),
        "launch_count": Bits(PER_BANK, 0, 46),
        "status": Bits(PER_BANK, 46, 2),
        "maker_low": Bits(PER_BANK, 48, 16),
    }

    kind: Kind = Kind.PROGRAM_BINARY
    program: int
    launched_sequence: int = 0  # of its last launch before this record
    reserved_bytes: int = 0
    launch_count: int = 0
    status: BinaryStatus = BinaryStatus.NOT_SENT
    maker_low: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocationFreed(Event):
    """The end of any allocation; `maker_sequence` names the record that made it."""

    TYPE = 2
    BITS: ClassVar[dict[str, Bits]] = {
        **{k: v for k, v in ALLOCATION.items() if k != "address"},
        "maker_sequence": Bits(ADDRESS),
    }

    id: int
    maker_sequence: int = 0
    reserved_bytes: int = 0
    requested_bytes: int = 0
    per_bank_bytes: int = 0
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BinaryStatusChanged(Event):
    TYPE = 3
    BITS: ClassVar[dict[str, Bits]] = {"program": Bits(ID), "status": Bits(REQUESTED, 0, 48)}

    program: int
    status: BinaryStatus = BinaryStatus.NOT_SENT


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramLaunched(Event):
    """Mostly with the kernel ring that it moved; if not, all its fields are 0."""

    TYPE = 4
    BITS: ClassVar[dict[str, Bits]] = {
        "program": Bits(ID),
        "launch_count": Bits(REQUESTED, 0, 48),
        "live_bytes": Bits(ADDRESS, 32, 32),
        "retired_bytes": Bits(ADDRESS, 0, 32),
        "ring_bytes": Bits(RESERVED, 0, 48),
        "entry_count": Bits(PER_BANK, 24, 24),
        "core_type": Bits(PER_BANK, 0, 8),
        "stall": Bits(PER_BANK, 8, 8),
    }

    program: int
    launch_count: int = 0
    live_bytes: int = 0
    retired_bytes: int = 0
    ring_bytes: int = 0
    entry_count: int = 0
    core_type: CoreType = CoreType.UNKNOWN
    stall: Stall = Stall.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOpened(Event):
    TYPE = 5
    BITS: ClassVar[dict[str, Bits]] = {"descriptor": Bits(ID), "unique_id": Bits(ADDRESS)}

    descriptor: int
    unique_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetClosed(Event):
    TYPE = 6
    BITS: ClassVar[dict[str, Bits]] = {"ended_count": Bits(ID), "unique_id": Bits(ADDRESS)}

    ended_count: int
    unique_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseBegan(Event):
    TYPE = 7
    BITS: ClassVar[dict[str, Bits]] = PHASE

    phase: int
    name: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasePeaked(Event):
    TYPE = 8
    BITS: ClassVar[dict[str, Bits]] = {**PHASE, "peak_bytes": Bits(RESERVED, 0, 48)}

    phase: int
    name: int = 0
    peak_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseEnded(Event):
    TYPE = 9
    BITS: ClassVar[dict[str, Bits]] = PHASE

    phase: int
    name: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelChanged(Event):
    TYPE = 10
    BITS: ClassVar[dict[str, Bits]] = {"label": Bits(ID)}

    label: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryExhausted(Event):
    """The runtime refused an allocation."""

    TYPE = 11
    BITS: ClassVar[dict[str, Bits]] = {
        "requested_bytes": Bits(ID),
        "free_bytes": Bits(ADDRESS),
        "largest_free_bytes": Bits(RESERVED, 0, 48),
    }

    requested_bytes: int
    free_bytes: int = 0
    largest_free_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RingMoved(Event):
    """The kernel ring of every core of a type changed: mostly because a launch took room in it."""

    TYPE = 12
    BITS: ClassVar[dict[str, Bits]] = {
        "live_bytes": Bits(ID),
        "retired_bytes": Bits(ADDRESS),
        "ring_bytes": Bits(RESERVED, 0, 48),
        "entry_count": Bits(REQUESTED, 0, 48),
        "core_type": Bits(PER_BANK, 0, 8),
        "stall": Bits(PER_BANK, 8, 8),
        "is_aside": Bits(PER_BANK, 16, 8),
    }

    live_bytes: int
    retired_bytes: int = 0
    ring_bytes: int = 0
    entry_count: int = 0
    core_type: CoreType = CoreType.UNKNOWN
    stall: Stall = Stall.NONE
    is_aside: int = 0  # 1: nothing was launched there; the ring changed otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheAnswered(Event):
    """A cache was asked, or lost something; what it holds since then."""

    TYPE = 13
    BITS: ClassVar[dict[str, Bits]] = {
        "size_bytes": Bits(ID),
        "held_bytes": Bits(ADDRESS),
        "shared_bytes": Bits(RESERVED, 0, 48),
        "entry_count": Bits(REQUESTED, 0, 48),
        "cache": Bits(PER_BANK, 0, 8),
        "outcome": Bits(PER_BANK, 8, 8),
    }

    size_bytes: int
    held_bytes: int = 0
    shared_bytes: int = 0
    entry_count: int = 0
    cache: int = 0
    outcome: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuffersClashed(Event):
    """Circular buffers of a program would have reached into an L1 buffer."""

    TYPE = 14
    BITS: ClassVar[dict[str, Bits]] = {
        "program": Bits(ID),
        "cb_end_address": Bits(ADDRESS),
        "buffer_address": Bits(RESERVED, 0, 48),
    }

    program: int
    cb_end_address: int = 0
    buffer_address: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentKept(Event):
    """Something was refused; what is recorded of it stands in another part of the journal."""

    TYPE = 15
    BITS: ClassVar[dict[str, Bits]] = {
        "number": Bits(ID),
        "incident_kind": Bits(ADDRESS),
        "requested_bytes": Bits(RESERVED, 0, 48),
    }

    number: int
    incident_kind: int = 0
    requested_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceCaptured(Event):
    TYPE = 16
    BITS: ClassVar[dict[str, Bits]] = {"trace": Bits(ID), "size_bytes": Bits(RESERVED, 0, 48)}

    trace: int
    size_bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReplayed(Event):
    TYPE = 17
    BITS: ClassVar[dict[str, Bits]] = {"trace": Bits(ID)}

    trace: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceReleased(Event):
    TYPE = 18
    BITS: ClassVar[dict[str, Bits]] = {"trace": Bits(ID)}

    trace: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramNamed(Event):
    """The operation that a program belongs to became known."""

    TYPE = 19
    BITS: ClassVar[dict[str, Bits]] = {"program": Bits(ID), "operation_site": Bits(ADDRESS)}

    program: int
    operation_site: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteChanged(Event):
    """More became known of who asked for an allocation; `site` is the new one."""

    TYPE = 20
    BITS: ClassVar[dict[str, Bits]] = {"id": Bits(ID), "made_by": Bits(ADDRESS)}

    id: int
    made_by: int = 0  # the sequence of the allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownRecorded(Event):
    """A record of a type this version does not know; stored whole."""

    type: int
    record: bytes = field(repr=False)
