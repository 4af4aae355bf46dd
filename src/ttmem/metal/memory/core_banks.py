"""L1 handed out core by core, beside what all cores give up together: the runtime's allocator mode HYBRID.

Every chip keeps a free list of its own for each core, and a copy of what was allocated in lockstep on the mesh. Both
avoid each other when an address is chosen, not when memory is freed:

    per core         first fit on each core, clear of all lockstep buffers, on whichever cores those lie
    lockstep         one address, clear of what any core of any chip holds
    range lockstep   one address, clear of what the cores that hold its shards hold, on every chip

A buffer that one core refuses is not undone on the cores before it: the runtime loses those bytes until the device is
closed. Only the chip that refused loses them, so from then on chips of one mesh may give different addresses.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple

from ttmem.metal.memory.banks import Banks, BankStatistics, Range, Search
from ttmem.metal.memory.specs import Core

__all__ = ["CoreBanks", "CoreRefusal", "Occupied", "choose", "merged", "search", "without"]


class Occupied(NamedTuple):
    """What cores hold: as it lies in their address space, and of how many stretches it was put together."""

    ranges: list[Range]
    range_count: int


class CoreRefusal(Exception):
    """One core has no room; nothing but the allocator sees this."""

    def __init__(self, statistics: BankStatistics, found: Search) -> None:
        super().__init__()
        self.statistics = statistics
        self.search = found


class CoreBanks:
    """The L1 of every core of every chip of a mesh. Chips that hold the same share one table of cores."""

    def __init__(self, chip_count: int, bank_bytes: int, base: int, *, block_alignment: int) -> None:
        self._shape = bank_bytes, base, block_alignment
        self._lockstep = self._new_bank()  # what is allocated on all cores at once, the same on every chip
        self._chips: list[dict[Core, Banks]] = [{}] * chip_count

    def take(self, cores: Sequence[Core], size_bytes: int, *, is_bottom_up: bool) -> tuple[tuple[int, ...], ...]:
        """An address on each core, chip after chip, or CoreRefusal."""
        lockstep = self._lockstep.taken_ranges()
        given: dict[int, tuple[int, ...]] = {}  # by table
        for place, table in enumerate(self._chips):
            if id(table) in given:
                continue
            addresses: list[int] = []
            try:
                for core in cores:
                    bank = table.get(core) or table.setdefault(core, self._new_bank())
                    addresses.append(_taken(bank, size_bytes, lockstep, is_bottom_up=is_bottom_up))
            except CoreRefusal:
                self._undo(cores, given)
                self._lose(place, list(zip(cores, addresses, strict=False)))
                raise
            given[id(table)] = tuple(addresses)
        return tuple(given[id(table)] for table in self._chips)

    def give_back(self, cores: Sequence[Core], addresses: Sequence[Sequence[int]]) -> None:
        """Free what `take` gave."""
        self._undo(cores, {id(table): own for table, own in zip(self._chips, addresses, strict=True)})

    def note_lockstep(self, address: int, size_bytes: int) -> None:
        """A buffer was allocated on all cores at once."""
        self._lockstep.take_at(address, size_bytes)

    def forget_lockstep(self, address: int) -> None:
        """It was freed."""
        self._lockstep.give_back(address)

    @property
    def lockstep_statistics(self) -> BankStatistics:
        """How full a chip's copy of what is in lockstep is: without what the mesh rounds pages up by."""
        return self._lockstep.statistics

    def occupied(self, cores: Iterable[Core] | None = None) -> Occupied:
        """What these cores hold on any chip; all cores, without a word about them."""
        wanted = None if cores is None else set(cores)
        ranges: list[Range] = []
        range_count = 0
        for place, chip_count in self._tables().items():
            banks = [bank for core, bank in self._chips[place].items() if wanted is None or core in wanted]
            of_table = [one for bank in banks for one in bank.taken_ranges()]
            ranges += of_table
            range_count += chip_count * len(of_table)
        return Occupied(merged(ranges), range_count)

    def lowest_address(self, cores: Iterable[Core] | None = None) -> int | None:
        """Where the lowest block of these cores begins, on any chip."""
        held = self.occupied(cores).ranges
        return held[0][0] if held else None

    def clear(self) -> None:
        """Free everything, also what refusals have lost."""
        self._lockstep.clear()
        self._chips = [{}] * len(self._chips)

    def _new_bank(self) -> Banks:
        bank_bytes, base, block_alignment = self._shape
        return Banks(1, bank_bytes, base, block_alignment=block_alignment)

    def _tables(self) -> dict[int, int]:
        """The first chip that has each table, and how many have it."""
        first = {id(table): place for place, table in reversed(list(enumerate(self._chips)))}
        return Counter(first[id(table)] for table in self._chips)

    def _undo(self, cores: Sequence[Core], given: Mapping[int, Sequence[int]]) -> None:
        for place in self._tables():
            table = self._chips[place]
            for core, address in zip(cores, given.get(id(table), ()), strict=False):
                table[core].give_back(address)

    def _lose(self, place: int, taken: list[tuple[Core, int]]) -> None:
        """What a chip took before it refused stays taken there, and only there."""
        table = self._chips[place]
        if taken and any(other is table for other in self._chips[place + 1 :]):
            self._chips[place] = deepcopy(table)
            for core, address in taken:
                table[core].give_back(address)


def _taken(bank: Banks, size_bytes: int, lockstep: Sequence[Range], *, is_bottom_up: bool) -> int:
    """A block of one core, clear of what is in lockstep."""
    windows = without(bank.free_ranges(size_bytes), lockstep)
    address = choose(windows, size_bytes, is_bottom_up=is_bottom_up)
    if address is None:
        raise CoreRefusal(bank.statistics, search(windows, dependencies=len(lockstep)))
    bank.take_at(address, size_bytes)
    return address


def merged(ranges: Iterable[Range]) -> list[Range]:
    """The union of stretches, in address order."""
    union: list[Range] = []
    for start, end in sorted(ranges):
        if union and start <= union[-1][1]:
            if end > union[-1][1]:
                union[-1] = union[-1][0], end
        else:
            union.append((start, end))
    return union


def without(free: Iterable[Range], occupied: Sequence[Range]) -> list[Range]:
    """What is left of free stretches beside occupied ones; both in address order, none overlapping its neighbour."""
    left: list[Range] = []
    place = 0
    for start, end in free:
        while place < len(occupied) and occupied[place][1] <= start:
            place += 1
        later = place
        while later < len(occupied) and occupied[later][0] < end:
            if occupied[later][0] > start:
                left.append((start, occupied[later][0]))
            start = max(start, occupied[later][1])
            later += 1
        if start < end:
            left.append((start, end))
    return left


def choose(windows: Sequence[Range], size_bytes: int, *, is_bottom_up: bool) -> int | None:
    """The first window that is large enough, from the bottom or from the top; where a block begins in it."""
    for start, end in windows if is_bottom_up else reversed(windows):
        if end - start >= size_bytes:
            return start if is_bottom_up else end - size_bytes
    return None


def search(windows: Sequence[Range], *, dependencies: int = 0, occupied: int = 0) -> Search:
    """The figures of a search that found nothing."""
    sizes = [end - start for start, end in windows]
    return Search(dependencies, occupied, sum(sizes), len(sizes), max(sizes, default=0))
