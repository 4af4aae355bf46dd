"""What programs do on a chip, from the ledger's rows: of one process, or of all of them together."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ttmem.devices import Cache, CoreType, Stall
from ttmem.snapshot.activity import Activity, CacheUsage, CoreUsage, Footprint, RingUsage
from ttmem.snapshot.values import replace

__all__ = ["activity_from_rows", "cores_from_rows", "together"]

Table = tuple[tuple[Any, ...], ...]


def activity_from_rows(
    cores: Iterable[tuple[Any, ...]] = (),
    footprints: Iterable[tuple[Any, ...]] = (),
    rings: Iterable[tuple[Any, ...]] = (),
    stalls: Iterable[tuple[Any, ...]] = (),
    caches: Iterable[tuple[Any, ...]] = (),
) -> Activity:
    """From the ledger's rows about one process and chip."""
    return _activity(tuple(cores), tuple(footprints), tuple(rings), tuple(stalls), tuple(caches))


def cores_from_rows(table: Table) -> tuple[CoreUsage, ...]:
    """Kernels by the type of core they are on."""
    return tuple(CoreUsage(CoreType.numbered(core), *figures) for core, *figures in table)


def _activity(cores: Table, footprints: Table, rings: Table, stalls: Table, caches: Table) -> Activity:
    return Activity(
        cores=cores_from_rows(cores),
        footprint=next((_footprint(*row) for row in footprints), None),
        rings=tuple(_ring_from_row(row) for row in rings),
        stalls=tuple((Stall.numbered(reason), count) for reason, count in stalls),
        caches=tuple(CacheUsage(Cache.numbered(cache), *figures) for cache, *figures in caches),
    )


def _footprint(
    planned: int, resident: int, worst_planned: int, worst_resident: int, is_estimated: bool, has_strangers: bool
) -> Footprint:
    """`has_strangers`: some circular buffers did not say whose they are."""
    known = (None, None) if has_strangers else (resident, worst_resident)
    return Footprint(planned, known[0], worst_planned, known[1], is_estimated)


def _ring_from_row(row: Sequence[Any]) -> RingUsage:
    core_type, live, retired, entries, launches, total = row
    return RingUsage(CoreType.numbered(core_type), live, retired, entries, launches, total or None)


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
    bare = _summed([replace(ring, total_bytes=0) for ring in rings])
    return tuple(replace(ring, total_bytes=sizes[ring.core_type] or None) for ring in bare)


def _summed(usages: Sequence[Any]) -> tuple[Any, ...]:
    """Figures of one name (the first field) added up, field by field."""
    sums: dict[Any, list[int]] = {}
    for usage in usages:
        name, *figures = msgspec.structs.astuple(usage)
        sums[name] = [a + b for a, b in zip(sums.get(name, [0] * len(figures)), figures, strict=True)]
    kind = type(usages[0]) if usages else None
    return tuple(kind(name, *sums[name]) for name in sorted(sums)) if kind else ()
