"""One chip by address: what lies where in its DRAM banks and in the L1 of its cores, and which core is fullest.

Banks work in lockstep: a buffer takes the same addresses of each, also of those that hold none of its bytes, so one
bank stands for all. Circular buffers lie on some cores only. Addresses are those of a bank or core, sizes are bytes.
"""

from typing import Literal

from ttmem.devices import Pool
from ttmem.snapshot.values import Answer, Count, Device, Struct, TimeNs

__all__ = ["ChipMap", "CoreFill", "Region", "Space", "Stretch", "StretchKind"]

# cb: circular buffers of the program that ran last on that core. planned: where only other loaded programs have some.
StretchKind = Literal["reserved", "ring", "cb", "planned", "buffer", "small", "trace", "free"]


class Stretch(Struct, frozen=True):
    """A piece of an address space; neighbours of one kind are one stretch."""

    kind: StretchKind
    begin: Count
    end: Count
    count: Count = 0  # how many allocations lie in it
    hole_bytes: Count = 0  # of its bytes, what is free in holes too small to be listed

    @property
    def size_bytes(self) -> int:
        return self.end - self.begin


class Region(Struct, frozen=True, kw_only=True):
    """The part of a bank or core that one pool has: from `begin` to `end`, where its holes are."""

    pool: Pool
    begin: Count
    end: Count
    used_bytes: Count
    count: Count  # allocations
    largest_free_bytes: Count | None  # None: some allocation has no known address
    hole_count: Count | None  # free blocks, the largest included
    is_begin_assumed: bool  # the chip's opener does not say; taken from what the architecture is known to have


class Space(Struct, frozen=True, kw_only=True):
    """One address space, from 0 to `end`: a DRAM bank, or the L1 of a worker core."""

    name: Literal["dram", "l1"]
    bank_count: Count
    end: Count
    stretches: tuple[Stretch, ...]  # by address, without gaps; of L1, that of the fullest core
    regions: tuple[Region, ...]
    is_complete: bool  # False: some allocations have no address, and are missing here
    reason: str = ""


class CoreFill(Struct, frozen=True):
    """How full one worker core is: buffers, circular buffers of all loaded programs (where both lie, once), and the
    kernel ring."""

    x: Count
    y: Count
    used_bytes: Count
    cb_planned_bytes: Count
    cb_resident_bytes: Count


class ChipMap(Answer, frozen=True, kw_only=True):
    """One chip, close up."""

    time_ns: TimeNs
    device: Device
    dram: Space | None
    l1: Space | None
    core_bytes: Count | None  # what a core has for buffers, circular buffers and the kernel ring
    common_bytes: Count | None  # what every core gives up of that: buffers and the kernel ring
    ring_live_bytes: Count | None  # of the fullest worker core
    ring_retired_bytes: Count | None
    cores: tuple[CoreFill, ...]  # row by row; empty if the grid is not known
    worst: tuple[Count, Count] | None  # x and y of the fullest core
    is_estimated: bool = False  # some circular buffers did not say on which cores they lie: taken for the first ones

    def now_bytes(self, core: CoreFill) -> int | None:
        """What a core gives up now: for the circular buffers of the program that ran last there, not of all of them."""
        return None if self.common_bytes is None else self.common_bytes + core.cb_resident_bytes

    @property
    def worst_fill(self) -> CoreFill | None:
        return next((core for core in self.cores if (core.x, core.y) == self.worst), None)
