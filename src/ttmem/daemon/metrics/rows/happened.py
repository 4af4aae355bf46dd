"""Rows that only ever grow: what happened on every chip since the daemon began."""

from collections.abc import Iterator, Sequence

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import Labels
from ttmem.daemon.metrics.rows.chips import MEMORIES
from ttmem.daemon.metrics.rows.kept import Chip, Item, Subject, Told
from ttmem.daemon.metrics.rows.lifetime import ChipLifetime
from ttmem.devices import Pool
from ttmem.tracking import Cache, CacheOutcome, Stall

__all__ = ["SUBJECTS"]

# Numbers with their words, looked up once: there are thousands of rows.
_POOLS = tuple((int(pool), pool.word) for pool in MEMORIES)
_CB, _CB_WORD = int(Pool.CB), Pool.CB.word
_STALLS = tuple((int(stall), stall.word) for stall in Stall)
_CACHES = tuple((int(cache), cache.word) for cache in Cache)
_OUTCOMES = tuple((int(outcome), outcome.word) for outcome in CacheOutcome)
_ALWAYS_TOLD = (
    int(CacheOutcome.HIT),
    int(CacheOutcome.MISS),
)  # of a cache that was ever asked; the others once they happened


def _happened(chips: Sequence[Chip]) -> Iterator[tuple[Labels, ChipLifetime]]:
    return ((chip.labels, chip.happened) for chip in chips if chip.happened)


def _launches(chips: Sequence[Chip]) -> list[Item]:
    return [(labels, (happened.launches,)) for labels, happened in _happened(chips)]


def _launch_rows(labels: Labels, launches: int) -> Told:
    return [(metric.LAUNCHES, labels, launches)]


def _stalls(chips: Sequence[Chip]) -> list[Item]:
    return [(labels, (happened.stalls,)) for labels, happened in _happened(chips)]


def _stall_rows(labels: Labels, stalls: Sequence[int]) -> Told:
    return [(metric.STALLS, (*labels, word), stalls[stall]) for stall, word in _STALLS if stalls[stall]]


def _caches(chips: Sequence[Chip]) -> list[Item]:
    return [
        ((*labels, word), (happened.caches[cache],))
        for labels, happened in _happened(chips)
        for cache, word in _CACHES
        if any(happened.caches[cache])
    ]


def _cache_rows(labels: Labels, outcomes: Sequence[int]) -> Told:
    return [
        (metric.CACHE, (*labels, result), outcomes[outcome])
        for outcome, result in _OUTCOMES
        if outcomes[outcome] or outcome in _ALWAYS_TOLD
    ]


def _pools(chips: Sequence[Chip]) -> list[Item]:
    """Those that alerts watch are there from the start, at 0."""
    items: list[Item] = []
    for usage, labels, _, happened in chips:
        if happened is None:
            continue
        capacities = usage.device.capacity_bytes
        allocations, frees, refusals = happened.allocations, happened.frees, happened.refusals
        items.append(((*labels, _CB_WORD), (None, None, refusals[_CB])))
        items += [
            ((*labels, word), (allocations[pool], frees[pool], refusals[pool]))
            for pool, word in _POOLS
            if capacities[pool] or allocations[pool] or refusals[pool]
        ]
    return items


def _pool_rows(labels: Labels, allocations: int | None, frees: int | None, refusals: int) -> Told:
    return [
        (metric.ALLOCATIONS, labels, allocations),
        (metric.FREES, labels, frees),
        (metric.OUT_OF_MEMORY, labels, refusals),
    ]


def _clashes(chips: Sequence[Chip]) -> list[Item]:
    return [(labels, (happened.clashes,)) for labels, happened in _happened(chips)]


def _clash_rows(labels: Labels, clashes: int) -> Told:
    return [(metric.CLASHES, labels, clashes)]


SUBJECTS = (
    Subject((metric.LAUNCHES,), _launches, _launch_rows),
    Subject((metric.STALLS,), _stalls, _stall_rows),
    Subject((metric.CACHE,), _caches, _cache_rows),
    Subject((metric.ALLOCATIONS, metric.FREES, metric.OUT_OF_MEMORY), _pools, _pool_rows),
    Subject((metric.CLASHES,), _clashes, _clash_rows),
)
