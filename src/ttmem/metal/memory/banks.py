"""All banks of one kind of memory, which move in lockstep: what one bank gives up, every bank gives up.

BankManager of tt-metal keeps one free list for all banks of a type and asks it for the first block that fits, from
the top or from the bottom (FreeListOpt with the policy FIRST).
"""

from collections.abc import Iterator
from typing import NamedTuple

from ttmem.metal.memory.holes import Holes

__all__ = ["BankStatistics", "Banks", "Block", "Range", "Search"]

Range = tuple[int, int]  # first address, end


class BankStatistics(NamedTuple):
    """One kind of memory; all bytes are those of **one bank**: the banks move in lockstep."""

    bank_count: int
    bank_bytes: int
    allocated_bytes: int
    free_bytes: int
    largest_free_bytes: int


class Block(NamedTuple):
    """A stretch of every bank, taken or free; `offset_bytes` from where the banks of that kind begin."""

    offset_bytes: int
    size_bytes: int
    is_allocated: bool


class Search(NamedTuple):
    """What was left to choose from when allocators of the mode HYBRID had to avoid each other."""

    dependency_range_count: int  # taken by the other allocators of the same chip
    occupied_range_count: int  # taken by cores, on all chips
    placeable_bytes: int  # in free blocks of the size asked for or larger, without what is taken
    window_count: int
    largest_window_bytes: int


class Banks:
    """One kind of memory: `bank_count` equal banks that begin at the same address."""

    __slots__ = ("_allocated_bytes", "_holes", "_taken", "bank_bytes", "bank_count", "base", "block_alignment")

    def __init__(self, bank_count: int, bank_bytes: int, base: int, *, block_alignment: int) -> None:
        self.bank_count = bank_count
        self.bank_bytes = bank_bytes
        self.base = base
        self.block_alignment = block_alignment
        self._holes = Holes(bank_bytes)
        self._taken: dict[int, int] = {}  # offset -> size
        self._allocated_bytes = 0

    def rounded(self, per_bank_bytes: int) -> int:
        """What a bank gives up for a number of bytes: whole blocks of the DRAM alignment, also in L1."""
        step = self.block_alignment
        return -(-per_bank_bytes // step) * step

    def take(self, size_bytes: int, *, is_bottom_up: bool) -> int | None:
        """The address of a block of that (rounded) size, or None if no free block is large enough."""
        holes = self._holes
        offset = holes.take_lowest(size_bytes) if is_bottom_up else holes.take_highest(size_bytes)
        if offset is None:
            return None
        self._taken[offset] = size_bytes
        self._allocated_bytes += size_bytes
        return self.base + offset

    def take_at(self, address: int, size_bytes: int) -> None:
        """Take a block that is known to be free."""
        offset = address - self.base
        self._holes.take_at(offset, size_bytes)
        self._taken[offset] = size_bytes
        self._allocated_bytes += size_bytes

    def give_back(self, address: int) -> None:
        """Free the block that begins at an address."""
        size_bytes = self._taken.pop(address - self.base)
        self._allocated_bytes -= size_bytes
        self._holes.put_back(address - self.base, size_bytes)

    def moved_up(self, size_bytes: int) -> "Banks":
        """The same without the lowest bytes of each bank, or with more of them if that is below 0."""
        moved = Banks(
            self.bank_count, self.bank_bytes - size_bytes, self.base + size_bytes, block_alignment=self.block_alignment
        )
        for offset, taken_bytes in self._taken.items():
            moved.take_at(self.base + offset, taken_bytes)
        return moved

    def clear(self) -> None:
        """Free everything."""
        self._holes = Holes(self.bank_bytes)
        self._taken.clear()
        self._allocated_bytes = 0

    @property
    def statistics(self) -> BankStatistics:
        """The figures of one bank."""
        return BankStatistics(
            bank_count=self.bank_count,
            bank_bytes=self.bank_bytes,
            allocated_bytes=self._allocated_bytes,
            free_bytes=self.bank_bytes - self._allocated_bytes,
            largest_free_bytes=self._holes.largest_bytes,
        )

    @property
    def lowest_address(self) -> int | None:
        """Where the lowest block that is taken begins; None if none is."""
        if not self._taken:
            return None
        start, size_bytes = next(iter(self._holes), (0, 0))
        return self.base + (0 if start else size_bytes)

    def free_ranges(self, least_bytes: int) -> list[Range]:
        """Free stretches of at least that size in address order."""
        base = self.base
        return [(base + start, base + start + size) for start, size in self._holes if size >= least_bytes]

    def taken_ranges(self) -> list[Range]:
        """Taken stretches in address order; blocks that touch are one."""
        if not self._taken:
            return []
        ranges, end = [], self.base
        for start, size in self._holes:
            if self.base + start > end:
                ranges.append((end, self.base + start))
            end = self.base + start + size
        if end < self.base + self.bank_bytes:
            ranges.append((end, self.base + self.bank_bytes))
        return ranges

    def blocks(self) -> Iterator[Block]:
        """Taken and free blocks in address order, without gaps."""
        blocks = [Block(offset, size_bytes, True) for offset, size_bytes in self._taken.items()]
        blocks += (Block(offset, size_bytes, False) for offset, size_bytes in self._holes)
        return iter(sorted(blocks))
