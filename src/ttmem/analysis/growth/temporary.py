"""Which allocations were freed before their thread allocated again in that pool, by line."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ttmem.analysis.growth.counting import line_of
from ttmem.devices import Kind
from ttmem.recording import Batch, LifeFlag

__all__ = ["TemporaryCounter", "TemporaryRuns"]

_NOT_COUNTED = LifeFlag.IS_VIEW | LifeFlag.IS_UNCOUNTED | LifeFlag.WAS_FOUND


class TemporaryRuns(NamedTuple):
    """One line of a process in a pool of some chips."""

    process: int
    chips: int
    pool: int
    line: str
    life_count: int
    temporary_count: int
    temporary_bytes: int
    largest_bytes: int
    alive_ns: int


class TemporaryCounter:
    """Takes batches of lives. Only buffers count: programs keep what they have laid out."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])

    def add(self, batch: Batch) -> None:
        names = ("kind", "flags", "bytes", "begin_ns", "end_ns", "process", "chips", "pool", "site", "operation")
        buffer = Kind.BUFFER.number
        for kind, flags, size, began_ns, ended_ns, *key in zip(*(batch.lives[name] for name in names), strict=True):
            if kind != buffer or flags & _NOT_COUNTED:
                continue
            its = self._sums[tuple(key)]
            count = 0 if flags & LifeFlag.IS_PART else 1
            its[0] += count
            if not flags & LifeFlag.IS_TEMPORARY:
                continue
            its[1] += count
            its[2] += size
            its[3] = max(its[3], size)
            its[4] += (ended_ns - began_ns) * count

    def lines(self, texts: Sequence[str]) -> Iterator[TemporaryRuns]:
        """All lines."""
        merged: dict[tuple[int, int, int, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
        for (process, chips, pool, site, operation), its in self._sums.items():
            to = merged[process, chips, pool, line_of(texts, site, operation)]
            to[:] = [*(a + b for a, b in zip(to[:3], its[:3], strict=True)), max(to[3], its[3]), to[4] + its[4]]
        for key, its in merged.items():
            yield TemporaryRuns(*key, *its)
