"""How full a kind of memory is: the figures of the runtime's memory view, and its block table."""

from typing import NamedTuple

__all__ = ["Block", "Statistics"]


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
