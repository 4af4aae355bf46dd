"""What the runtime would have thrown, in its own words and figures."""

from ttmem.devices import BufferType
from ttmem.metal.memory.banks import BankStatistics, Search

__all__ = ["AllocationRefused", "BadBuffer", "ForeignPlacement", "MetalError", "OutOfDeviceMemory"]

# The sentences about L1_SMALL, as BankManager's refusal ends with them.
_SMALL_IS_FULL = " The L1_SMALL region is sized at device open; increase l1_small_size when opening the device."
_SMALL_IS_NONE = (
    " The L1_SMALL region is 0 B because it is reserved at device open; "
    "set l1_small_size large enough for this allocation when opening the device."
)


class MetalError(RuntimeError):
    """The root of what a program on the real runtime would see as an exception."""


class BadBuffer(MetalError):
    """A buffer that cannot be: pages that do not divide it, shards that do not fit the grid."""


class AllocationRefused(MetalError):
    """A buffer that this kind of memory does not take, however much of it is free."""


class ForeignPlacement(MetalError):
    """A placement freed twice, or by an allocator that never gave it."""


class OutOfDeviceMemory(MetalError):
    """No free block is large enough; its text is the runtime's.

    `requested_bytes` are whole aligned pages on one chip, `per_bank_bytes` what each of `bank_count` banks would have
    to store; the statistics are those of the moment of the refusal. With `search`, it is the refusal of an allocator
    that had to avoid others (the mode HYBRID); the statistics are then those of the refusing allocator alone.
    """

    def __init__(
        self,
        buffer_type: BufferType,
        *,
        requested_bytes: int,
        per_bank_bytes: int,
        bank_count: int,
        statistics: BankStatistics,
        search: Search | None = None,
    ) -> None:
        self.buffer_type = buffer_type
        self.requested_bytes = requested_bytes
        self.per_bank_bytes = per_bank_bytes
        self.bank_count = bank_count
        self.statistics = statistics
        self.search = search
        super().__init__(self._text())

    def _text(self) -> str:
        figures = self.statistics
        if self.search is not None:
            return self._text_of_search(figures, self.search)
        return (
            f"Out of Memory: Not enough space to allocate {self.requested_bytes} B {self.buffer_type.name} buffer "
            f"across {self.bank_count} banks, where each bank needs to store {self.per_bank_bytes} B, but bank size is "
            f"{figures.bank_bytes} B (allocated: {figures.allocated_bytes} B, free: {figures.free_bytes} B, "
            f"largest free block: {figures.largest_free_bytes} B).{self._advice()}"
        )

    def _text_of_search(self, figures: BankStatistics, found: Search) -> str:
        return (
            f"Out of Memory: Not enough space after considering dependencies to allocate {self.requested_bytes} B "
            f"{self.buffer_type.name} across {self.bank_count} banks ({self.per_bank_bytes} B per bank), bank size is "
            f"{figures.bank_bytes} B (allocated: {figures.allocated_bytes} B, free: {figures.free_bytes} B, "
            f"largest free block: {figures.largest_free_bytes} B). After subtracting {found.dependency_range_count} "
            f"dependency range(s) and {found.occupied_range_count} additional occupied range(s), "
            f"{found.placeable_bytes} B remained placeable across {found.window_count} window(s), largest "
            f"{found.largest_window_bytes} B."
        )

    def _advice(self) -> str:
        if self.buffer_type is not BufferType.L1_SMALL:
            return ""
        return _SMALL_IS_FULL if self.statistics.bank_bytes else _SMALL_IS_NONE
