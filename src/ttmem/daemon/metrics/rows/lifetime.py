"""Rows that only ever grow: what happened on every chip, and what was read, since the daemon began.

The ledger keeps these sums, also of processes that have ended and were forgotten; so a difference between two pages is
what happened in between.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import Rows
from ttmem.daemon.metrics.rows.chips import MEMORIES, Chip
from ttmem.devices import Pool
from ttmem.tracking import Cache, CacheOutcome, Stall

__all__ = ["ChipLifetime", "Intake", "Lifetime", "add_happened", "lifetime_from_rows"]

# Numbers with their words, looked up once: there are thousands of rows.
_POOLS = tuple((int(pool), pool.word) for pool in MEMORIES)
_STALLS = tuple((int(stall), stall.word) for stall in Stall)
_CACHES = tuple((int(cache), cache.word) for cache in Cache)
_OUTCOMES = tuple((int(outcome), outcome.word) for outcome in CacheOutcome)
_ALWAYS_TOLD = (CacheOutcome.HIT, CacheOutcome.MISS)  # of a cache that was ever asked; the others once they happened


class ChipLifetime(NamedTuple):
    """What happened on one chip; the tuples by the numbers of pools, stalls and caches."""

    launches: int
    clashes: int
    allocations: Sequence[int]
    frees: Sequence[int]
    refusals: Sequence[int]
    stalls: Sequence[int]
    caches: Sequence[Sequence[int]]  # by outcome


class Intake(NamedTuple):
    """What was read from one kind of source, and what was not."""

    events: int = 0
    lost: int = 0
    skipped: int = 0
    untabled: int = 0
    processes: int = 0
    last_ns: int = 0  # when the newest of them was said; 0 before there was one


class Lifetime(NamedTuple):
    """Everything since the beginning; chips by the numbers of the ledger."""

    chips: dict[int, ChipLifetime]
    journals: Intake
    sockets: Intake


def lifetime_from_rows(rows: Sequence[Any]) -> Lifetime:
    """What `Ledger.lifetime()` hands out."""
    chips, journals, sockets = rows
    return Lifetime({number: ChipLifetime(*figures) for number, *figures in chips}, Intake(*journals), Intake(*sockets))


def add_happened(rows: Rows, chip: Chip, happened: ChipLifetime) -> None:
    """The counters of one chip. Those that alerts watch are there from the start, at 0."""
    rows.add(metric.LAUNCHES, chip.labels, happened.launches)
    rows.add(metric.CLASHES, chip.labels, happened.clashes)
    rows.add(metric.OUT_OF_MEMORY, (*chip.labels, Pool.CB.word), happened.refusals[Pool.CB])
    capacities = chip.usage.device.capacity_bytes
    for pool, word in _POOLS:
        if capacities[pool] or happened.allocations[pool] or happened.refusals[pool]:
            labels = (*chip.labels, word)
            rows.add(metric.ALLOCATIONS, labels, happened.allocations[pool])
            rows.add(metric.FREES, labels, happened.frees[pool])
            rows.add(metric.OUT_OF_MEMORY, labels, happened.refusals[pool])
    for stall, word in _STALLS:
        if happened.stalls[stall]:
            rows.add(metric.STALLS, (*chip.labels, word), happened.stalls[stall])
    for cache, word in _CACHES:
        outcomes = happened.caches[cache]
        for outcome, result in _OUTCOMES if any(outcomes) else ():
            if outcomes[outcome] or outcome in _ALWAYS_TOLD:
                rows.add(metric.CACHE, (*chip.labels, word, result), outcomes[outcome])
