"""The pieces of an address space as they are drawn: each with a letter, a colour and a word of its own."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ttmem.snapshot.chip_map import ChipMap, Space, Stretch
from ttmem.view.spans import Role

__all__ = ["FREE", "SORTS", "Part", "Sort", "parts_of"]


class Sort(NamedTuple):
    """One sort of memory: by this letter in bars, in this colour, and what it is."""

    letter: str
    role: Role
    word: str  # in a legend
    words: str  # in a list


FREE = Sort(".", Role.BAR_REST, "free", "free")
SORTS = {
    "reserved": Sort("R", Role.BAR_RESERVED, "reserved", "reserved by the runtime"),
    "ring_live": Sort("K", Role.BAR_RING, "ring live", "kernel ring: programs that may run"),
    "ring_retired": Sort("O", Role.BAR_RETIRED, "ring retired", "kernel ring: finished programs"),
    "ring": Sort("_", Role.BAR_PEAK, "ring unused", "kernel ring: not in use"),
    "cb": Sort("C", Role.BAR_CB, "CBs", "CBs of the program that ran last"),
    "planned": Sort("P", Role.BAR_PLANNED, "CBs planned", "CBs of other loaded programs"),
    "buffer": Sort("B", Role.BAR_BUFFER, "buffers", "buffers"),
    "small": Sort("S", Role.BAR_SMALL, "L1_SMALL", "buffers in L1_SMALL"),
    "trace": Sort("T", Role.BAR_TRACE, "TRACE", "traces"),
    "free": FREE,
}


class Part(NamedTuple):
    """A stretch of one sort. Of the ring it is known how much is in use, not where: that is drawn from its start."""

    sort: Sort
    begin: int
    end: int
    alive_count: int = 0
    hole_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        return self.end - self.begin

    @property
    def used_bytes(self) -> int:
        return 0 if self.sort is FREE else self.size_bytes - self.hole_bytes


def parts_of(chip: ChipMap, space: Space) -> list[Part]:
    """All of a space, in order of address, without gaps."""
    return list(_divided(chip, space.stretches))


def _divided(chip: ChipMap, stretches: Iterable[Stretch]) -> Iterator[Part]:
    for one in stretches:
        if one.kind != "ring":
            yield Part(SORTS[one.kind], one.begin, one.end, one.count, one.hole_bytes)
            continue
        at = one.begin
        for name, size in (("ring_live", chip.ring_live_bytes), ("ring_retired", chip.ring_retired_bytes)):
            end = min(one.end, at + (size or 0))
            if end > at:
                yield Part(SORTS[name], at, end)
            at = end
        if one.end > at:
            yield Part(SORTS["ring"], at, one.end)
