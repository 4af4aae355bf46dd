"""What several processes held together between two moments, in the order of time.

A process that is found a while after it began is read from its beginning then, so a recording has its rows behind those
of others that came later. Lives know their times, and the highest sum follows from those.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from ttmem.analysis.alive import AliveSum
from ttmem.devices import Pool
from ttmem.recording import Life, LifeFlag, Lives, Recording

__all__ = ["TogetherPeak", "holders_at", "together_peaks"]

_FRAMES = 2  # of a stack: the line that asked, and the one that called it
_Step = tuple[int, int]  # time, and by how much it is more then


class TogetherPeak(NamedTuple):
    """The highest of a pool of a chip, and when that was (CLOCK_MONOTONIC)."""

    size_bytes: int
    time_ns: int


def together_peaks(recording: Recording, from_ns: int, until_ns: int) -> dict[tuple[int, Pool], TogetherPeak]:
    """By the unique id of the chip and the pool; what was held at the first moment counts."""
    steps: dict[tuple[int, int], list[_Step]] = defaultdict(list)  # by set of chips and pool
    lives = Lives(recording, from_ns=from_ns, until_ns=until_ns, events=())
    names = ("chips", "pool", "bytes", "begin_ns", "end_ns", "flags")
    for batch in lives.batches():
        for chips, pool, size, begin_ns, end_ns, flags in zip(*(batch.lives[name] for name in names), strict=True):
            if size and begin_ns <= until_ns and not flags & LifeFlag.IS_UNCOUNTED:
                its = steps[chips, pool]
                its.append((max(begin_ns, from_ns), size))
                if end_ns and end_ns <= until_ns:
                    its.append((max(end_ns, from_ns), -size))
    return dict(_peaks(steps, lives))


def _peaks(steps: dict[tuple[int, int], list[_Step]], lives: Lives) -> Iterator[tuple[tuple[int, Pool], TogetherPeak]]:
    """Chips that are in the same sets have the same."""
    sets_of: dict[tuple[int, int], list[int]] = defaultdict(list)
    for chips, pool in steps:
        for chip in lives.chip_sets[chips]:
            sets_of[chip, pool].append(chips)
    known: dict[tuple[int, tuple[int, ...]], TogetherPeak] = {}
    for (chip, pool), sets in sets_of.items():
        name = (pool, tuple(sets))
        if name not in known:
            known[name] = _peak(sorted(step for chips in sets for step in steps[chips, pool]))
        yield (chip, Pool.numbered(pool)), known[name]


def _peak(steps: list[_Step]) -> TogetherPeak:
    """Of steps in their order; of those at one time the smaller come first."""
    sums = list(accumulate(size for _, size in steps))
    highest = max(sums)
    return TogetherPeak(highest, steps[sums.index(highest)][0])


def holders_at(recording: Recording, chip: int, pool: Pool, time_ns: int, until_ns: int) -> list[AliveSum]:
    """Which lines and operations had a pool of a chip at a moment, the largest first; what was read up to `until_ns`
    counts."""
    sums: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
    for life in Lives(recording, from_ns=time_ns, until_ns=until_ns, events=()).rows():
        if chip in life.chips and life.pool is pool and _is_alive(life, time_ns):
            one = sums["\n".join(life.site.split("\n")[:_FRAMES]), life.operation]
            one[0] += life.bytes
            one[1] += 1
    found = [AliveSum(names, *figures) for names, figures in sums.items()]
    return sorted(found, key=lambda one: (-one.size_bytes, one.names))


def _is_alive(life: Life, time_ns: int) -> bool:
    has_begun = life.begin_ns <= time_ns and (not life.end_ns or life.end_ns > time_ns)
    return has_begun and bool(life.bytes) and not life.flags & LifeFlag.IS_UNCOUNTED
