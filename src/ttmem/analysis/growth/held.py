"""What a program never freed by itself, by line."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ttmem.analysis.growth.counting import LineKey, line_of
from ttmem.recording import Batch, Ending, LifeFlag

__all__ = ["Held", "HeldCounter", "Until"]

Until = Literal["recording ended", "device closed", "process ended"]
_UNTIL: dict[int, Until] = {
    Ending.ALIVE: "recording ended",
    Ending.DEVICE_CLOSED: "device closed",
    Ending.PROCESS_ENDED: "process ended",
}
_NOT_COUNTED = LifeFlag.IS_VIEW | LifeFlag.IS_UNCOUNTED


class Held(NamedTuple):
    """One line, and what took it away in the end."""

    key: LineKey
    until: Until
    life_count: int
    size_bytes: int


class HeldCounter:
    """Takes batches of lives, and adds up those that were never freed."""

    def __init__(self) -> None:
        self._sums: dict[tuple[int, ...], list[int]] = defaultdict(lambda: [0, 0])

    def add(self, batch: Batch) -> None:
        names = ("ending", "flags", "bytes", "process", "chips", "pool", "kind", "site", "operation")
        for ending, flags, size, *place in zip(*(batch.lives[name] for name in names), strict=True):
            if ending not in _UNTIL or flags & _NOT_COUNTED:
                continue
            key = (ending, *place)
            its = self._sums[key]
            its[0] += 0 if flags & LifeFlag.IS_PART else 1
            its[1] += size

    def lines(self, texts: Sequence[str]) -> Iterator[Held]:
        """One for each line and end."""
        merged: dict[tuple[LineKey, Until], list[int]] = defaultdict(lambda: [0, 0])
        for (ending, process, chips, pool, kind, site, operation), (count, size) in self._sums.items():
            key = LineKey(process, chips, pool, kind, line_of(texts, site, operation))
            its = merged[key, _UNTIL[ending]]
            its[0] += count
            its[1] += size
        for (key, until), its in merged.items():
            yield Held(key, until, *its)
