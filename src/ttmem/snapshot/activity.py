"""What programs do on a chip: kernels by core type, circular buffers per core, the kernel ring, and the caches.

Circular buffers of several programs share addresses, so their sizes are never added up: `planned` is what a core gives
up for all loaded programs, `resident` for the one that ran there last. Figures of the ring are those of each core.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ttmem.devices import Cache, CoreType, Stall
from ttmem.snapshot.fields import Fields

__all__ = ["Activity", "CacheUsage", "CoreUsage", "Footprint", "RingUsage"]

Document = dict[str, Any]
Table = tuple[tuple[Any, ...], ...]


class CoreUsage(NamedTuple):
    """All kernels on cores of one type; an inventory, like the pools of kernels."""

    core_type: CoreType
    used_bytes: int
    count: int  # type: ignore[assignment]
    is_estimated: bool


class Footprint(NamedTuple):
    """What circular buffers, dataflow buffers and scratchpads take of L1."""

    planned_bytes: int
    resident_bytes: int | None  # None: some did not say whose they are
    worst_planned_bytes: int  # of the fullest core
    worst_resident_bytes: int | None
    is_estimated: bool  # some did not say on which cores they lie

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> "Footprint":
        planned, resident, worst_planned, worst_resident, is_estimated, has_strangers = row
        return cls(
            planned,
            None if has_strangers else resident,
            worst_planned,
            None if has_strangers else worst_resident,
            is_estimated,
        )


class RingUsage(NamedTuple):
    """The kernel ring on each core of one type."""

    core_type: CoreType
    live_bytes: int
    retired_bytes: int  # finished, not overwritten yet
    entry_count: int
    launch_count: int  # that took room in it
    total_bytes: int | None  # its size; None if nobody told

    @property
    def free_bytes(self) -> int | None:
        """What neither live nor retired programs hold."""
        return None if self.total_bytes is None else max(0, self.total_bytes - self.live_bytes - self.retired_bytes)


class CacheUsage(NamedTuple):
    """What came of asking a cache, and what it holds now."""

    cache: Cache
    hit_count: int
    miss_count: int
    evicted_count: int
    bypassed_count: int
    emptied_count: int
    entry_count: int
    held_bytes: int
    shared_bytes: int  # kept more than once

    @property
    def hit_fraction(self) -> float | None:
        asked = self.hit_count + self.miss_count
        return self.hit_count / asked if asked else None


class Activity(NamedTuple):
    """All of it, on one chip, by one process or by all of them."""

    cores: tuple[CoreUsage, ...] = ()
    footprint: Footprint | None = None  # None: no circular buffers, or their list could not be followed
    rings: tuple[RingUsage, ...] = ()
    stalls: tuple[tuple[Stall, int], ...] = ()  # why launches waited, and how often
    caches: tuple[CacheUsage, ...] = ()


NO_ACTIVITY = Activity()


def activity_from_rows(
    cores: Iterable[tuple[Any, ...]] = (),
    footprints: Iterable[tuple[Any, ...]] = (),
    rings: Iterable[tuple[Any, ...]] = (),
    stalls: Iterable[tuple[Any, ...]] = (),
    caches: Iterable[tuple[Any, ...]] = (),
) -> Activity:
    """From the ledger's rows about one process and chip."""
    return _activity(tuple(cores), tuple(footprints), tuple(rings), tuple(stalls), tuple(caches))


# What follows is remembered: chips of a mesh tell the same, again and again.
@lru_cache(maxsize=1024)
def cores_from_rows(table: Table) -> tuple[CoreUsage, ...]:
    """Kernels by the type of core they are on."""
    return tuple(CoreUsage(CoreType(core), *figures) for core, *figures in table)


@lru_cache(maxsize=1024)
def _activity(cores: Table, footprints: Table, rings: Table, stalls: Table, caches: Table) -> Activity:
    return Activity(
        cores=cores_from_rows(cores),
        footprint=next(map(Footprint.from_row, footprints), None),
        rings=tuple(_ring_from_row(row) for row in rings),
        stalls=tuple((Stall(reason), count) for reason, count in stalls),
        caches=tuple(CacheUsage(Cache(cache), *figures) for cache, *figures in caches),
    )


def _ring_from_row(row: Sequence[Any]) -> RingUsage:
    core_type, live, retired, entries, launches, total = row
    return RingUsage(CoreType(core_type), live, retired, entries, launches, total or None)


def together(parts: Sequence[Activity], cores: tuple[CoreUsage, ...]) -> Activity:
    """Of several processes on one chip. Circular buffers of all begin at the same address, so the largest stands for
    them; one chip has one owner at a time anyway."""
    if len(parts) == 1:
        return _alone(parts[0], cores)
    footprints = [part.footprint for part in parts if part.footprint]
    stalls: dict[Stall, int] = {}
    for part in parts:
        for reason, count in part.stalls:
            stalls[reason] = stalls.get(reason, 0) + count
    return Activity(
        cores=cores,
        footprint=max(footprints, key=lambda footprint: footprint.planned_bytes, default=None),
        rings=_rings_together([ring for part in parts for ring in part.rings]),
        stalls=tuple(sorted(stalls.items())),
        caches=_summed([cache for part in parts for cache in part.caches]),
    )


@lru_cache(maxsize=1024)
def _alone(part: Activity, cores: tuple[CoreUsage, ...]) -> Activity:
    """Of the only process on a chip: nothing to add up."""
    return Activity(
        cores=cores,
        footprint=part.footprint,
        rings=tuple(sorted(part.rings, key=lambda ring: ring.core_type)),
        stalls=tuple(sorted(part.stalls)),
        caches=tuple(sorted(part.caches, key=lambda usage: usage.cache)),
    )


def _rings_together(rings: Sequence[RingUsage]) -> tuple[RingUsage, ...]:
    """Every process tells the size of the same ring, or does not."""
    sizes: dict[CoreType, int] = {}
    for ring in rings:
        sizes[ring.core_type] = max(sizes.get(ring.core_type, 0), ring.total_bytes or 0)
    bare = _summed([ring._replace(total_bytes=0) for ring in rings])
    return tuple(ring._replace(total_bytes=sizes[ring.core_type] or None) for ring in bare)


def _summed(usages: Sequence[Any]) -> tuple[Any, ...]:
    """Figures of one name (the first field) added up, field by field."""
    sums: dict[Any, list[int]] = {}
    for usage in usages:
        name, *figures = usage
        sums[name] = [a + b for a, b in zip(sums.get(name, [0] * len(figures)), figures, strict=True)]
    kind = type(usages[0]) if usages else None
    return tuple(kind(name, *sums[name]) for name in sorted(sums)) if kind else ()


def activity_document(activity: Activity) -> Document:
    """Its part of a device's document."""
    return {
        "kernels_by_core": {
            usage.core_type.word: {"used": usage.used_bytes, "count": usage.count, "estimated": usage.is_estimated}
            for usage in activity.cores
        },
        "circular_buffers": _footprint_document(activity.footprint),
        "ring": {ring.core_type.word: _ring_document(ring) for ring in activity.rings},
        "stalls": {reason.word: count for reason, count in activity.stalls},
        "caches": {usage.cache.word: _cache_document(usage) for usage in activity.caches},
    }


def _footprint_document(footprint: Footprint | None) -> Document | None:
    if footprint is None:
        return None
    return {
        "planned": footprint.planned_bytes,
        "resident": footprint.resident_bytes,
        "worst_core_planned": footprint.worst_planned_bytes,
        "worst_core_resident": footprint.worst_resident_bytes,
        "estimated": footprint.is_estimated,
    }


def _ring_document(ring: RingUsage) -> Document:
    return {
        "total": ring.total_bytes,
        "live": ring.live_bytes,
        "retired": ring.retired_bytes,
        "free": ring.free_bytes,
        "entries": ring.entry_count,
        "launches": ring.launch_count,
    }


def _cache_document(usage: CacheUsage) -> Document:
    return {
        "hits": usage.hit_count,
        "misses": usage.miss_count,
        "evicted": usage.evicted_count,
        "bypassed": usage.bypassed_count,
        "emptied": usage.emptied_count,
        "entries": usage.entry_count,
        "bytes": usage.held_bytes,
        "shared_bytes": usage.shared_bytes,
        "estimated": usage.cache.is_estimate,
    }


_CORES = {core.word: core for core in CoreType}
_STALLS = {stall.word: stall for stall in Stall}
_CACHES = {cache.word: cache for cache in Cache}


def activity_from_document(row: Fields) -> Activity:
    """The inverse of `activity_document`."""
    return Activity(
        cores=tuple(
            CoreUsage(
                _known(word, _CORES, inner), inner.integer("used"), inner.integer("count"), inner.flag("estimated")
            )
            for word, inner in row.named("kernels_by_core")
        ),
        footprint=_footprint(row.maybe_inner("circular_buffers")),
        rings=tuple(_ring(word, inner) for word, inner in row.named("ring")),
        stalls=tuple((_known(word, _STALLS, row), count) for word, count in row.counts("stalls").items()),
        caches=tuple(_cache(word, inner) for word, inner in row.named("caches")),
    )


def _known(word: str, words: Mapping[str, Any], row: Fields) -> Any:
    return words[word] if word in words else row.refuse("", "one of " + " ".join(words), word)


def _footprint(row: Fields | None) -> Footprint | None:
    if row is None:
        return None
    return Footprint(
        row.integer("planned"),
        row.maybe_integer("resident"),
        row.integer("worst_core_planned"),
        row.maybe_integer("worst_core_resident"),
        row.flag("estimated"),
    )


def _ring(word: str, row: Fields) -> RingUsage:
    return RingUsage(
        core_type=_known(word, _CORES, row),
        live_bytes=row.integer("live"),
        retired_bytes=row.integer("retired"),
        entry_count=row.integer("entries"),
        launch_count=row.integer("launches"),
        total_bytes=row.maybe_integer("total"),
    )


def _cache(word: str, row: Fields) -> CacheUsage:
    names = ("hits", "misses", "evicted", "bypassed", "emptied", "entries", "bytes", "shared_bytes")
    return CacheUsage(_known(word, _CACHES, row), *map(row.integer, names))
