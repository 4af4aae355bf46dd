"""Rows about what programs take of a chip: L1 by kind and of the fullest core, circular buffers, kernels, caches."""

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import Rows
from ttmem.daemon.metrics.rows.chips import Chip
from ttmem.devices import Kind, Pool
from ttmem.snapshot import Activity, DeviceUsage, Footprint
from ttmem.tracking import Cache, CoreType

__all__ = ["add_programs"]

_KERNELS = tuple((kind, kind.kernel_word) for kind in Kind if kind.is_kernel)
_CORE_TYPES = {core_type: core_type.word for core_type in CoreType}
_CACHES = {cache: cache.word for cache in Cache}
_L1_KINDS = {Pool.L1: "buffer", Pool.L1_SMALL: "small_buffer"}


def add_programs(rows: Rows, chip: Chip) -> None:
    """All of it; nothing for a chip of which only the runtime's counters tell."""
    if chip.usage.launch_count is None:
        return
    _add_l1(rows, chip)
    activity = chip.usage.activity
    if activity.footprint:
        _add_circular_buffers(rows, chip, activity.footprint)
    _add_kernels(rows, chip)
    _add_rings(rows, chip, activity)
    for cache in activity.caches:
        labels = (*chip.labels, _CACHES[cache.cache])
        rows.add(metric.CACHE_ENTRIES, labels, cache.entry_count)
        rows.add(metric.CACHE_BYTES, labels, cache.held_bytes)


def _add_l1(rows: Rows, chip: Chip) -> None:
    usage = chip.usage
    for pool in usage.pools:
        if pool.pool in _L1_KINDS and not pool.is_read:
            rows.add(metric.L1, (*chip.labels, _L1_KINDS[pool.pool]), pool.used_bytes)
    footprint = usage.activity.footprint
    rows.add(metric.L1, (*chip.labels, "circular_buffer"), footprint.resident_bytes if footprint else None)
    rows.add(metric.L1, (*chip.labels, "kernel_ring"), usage.kernel_ring_bytes)
    rows.add(metric.WORST, chip.labels, usage.worst_core_bytes)
    rows.add(metric.WORST_RESIDENT, chip.labels, _worst_resident_bytes(usage))
    rows.add(metric.CORE, chip.labels, usage.core_bytes)


def _worst_resident_bytes(usage: DeviceUsage) -> int | None:
    """Of the fullest core: its share of all buffers, which take as much of each core, the circular buffers that lie
    there now, and its ring."""
    device, footprint = usage.device, usage.activity.footprint
    if usage.worst_core_bytes is None or usage.core_bytes is None or not device.l1_bank_count:
        return None
    resident = footprint.worst_resident_bytes if footprint else 0
    if resident is None:
        return None
    buffers = sum(pool.used_bytes for pool in usage.pools if pool.pool in _L1_KINDS)
    ring = device.kernel_ring_bytes or 0 if device.open_count else 0
    return min(usage.core_bytes, -(-buffers // device.l1_bank_count) + resident + ring)


def _add_circular_buffers(rows: Rows, chip: Chip, footprint: Footprint) -> None:
    rows.add(metric.CB_PLANNED, chip.labels, footprint.planned_bytes)
    rows.add(metric.CB_RESIDENT, chip.labels, footprint.resident_bytes)
    rows.add(metric.CB_WORST_PLANNED, chip.labels, footprint.worst_planned_bytes)
    rows.add(metric.CB_WORST_RESIDENT, chip.labels, footprint.worst_resident_bytes)


def _add_kernels(rows: Rows, chip: Chip) -> None:
    """All types, also those of which there are none: these are counted."""
    found = {usage.kind: usage for usage in chip.usage.kinds}
    for kind, word in _KERNELS:
        usage = found.get(kind)
        if usage is None and kind is Kind.KERNEL_UNKNOWN:
            continue
        labels = (*chip.labels, word)
        rows.add(metric.KERNELS, labels, usage.count if usage else 0)
        rows.add(metric.KERNEL_BYTES, labels, usage.used_bytes if usage else 0)


def _add_rings(rows: Rows, chip: Chip, activity: Activity) -> None:
    for ring in activity.rings:
        labels = (*chip.labels, _CORE_TYPES[ring.core_type])
        rows.add(metric.RING, (*labels, "live"), ring.live_bytes)
        rows.add(metric.RING, (*labels, "retired"), ring.retired_bytes)
        rows.add(metric.RING, (*labels, "free"), ring.free_bytes)
        rows.add(metric.RING_ENTRIES, labels, ring.entry_count)
