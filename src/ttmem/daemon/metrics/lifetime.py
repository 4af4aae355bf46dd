"""What has happened since the daemon began, as the ledger hands it out.

The ledger keeps these sums, also of processes that have ended and were forgotten; so a difference between two pages is
what happened in between.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["ChipLifetime", "Intake", "Lifetime", "lifetime_from_rows"]


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
    incidents: tuple[tuple[int, int, int], ...] = ()  # kind, pool, how many: each once, whatever its chips


def lifetime_from_rows(rows: Sequence[Any]) -> Lifetime:
    """What `Ledger.lifetime()` hands out."""
    chips, journals, sockets, incidents = rows
    return Lifetime(
        {number: ChipLifetime(*figures) for number, *figures in chips}, Intake(*journals), Intake(*sockets), incidents
    )
