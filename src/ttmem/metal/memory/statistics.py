"""How full a kind of memory is: the figures of the runtime's memory view, and its block table."""

from typing import NamedTuple

__all__ = ["Block", "Search", "Statistics"]


class Statistics(NamedTuple):
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
