"""Rows that only ever grow: what happened on every chip since the daemon began."""

from collections.abc import Iterable

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.chips import MEMORIES, Chip
from ttmem.daemon.metrics.families import Labels, Page
from ttmem.daemon.metrics.lifetime import ChipLifetime
from ttmem.devices import Pool
from ttmem.snapshot.device import Device
from ttmem.tracking import Cache, CacheOutcome, Stall

__all__ = ["add_happened"]

_ALWAYS_TOLD = (CacheOutcome.HIT, CacheOutcome.MISS)  # of a cache that was ever asked; the others once they happened


def add_happened(page: Page, chips: Iterable[Chip]) -> None:
    for usage, labels, _, happened in chips:
        if happened is None:
            continue
        page.add(metric.LAUNCHES, labels, happened.launches)
        for stall in Stall:
            page.add(metric.STALLS, (*labels, stall.word), happened.stalls[stall.number] or None)
        _add_caches(page, labels, happened)
        _add_pools(page, labels, usage.device, happened)
        page.add(metric.CLASHES, labels, happened.clashes)


def _add_caches(page: Page, labels: Labels, happened: ChipLifetime) -> None:
    for cache in Cache:
        outcomes = happened.caches[cache.number]
        for outcome in CacheOutcome if any(outcomes) else ():
            if outcomes[outcome] or outcome in _ALWAYS_TOLD:
                page.add(metric.CACHE, (*labels, cache.word, outcome.word), outcomes[outcome])


def _add_pools(page: Page, labels: Labels, device: Device, happened: ChipLifetime) -> None:
    """What alerts watch is there from the start, at 0."""
    page.add(metric.OUT_OF_MEMORY, (*labels, Pool.CB.word), happened.refusals[Pool.CB.number])
    for pool in MEMORIES:
        made, refused = happened.allocations[pool.number], happened.refusals[pool.number]
        if device.capacity(pool) or made or refused:
            page.add(metric.ALLOCATIONS, (*labels, pool.word), made)
            page.add(metric.FREES, (*labels, pool.word), happened.frees[pool.number])
            page.add(metric.OUT_OF_MEMORY, (*labels, pool.word), refused)
