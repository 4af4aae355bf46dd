"""Finds rounds in what a program launches, where no phase says them: the longest stretch that repeats."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from operator import eq
from typing import NamedTuple

__all__ = ["Iterations", "repeated"]

_CANDIDATES = 12
_LEAST_ROUNDS = 3
_END_MOST = 1 << 17
_NEARLY = 0.95  # of the longest stretch: a shorter round within is preferred then


class Iterations(NamedTuple):
    """`rounds` rounds of `length` launches, from launch number `first` on."""

    first: int
    length: int
    rounds: int

    @property
    def starts(self) -> range:
        """Where rounds begin, and where the last one ends."""
        return range(self.first, self.first + (self.rounds + 1) * self.length, self.length)


def repeated(launches: Sequence[int]) -> Iterations | None:
    """The rounds that cover most; of those that cover as much the shortest. None where nothing repeats three times.

    A round within a round (one layer of a model) covers less than the round of all layers: between two rounds there is
    something else.
    """
    found = [one for length in _lengths(launches) if (one := _rounds(launches, length)) is not None]
    if not found:
        return None
    most = max(one.rounds * one.length for one in found)
    return min((one for one in found if one.rounds * one.length >= most * _NEARLY), key=lambda one: one.length)


def _lengths(launches: Sequence[int]) -> list[int]:
    """How far a program is from its launch before: the length of a round for those that are launched once in it. And of
    what the end repeats, where all are launched more often."""
    last: dict[int, int] = {}
    covered: Counter[int] = Counter()
    for place, program in enumerate(launches):
        distance = place - last.get(program, place)
        covered[distance] += distance
        last[program] = place
    lengths = [distance for distance, _ in covered.most_common(_CANDIDATES) if distance]
    return list(dict.fromkeys([*lengths, *_of_end(launches)]))


def _of_end(launches: Sequence[int]) -> list[int]:
    """The period of the longest end that consists of three rounds or more, by the borders of its beginnings."""
    end = launches[-_END_MOST:][::-1]
    borders = [0] * len(end)
    found: list[int] = []
    for place in range(1, len(end)):
        border = borders[place - 1]
        while border and end[place] != end[border]:
            border = borders[border - 1]
        borders[place] = border + (end[place] == end[border])
        period = place + 1 - borders[place]
        if period * _LEAST_ROUNDS <= place + 1:
            found = [period]
    return found


def _rounds(launches: Sequence[int], length: int) -> Iterations | None:
    """The longest stretch in which each launch is that of one round before."""
    best = Iterations(0, length, 0)
    begin = 0
    same = map(eq, launches, islice(launches, length, None))
    for place, is_same in enumerate(same):
        if not is_same:
            best = _longer(best, begin, place, length)
            begin = place + 1
    best = _longer(best, begin, len(launches) - length, length)
    return best if best.rounds >= _LEAST_ROUNDS else None


def _longer(best: Iterations, begin: int, end: int, length: int) -> Iterations:
    count = (end - begin) // length + 1
    return Iterations(begin, length, count) if end > begin and count > best.rounds else best
