"""Rows about what programs take of a chip: L1 by kind and of the fullest core, circular buffers, kernels, caches."""

from collections.abc import Mapping, Sequence

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import Labels
from ttmem.daemon.metrics.rows.kept import Chip, Item, Subject, Told
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


def _l1_rows(
    labels: Labels,
    device: Device,
    pools: Sequence[PoolUsage],
    footprint: Footprint | None,
    ring_bytes: int | None,
    cores: tuple[int | None, int | None],
) -> Told:
    """`pools`: those that lie in L1; `cores`: what the fullest core gives up, and what each has."""
    used, core_bytes = cores
    resident = None
    if used is not None and core_bytes is not None:
        resident = _worst_resident_bytes(device, pools, footprint, core_bytes)
    return [
        *((metric.L1, (*labels, _L1_KINDS[pool.pool]), pool.used_bytes) for pool in pools if not pool.is_read),
        (metric.L1, (*labels, "circular_buffer"), footprint.resident_bytes if footprint else None),
        (metric.L1, (*labels, "kernel_ring"), ring_bytes),
        (metric.WORST, labels, used),
        (metric.WORST_RESIDENT, labels, resident),
        (metric.CORE, labels, core_bytes),
    ]


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


def _circular_buffer_rows(labels: Labels, footprint: Footprint) -> Told:
    return [
        (metric.CB_PLANNED, labels, footprint.planned_bytes),
        (metric.CB_RESIDENT, labels, footprint.resident_bytes),
        (metric.CB_WORST_PLANNED, labels, footprint.worst_planned_bytes),
        (metric.CB_WORST_RESIDENT, labels, footprint.worst_resident_bytes),
    ]


def _kernel_rows(labels: Labels, found: Mapping[Kind, KindUsage]) -> Told:
    """All types, also those of which there are none: these are counted."""
    rows: Told = []
    for kind, word in _KERNELS.items():
        usage = found.get(kind)
        if usage is None and kind is Kind.KERNEL_UNKNOWN:
            continue
        rows.append((metric.KERNELS, (*labels, word), usage.count if usage else 0))
        rows.append((metric.KERNEL_BYTES, (*labels, word), usage.used_bytes if usage else 0))
    return rows


def _ring_rows(labels: Labels, live: int, retired: int, free: int | None, entries: int) -> Told:
    return [
        (metric.RING, (*labels, "live"), live),
        (metric.RING, (*labels, "retired"), retired),
        (metric.RING, (*labels, "free"), free),
        (metric.RING_ENTRIES, labels, entries),
    ]


def _cache_rows(labels: Labels, entries: int, held_bytes: int) -> Told:
    return [(metric.CACHE_ENTRIES, labels, entries), (metric.CACHE_BYTES, labels, held_bytes)]


_CORES = (metric.L1, metric.WORST, metric.WORST_RESIDENT, metric.CORE)
_BUFFERS = (metric.CB_PLANNED, metric.CB_RESIDENT, metric.CB_WORST_PLANNED, metric.CB_WORST_RESIDENT)
SUBJECTS = (
    Subject(_CORES, _l1, _l1_rows),
    Subject(_BUFFERS, _circular_buffers, _circular_buffer_rows),
    Subject((metric.KERNELS, metric.KERNEL_BYTES), _kernels, _kernel_rows),
    Subject((metric.RING, metric.RING_ENTRIES), _rings, _ring_rows),
    Subject((metric.CACHE_ENTRIES, metric.CACHE_BYTES), _caches, _cache_rows),
)
