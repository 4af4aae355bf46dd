"""One circular piece of memory that launches share, and the table of who is in it.

The kernel ring of every core type is one lane; launch messages are handed out by the same rules, counted in slots
instead of bytes. A launch goes behind the last one, or back to the base where the end is too near. A finished launch
leaves the table only when its place is needed; its bytes stay intact until they are written over.

      base              oldest live            last live          end
       |  retired, intact  |  live   |  live   |  live  |   free    |
                                                        ^ tail: the next launch starts here
"""

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass

from ttmem.metal.chips.architecture import data
from ttmem.tracking import Stall

# WorkerConfigBufferMgr: equal indices mean an empty table, so one entry is never used.
LIVE_ENTRIES = data("runtime")["ring_entry_count"] - 1


@dataclass(frozen=True, slots=True)
class LaneEntry:
    """A launch in the table; it may go once the count of finished workers reaches `sync_count`."""

    address: int
    size: int
    sync_count: int
    is_whole_lane: bool = False  # not a launch: the mark of a trace that may have used every byte

    @property
    def end(self) -> int:
        """The first address behind it."""
        return self.address + self.size


@dataclass(frozen=True, slots=True)
class LanePlace:
    """Where a launch may go, and until which count it must wait for that."""

    address: int
    size: int
    stall_count: int | None = None
    stall: Stall = Stall.NONE


class Lane:
    """Places for launches between `base` and `base + size`, by the rules of WorkerConfigBufferMgr."""

    __slots__ = ("_intact", "base", "end", "entries", "live_size", "retired_size", "tail")

    def __init__(self, base: int, size: int) -> None:
        self.base = base
        self.end = base + size
        self.tail = base
        self.entries: deque[LaneEntry] = deque()
        self.live_size = 0
        self.retired_size = 0
        self._intact: list[tuple[int, int]] = []  # address and end of finished launches not written over, in order

    @property
    def size(self) -> int:
        """All of it, in bytes or slots."""
        return self.end - self.base

    def place(self, size: int) -> LanePlace:
        """Where `size` would go now; changes nothing (WorkerConfigBufferMgr::reserve)."""
        if size == 0:
            return LanePlace(self.tail, 0)
        if size > self.size:
            raise ValueError(f"a launch of {size} does not fit a ring of {self.size}; finalize should have refused it")
        if not self.entries:
            return LanePlace(self.base, size)
        for index in range(len(self.entries)):
            found = self._place_before(index, size)
            if found is not None:
                return found
        raise AssertionError("the last entry always gives way to everything")

    def _place_before(self, index: int, size: int) -> LanePlace | None:
        """The place if the entry at `index` were the oldest; None if more than that one has to go."""
        oldest = self.entries[index]
        is_tail_ahead = self.tail >= oldest.end
        address, end = self.tail, (self.end if is_tail_ahead else oldest.address)
        if is_tail_ahead and address + size > end:
            address, end = self.base, oldest.address
        if address + size <= end:
            if len(self.entries) - index < LIVE_ENTRIES:
                return LanePlace(address, size)
            return LanePlace(address, size, oldest.sync_count, Stall.ENTRIES)
        if index + 1 < len(self.entries):  # after the last one the whole lane is free, and the address is the base
            following = self.entries[index + 1]
            next_end = self.end if address >= following.address else following.address
            if address + size > next_end:
                return None
        return LanePlace(address, size, oldest.sync_count, Stall.FULL if oldest.is_whole_lane else Stall.SPACE)

    def place_at_base(self, size: int) -> LanePlace:
        """The rule of active ethernet cores: always the base, after the launch that was there before."""
        if not self.entries:
            return LanePlace(self.base, size)
        oldest = self.entries[0]
        return LanePlace(self.base, size, oldest.sync_count, Stall.FULL if oldest.is_whole_lane else Stall.ORDER)

    def take(self, place: LanePlace, sync_count: int) -> None:
        """Puts a launch there (WorkerConfigBufferMgr::alloc); what lay there before is gone."""
        if place.size == 0:
            return
        if len(self.entries) == LIVE_ENTRIES:
            raise ValueError(f"all {LIVE_ENTRIES} entries are live: free up to the stall count before allocating")
        entry = LaneEntry(place.address, place.size, sync_count)
        self._write_over(entry)
        self.entries.append(entry)
        self.live_size += entry.size
        self.tail = entry.end

    def retire(self, sync_count: int) -> None:
        """Takes finished launches out of the table, oldest first (WorkerConfigBufferMgr::free)."""
        while self.entries and self.entries[0].sync_count <= sync_count:
            entry = self.entries.popleft()
            self.live_size -= entry.size
            if not entry.is_whole_lane:
                insort(self._intact, (entry.address, entry.end))
                self.retired_size += entry.size

    def fill(self, sync_count: int) -> None:
        """One entry over everything: the next launch waits (WorkerConfigBufferMgr::mark_completely_full)."""
        self.entries.clear()
        self._intact.clear()
        self.retired_size = 0
        self.entries.append(LaneEntry(self.base, self.size, sync_count, is_whole_lane=True))
        self.live_size = self.size
        self.tail = self.end

    def _write_over(self, entry: LaneEntry) -> None:
        first = bisect_left(self._intact, (entry.address, entry.address))
        if first and self._intact[first - 1][1] > entry.address:
            first -= 1
        last = first
        while last < len(self._intact) and self._intact[last][0] < entry.end:
            address, end = self._intact[last]
            self.retired_size -= end - address
            last += 1
        del self._intact[first:last]
