"""The fullest core of each chip, or one core, at its own highest or at a moment, and what lay on it then."""

from ttmem.analysis.alive import AliveSum, ByWord
from ttmem.analysis.room.answers import RoomAnswer, RunTime
from ttmem.snapshot.values import ChipName, Count, Struct

__all__ = ["CoreHighest", "CoresReport"]


class CoreHighest(Struct, frozen=True, kw_only=True):
    """A core of some chips that had the same."""

    chips: tuple[ChipName, ...]
    core: tuple[Count, Count] | None  # its x and y; None: no core differed from the others
    when: RunTime
    size_bytes: Count  # buffers, circular buffers of the program that ran there last, kernel ring; each address once
    core_bytes: Count | None  # what a core has for these
    ring_bytes: Count
    buffer_bytes: Count  # L1 and L1_SMALL on that core
    circular_bytes: Count
    listed_bytes: Count  # what all of `sums` are together
    sums: tuple[AliveSum, ...]  # bytes on that core, the largest first
    more_sum_count: Count
    is_highest: bool = True  # False: as it was at the moment that was asked for

    @property
    def shared_bytes(self) -> int:
        """What the parts are together beyond the whole: several lie at these addresses."""
        return max(0, self.ring_bytes + self.buffer_bytes + self.circular_bytes - self.size_bytes)


class CoresReport(RoomAnswer, frozen=True, kw_only=True):
    """Cores at their own highest, or at a moment; `asked` is the one that was asked for."""

    by: tuple[ByWord, ...]
    asked: tuple[Count, Count] | None
    cores: tuple[CoreHighest, ...]
