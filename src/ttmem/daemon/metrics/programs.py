"""Rows about what programs take of a chip: L1 by kind and of the fullest core, circular buffers, kernels, caches."""

from collections.abc import Iterable

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.chips import ExportedChip
from ttmem.daemon.metrics.families import Labels, Page
from ttmem.devices import Kind, Pool
from ttmem.snapshot import DeviceUsage, Footprint

__all__ = ["add_programs"]

_KERNELS = {kind: kind.kernel_word for kind in Kind if kind.is_kernel}
_L1_KINDS = {Pool.L1: "buffer", Pool.L1_SMALL: "small_buffer"}


def add_programs(page: Page, chips: Iterable[ExportedChip]) -> None:
    for usage, labels, *_ in chips:
        if usage.launch_count is None:  # only the runtime's counters tell of it
            continue
        _add_l1(page, labels, usage)
        if usage.activity.footprint:
            _add_circular_buffers(page, labels, usage.activity.footprint)
        _add_kernels(page, labels, usage)
        for ring in usage.activity.rings:
            its = (*labels, ring.core_type.word)
            page.add(metric.RING, (*its, "live"), ring.live_bytes)
            page.add(metric.RING, (*its, "retired"), ring.retired_bytes)
            page.add(metric.RING, (*its, "free"), ring.free_bytes)
            page.add(metric.RING_ENTRIES, its, ring.entry_count)
        for cache in usage.activity.caches:
            page.add(metric.CACHE_ENTRIES, (*labels, cache.cache.word), cache.entry_count)
            page.add(metric.CACHE_BYTES, (*labels, cache.cache.word), cache.held_bytes)


def _add_l1(page: Page, labels: Labels, usage: DeviceUsage) -> None:
    pools = [pool for pool in usage.pools if pool.pool in _L1_KINDS and not pool.is_untouched]
    footprint = usage.activity.footprint
    for pool in pools:
        page.add(metric.L1, (*labels, _L1_KINDS[pool.pool]), None if pool.is_read else pool.used_bytes)
    page.add(metric.L1, (*labels, "circular_buffer"), footprint.resident_bytes if footprint else None)
    page.add(metric.L1, (*labels, "kernel_ring"), usage.kernel_ring_bytes)
    for family in (metric.FULLEST, metric.WORST_RESIDENT):
        page.add(family, labels, usage.fullest_core_bytes)
    for family in (metric.PLANNED, metric.WORST):
        page.add(family, labels, usage.planned_core_bytes)
    page.add(metric.HEADROOM, labels, usage.headroom_bytes)
    page.add(metric.CORE, labels, usage.core_bytes)


def _add_circular_buffers(page: Page, labels: Labels, footprint: Footprint) -> None:
    page.add(metric.CB_PLANNED, labels, footprint.planned_bytes)
    page.add(metric.CB_RESIDENT, labels, footprint.resident_bytes)
    page.add(metric.CB_WORST_PLANNED, labels, footprint.worst_planned_bytes)
    page.add(metric.CB_WORST_RESIDENT, labels, footprint.worst_resident_bytes)


def _add_kernels(page: Page, labels: Labels, usage: DeviceUsage) -> None:
    """All types, also those of which there are none: these are counted."""
    found = {kind.kind: kind for kind in usage.kinds if kind.kind in _KERNELS}
    for kind, word in _KERNELS.items():
        held = found.get(kind)
        if held is None and kind is Kind.KERNEL_UNKNOWN:
            continue
        page.add(metric.KERNELS, (*labels, word), held.count if held else 0)
        page.add(metric.KERNEL_BYTES, (*labels, word), held.used_bytes if held else 0)
