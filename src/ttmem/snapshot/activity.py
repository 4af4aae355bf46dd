"""What programs do on a chip: kernels by core type, circular buffers per core, the kernel ring, and the caches.

Circular buffers of several programs share addresses, so their sizes are never added up: `planned` is what a core gives
up for all loaded programs, `resident` for the one that ran there last. Figures of the ring are those of each core.
"""

from ttmem.devices import Cache, CoreType, Stall
from ttmem.snapshot.values import Count, Struct

__all__ = ["NO_ACTIVITY", "Activity", "CacheUsage", "CoreUsage", "Footprint", "RingUsage"]


class CoreUsage(Struct, frozen=True):
    """All kernels on cores of one type; an inventory, like the pools of kernels."""

    core_type: CoreType
    used_bytes: Count
    count: Count
    is_estimated: bool


class Footprint(Struct, frozen=True):
    """What circular buffers, dataflow buffers and scratchpads take of L1."""

    planned_bytes: Count
    resident_bytes: Count | None  # None: some did not say whose they are
    worst_planned_bytes: Count  # of the fullest core
    worst_resident_bytes: Count | None
    is_estimated: bool  # some did not say on which cores they lie


class RingUsage(Struct, frozen=True):
    """The kernel ring on each core of one type."""

    core_type: CoreType
    live_bytes: Count  # of programs that may still run
    retired_bytes: Count  # finished, not overwritten yet
    entry_count: Count  # live ones; at most 7
    launch_count: Count  # that took room in it
    total_bytes: Count | None  # its size; None if not known

    @property
    def free_bytes(self) -> int | None:
        """What neither live nor retired programs hold."""
        return None if self.total_bytes is None else max(0, self.total_bytes - self.live_bytes - self.retired_bytes)


class CacheUsage(Struct, frozen=True):
    """What came of asking a cache, and what it holds now."""

    cache: Cache
    hit_count: Count
    miss_count: Count
    evicted_count: Count
    bypassed_count: Count  # too large for it
    emptied_count: Count  # times that everything was dropped
    entry_count: Count  # held now
    held_bytes: Count  # held now
    shared_bytes: Count  # stored more than once

    @property
    def hit_fraction(self) -> float | None:
        asked = self.hit_count + self.miss_count
        return self.hit_count / asked if asked else None


class Activity(Struct, frozen=True):
    """All of it, on one chip, by one process or by all of them."""

    cores: tuple[CoreUsage, ...] = ()  # kernels by core type
    footprint: Footprint | None = None  # None: no circular buffers, or their list could not be followed
    rings: tuple[RingUsage, ...] = ()
    stalls: tuple[tuple[Stall, Count], ...] = ()  # why launches waited, and how often
    caches: tuple[CacheUsage, ...] = ()


NO_ACTIVITY = Activity()
