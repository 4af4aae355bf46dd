"""The shapes of an explanation: what `ttmem explain --json` prints and every face draws.

Sizes are bytes of one bank (of L1: one core) unless they say `total`. None is unknown, never 0.
"""

from typing import Literal

import msgspec

from ttmem.snapshot.incidents import HeldEntry, Incident, Site
from ttmem.snapshot.values import TimeNs

__all__ = [
    "AddressLine",
    "AddressStretch",
    "After",
    "Cause",
    "ClashDetails",
    "Explanation",
    "Floor",
    "Freeing",
    "MemoryHolder",
    "PhaseShare",
    "ProgramNeed",
    "ReplayDetails",
    "StretchUse",
]

Cause = Literal[
    "full",  # less is free than was asked for
    "fragmented",  # enough is free, but in no single block
    "cores_in_the_way",  # a block was large enough, but buffers of single cores lie in it
    "room_seen",  # the copy has a large enough hole: memory was freed meanwhile, or not everything is listed
    "too_large",  # more was asked for than there is
    "unknown",
]
After = Literal["last", "no_launch", "went_on", "unknown"]
StretchUse = Literal[
    "free",
    "held",
    "fixed",  # freeing a tensor does not free it
    "circular",  # of a clash: the program's circular buffers
    "clash",  # ... and where they meet L1 buffers
]


class AddressStretch(msgspec.Struct, frozen=True):
    """Neighbouring addresses of one use."""

    address: int
    size_bytes: int
    use: StretchUse


class AddressLine(msgspec.Struct, frozen=True, kw_only=True):
    """The addresses an allocator hands out: the same in all banks, or those of some cores."""

    cores: str | None  # None: every bank of every chip
    core_count: int | None
    begin_address: int
    end_address: int
    is_inferred: bool  # where it begins or ends follows from what was free
    free_bytes: int
    largest_free_bytes: int
    hole_count: int
    stretches: tuple[AddressStretch, ...]


class Freeing(msgspec.Struct, frozen=True, kw_only=True):
    """The fewest buffers that, freed, open a block of the needed size; of several such sets the one of fewest bytes."""

    entries: tuple[HeldEntry, ...]
    size_bytes: int
    total_bytes: int
    opened_address: int
    opened_bytes: int
    choice_count: int  # sets of as few buffers that would do as well, this one included; counted up to 256
    is_least: bool  # False: there were too many combinations to try all


class MemoryHolder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds memory: a line, a kind, or a phase."""

    name: str | None  # None: not known
    site: Site | None = None
    kind: str
    count: int
    size_bytes: int
    total_bytes: int
    oldest_time_ns: TimeNs
    newest_time_ns: TimeNs
    is_freeable: bool
    block_if_freed_bytes: int | None = None  # largest block when all of it is freed


class PhaseShare(msgspec.Struct, frozen=True, kw_only=True):
    """What was made in the phase of the incident, what before or elsewhere, and what is unknown; in all banks."""

    phase: str
    total_bytes_in_phase: int
    total_bytes_before: int
    total_bytes_unknown: int


class ProgramNeed(msgspec.Struct, frozen=True, kw_only=True):
    """How far a program's circular buffers reach on the cores where that is highest."""

    program: int | None
    operation: str | None
    end_address: int
    cores: str | None
    missing_bytes: int  # below 0: what is left


class Floor(msgspec.Struct, frozen=True, kw_only=True):
    """Where L1 buffers begin, and how much circular buffers may still grow below them."""

    entry: HeldEntry | None  # the lowest L1 buffer
    address: int | None
    highest: ProgramNeed | None
    headroom_bytes: int | None  # on the core where it is least; below 0: programs that would be refused
    refused: tuple[ProgramNeed, ...] = ()


class ClashDetails(msgspec.Struct, frozen=True, kw_only=True):
    """Circular buffers that reach into L1 buffers."""

    end_address: int | None
    lowest_address: int | None
    missing_bytes: int | None
    in_the_way: tuple[HeldEntry, ...]
    in_the_way_bytes: int
    circular_buffers: tuple[HeldEntry, ...]  # of that program, as far as they are known


class ReplayDetails(msgspec.Struct, frozen=True, kw_only=True):
    """A trace that was replayed while a buffer lies where it writes."""

    trace: int | None
    address: int | None
    size_bytes: int | None
    made_by: Site | None
    captured_by: Site | None
    entry: HeldEntry | None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One incident, why it happened, who was involved and what would have helped."""

    name: str
    pid: int
    incident: Incident
    after: After
    phase_run: int | None = None  # how often its phase had run
    bank_count: int | None = None  # over how many banks memory in lockstep is spread
    cause: Cause | None = None
    missing_bytes: int | None = None  # by which the largest block was too small
    lines: tuple[AddressLine, ...] = ()
    freeing: Freeing | None = None
    holders: tuple[MemoryHolder, ...] = ()
    by_kind: tuple[MemoryHolder, ...] = ()
    by_phase: tuple[MemoryHolder, ...] = ()
    phase_share: PhaseShare | None = None
    floor: Floor | None = None
    clash: ClashDetails | None = None
    replay: ReplayDetails | None = None
    notes: tuple[str, ...] = ()  # what limits or qualifies the above
