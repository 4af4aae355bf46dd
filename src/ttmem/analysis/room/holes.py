"""Fragmentation: free memory that no buffer of its size could have, and what lies between the holes.

What lies between two holes keeps them apart: lives that touch each other are an island, and one with free addresses on
both sides pins these two holes.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ttmem.analysis.alive import ByWord
from ttmem.analysis.room.answers import RoomAnswer, RunTime
from ttmem.devices import Pool
from ttmem.snapshot.values import ChipName, Count, Struct

__all__ = ["FreeSpan", "HolePoint", "HolesReport", "Pin", "PoolHoles", "pinned"]


class HolePoint(Struct, frozen=True):
    """What was free of a pool at one moment, in all banks together."""

    when: RunTime
    used_bytes: Count
    free_bytes: Count
    largest_free_bytes: Count
    hole_count: Count  # free blocks of one bank, the largest included

    @property
    def unusable_bytes(self) -> int:
        """Free, but not for one buffer of that size."""
        return self.free_bytes - self.largest_free_bytes

    @property
    def unusable_share(self) -> float:
        """Of what is free."""
        return self.unusable_bytes / self.free_bytes if self.free_bytes else 0.0


class Pin(Struct, frozen=True):
    """Lives of one line, or operation, ... that lie between two holes."""

    names: tuple[str, ...]
    size_bytes: Count  # what they take, in all banks
    count: Count
    hole_bytes: Count  # free beside them, in all banks


class PoolHoles(Struct, frozen=True, kw_only=True):
    """One pool of some chips that had the same."""

    chips: tuple[ChipName, ...]
    pool: Pool
    capacity_bytes: Count | None
    worst: HolePoint  # the moment with most unusable bytes
    course: tuple[HolePoint, ...]
    pins: tuple[Pin, ...]  # at the worst moment, those beside most free memory first
    more_pin_count: Count


class HolesReport(RoomAnswer, frozen=True, kw_only=True):
    """Fragmentation over time."""

    by: tuple[ByWord, ...]
    instant_count: Count
    pools: tuple[PoolHoles, ...]


class FreeSpan(NamedTuple):
    """Taken addresses of a bank, and whose they are."""

    begin: int
    end: int
    owner: int


class _Island(NamedTuple):
    begin: int
    end: int
    owners: list[int]


def pinned(spans: Iterable[FreeSpan], begin: int, end: int) -> tuple[list[tuple[int, set[int]]], list[int]]:
    """Owners between two holes, each with the numbers of these holes; and how large each hole is."""
    islands = _islands(sorted(spans))
    if not islands:
        return [], [end - begin] if end > begin else []
    edges = [begin, *(edge for island in islands for edge in (island.begin, island.end)), end]
    sizes = [max(0, edges[at + 1] - edges[at]) for at in range(0, len(edges), 2)]
    found = [
        (owner, {number, number + 1})
        for number, island in enumerate(islands)
        if sizes[number] and sizes[number + 1]
        for owner in island.owners
    ]
    return found, sizes


def _islands(spans: Sequence[FreeSpan]) -> list[_Island]:
    """What touches is one."""
    islands: list[_Island] = []
    for span in spans:
        if islands and span.begin <= islands[-1].end:
            last = islands[-1]
            last.owners.append(span.owner)
            islands[-1] = last._replace(end=max(last.end, span.end))
        else:
            islands.append(_Island(span.begin, span.end, [span.owner]))
    return islands
