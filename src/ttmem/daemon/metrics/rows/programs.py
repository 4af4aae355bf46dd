"""Rows about what programs take of a chip: L1 by kind and of the fullest core, circular buffers, kernels, caches."""

from collections.abc import Mapping, Sequence

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import Labels, Part
from ttmem.daemon.metrics.rows.kept import Chip, Item, Subject
from ttmem.devices import Device, Kind, Pool
from ttmem.snapshot import Footprint, KindUsage, PoolUsage
from ttmem.tracking import Cache, CoreType

__all__ = ["SUBJECTS"]

_KERNELS = {kind: kind.kernel_word for kind in Kind if kind.is_kernel}
_CORE_TYPES = {core_type: core_type.word for core_type in CoreType}
_CACHES = {cache: cache.word for cache in Cache}
_L1_KINDS = {Pool.L1: "buffer", Pool.L1_SMALL: "small_buffer"}


def _counted(chips: Sequence[Chip]) -> list[Chip]:
    """Not those of which only the runtime's counters tell."""
    return [chip for chip in chips if chip.usage.launch_count is not None]


def _l1(chips: Sequence[Chip]) -> list[Item]:
    items: list[Item] = []
    for usage, labels, *_ in _counted(chips):
        pools = tuple([pool for pool in usage.pools if pool.pool in _L1_KINDS])
        cores = (usage.worst_core_bytes, usage.core_bytes)
        items.append((labels, (usage.device, pools, usage.activity.footprint, usage.kernel_ring_bytes, cores)))
    return items


def _circular_buffers(chips: Sequence[Chip]) -> list[Item]:
    found = ((labels, usage.activity.footprint) for usage, labels, *_ in _counted(chips))
    return [(labels, (footprint,)) for labels, footprint in found if footprint]


def _kernels(chips: Sequence[Chip]) -> list[Item]:
    return [
        (labels, ({kind.kind: kind for kind in usage.kinds if kind.kind in _KERNELS},))
        for usage, labels, *_ in _counted(chips)
    ]


def _rings(chips: Sequence[Chip]) -> list[Item]:
    return [
        (
            (*labels, _CORE_TYPES[ring.core_type]),
            (ring.live_bytes, ring.retired_bytes, ring.free_bytes, ring.entry_count),
        )
        for usage, labels, *_ in _counted(chips)
        for ring in usage.activity.rings
    ]


def _caches(chips: Sequence[Chip]) -> list[Item]:
    return [
        ((*labels, _CACHES[cache.cache]), (cache.entry_count, cache.held_bytes))
        for usage, labels, *_ in _counted(chips)
        for cache in usage.activity.caches
    ]


def _add_l1(
    part: Part,
    labels: Labels,
    device: Device,
    pools: Sequence[PoolUsage],
    footprint: Footprint | None,
    ring_bytes: int | None,
    cores: tuple[int | None, int | None],
) -> None:
    """`pools`: those that lie in L1; `cores`: what the fullest core gives up, and what each has."""
    for pool in pools:
        if not pool.is_read:
            part.add(metric.L1, (*labels, _L1_KINDS[pool.pool]), pool.used_bytes)
    part.add(metric.L1, (*labels, "circular_buffer"), footprint.resident_bytes if footprint else None)
    part.add(metric.L1, (*labels, "kernel_ring"), ring_bytes)
    part.add(metric.WORST, labels, cores[0])
    if None not in cores:
        part.add(metric.WORST_RESIDENT, labels, _worst_resident_bytes(device, pools, footprint, cores[1] or 0))
    part.add(metric.CORE, labels, cores[1])


def _worst_resident_bytes(
    device: Device, pools: Sequence[PoolUsage], footprint: Footprint | None, core_bytes: int
) -> int | None:
    """Of the fullest core: its share of all buffers, which take as much of each core, the circular buffers that lie
    there now, and its ring."""
    resident = footprint.worst_resident_bytes if footprint else 0
    if resident is None or not device.l1_bank_count:
        return None
    buffers = sum(pool.used_bytes for pool in pools)
    ring = device.kernel_ring_bytes or 0 if device.open_count else 0
    return min(core_bytes, -(-buffers // device.l1_bank_count) + resident + ring)


def _add_circular_buffers(part: Part, labels: Labels, footprint: Footprint) -> None:
    part.add(metric.CB_PLANNED, labels, footprint.planned_bytes)
    part.add(metric.CB_RESIDENT, labels, footprint.resident_bytes)
    part.add(metric.CB_WORST_PLANNED, labels, footprint.worst_planned_bytes)
    part.add(metric.CB_WORST_RESIDENT, labels, footprint.worst_resident_bytes)


def _add_kernels(part: Part, labels: Labels, found: Mapping[Kind, KindUsage]) -> None:
    """All types, also those of which there are none: these are counted."""
    for kind, word in _KERNELS.items():
        usage = found.get(kind)
        if usage is None and kind is Kind.KERNEL_UNKNOWN:
            continue
        part.add(metric.KERNELS, (*labels, word), usage.count if usage else 0)
        part.add(metric.KERNEL_BYTES, (*labels, word), usage.used_bytes if usage else 0)


def _add_ring(part: Part, labels: Labels, live: int, retired: int, free: int | None, entries: int) -> None:
    part.add(metric.RING, (*labels, "live"), live)
    part.add(metric.RING, (*labels, "retired"), retired)
    part.add(metric.RING, (*labels, "free"), free)
    part.add(metric.RING_ENTRIES, labels, entries)


def _add_cache(part: Part, labels: Labels, entries: int, held_bytes: int) -> None:
    part.add(metric.CACHE_ENTRIES, labels, entries)
    part.add(metric.CACHE_BYTES, labels, held_bytes)


_CORES = (metric.L1, metric.WORST, metric.WORST_RESIDENT, metric.CORE)
_BUFFERS = (metric.CB_PLANNED, metric.CB_RESIDENT, metric.CB_WORST_PLANNED, metric.CB_WORST_RESIDENT)
SUBJECTS = (
    Subject(_CORES, _l1, _add_l1),
    Subject(_BUFFERS, _circular_buffers, _add_circular_buffers),
    Subject((metric.KERNELS, metric.KERNEL_BYTES), _kernels, _add_kernels),
    Subject((metric.RING, metric.RING_ENTRIES), _rings, _add_ring),
    Subject((metric.CACHE_ENTRIES, metric.CACHE_BYTES), _caches, _add_cache),
)
