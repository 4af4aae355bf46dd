"""Counts what every line had alive at the ends of runs, in one pass over lives.

A life is alive at the end of a run if it began before and ended after. Ends of runs are marks: how many phases of the
process had ended by then, or how many launches it had made. Lives know the marks of their beginning and their end.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from ttmem.analysis.growth.answers import RunSeries
from ttmem.recording import Batch, Ending, LifeFlag

__all__ = ["CountedSeries", "LineKey", "LineRuns", "RunCounter", "Survived", "line_of"]

_FRAMES = 2  # of a stack: the line that asked, and the one that called it
_NOT_COUNTED = LifeFlag.IS_VIEW | LifeFlag.IS_UNCOUNTED
_COLUMNS = (
    *("process", "chips", "pool", "kind", "site", "operation", "bytes", "flags", "ending"),
    *("begin_sequence", "begin_ns", "id", "address", "thread", "tensor"),
)


class CountedSeries(NamedTuple):
    """Runs to compare, of one process."""

    process: int  # its number
    said: RunSeries
    marks: Sequence[int]  # of the ends of compared runs, ascending
    is_by_launch: bool  # marks count launches; else ends of phases


class LineKey(NamedTuple):
    """What is counted together; numbers are those of tables."""

    process: int
    chips: int
    pool: int
    kind: int
    line: str


class Survived(NamedTuple):
    """A life that was made after the first compared run and is alive at the end of the last."""

    sequence: int
    run: int  # place among the compared runs
    began_ns: int
    id: int
    address: int
    size_bytes: int
    thread: int
    site: int
    operation: int
    tensor: int


class LineRuns(NamedTuple):
    """One line in one series."""

    key: LineKey
    counts: tuple[int, ...]
    sizes: tuple[int, ...]
    first: Survived | None


class _Tally:
    """Changes from one end to the next."""

    def __init__(self, run_count: int) -> None:
        self.counts = [0] * (run_count + 1)
        self.sizes = [0] * (run_count + 1)
        self.first: Survived | None = None

    def add(self, begin: int, end: int, count: int, size: int) -> None:
        self.counts[begin] += count
        self.counts[end] -= count
        self.sizes[begin] += size
        self.sizes[end] -= size


def line_of(texts: Sequence[str], site: int, operation: int) -> str:
    """The line that asked and the one that called it; the operation, where no line is known."""
    return "\n".join(texts[site].split("\n")[:_FRAMES]) or texts[operation]


class RunCounter:
    """Takes batches of lives, then says what each line had at the ends of the runs of one series."""

    def __init__(self, series: CountedSeries) -> None:
        self.series = series
        self._tallies: dict[tuple[int, int, int, int, int], _Tally] = {}

    def add(self, batch: Batch) -> None:
        lives, marks, run_count = batch.lives, self.series.marks, len(self.series.marks)
        word = "launch" if self.series.is_by_launch else "mark"
        begins, ends = lives[f"begin_{word}"], lives[f"end_{word}"]
        rows = zip(begins, ends, *(lives[name] for name in _COLUMNS), strict=True)
        for began, ended, process, chips, pool, kind, site, operation, size, flags, ending, *rest in rows:
            if process != self.series.process or flags & _NOT_COUNTED:
                continue
            begin = bisect_left(marks, began)
            end = run_count if ending == Ending.ALIVE else bisect_left(marks, ended)
            if begin >= end:
                continue
            key = (chips, pool, kind, site, operation)
            tally = self._tallies.get(key)
            if tally is None:
                tally = self._tallies[key] = _Tally(run_count)
            tally.add(begin, end, 0 if flags & LifeFlag.IS_PART else 1, size)
            is_first = tally.first is None or rest[0] < tally.first.sequence
            if begin and end == run_count and is_first:
                sequence, began_ns, number, address, thread, tensor = rest
                its = (size, thread, site, operation, tensor)
                tally.first = Survived(sequence, begin, began_ns, number, address, *its)

    def lines(self, texts: Sequence[str]) -> Iterator[LineRuns]:
        """All lines that had something alive at the end of some compared run."""
        merged: dict[LineKey, list[_Tally]] = {}
        for (chips, pool, kind, site, operation), tally in self._tallies.items():
            key = LineKey(self.series.process, chips, pool, kind, line_of(texts, site, operation))
            merged.setdefault(key, []).append(tally)
        for key, tallies in merged.items():
            yield LineRuns(
                key,
                tuple(accumulate(map(sum, zip(*(one.counts[:-1] for one in tallies), strict=True)))),
                tuple(accumulate(map(sum, zip(*(one.sizes[:-1] for one in tallies), strict=True)))),
                min((one.first for one in tallies if one.first), default=None),
            )
