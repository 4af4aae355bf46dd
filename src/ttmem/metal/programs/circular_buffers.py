"""Circular buffers, dataflow buffers and scratchpads of a program: its working memory on each of its cores.

A local one gets its address when the program is laid out. A global one (or a borrowed dataflow buffer) is a view: it
lies in a buffer that other code allocated, and takes nothing of its own.
"""

from dataclasses import dataclass

from ttmem.devices import BufferType, Kind
from ttmem.metal.chips.numbers import are_whole
from ttmem.metal.memory import Buffer
from ttmem.metal.programs.core_ranges import CoreRanges
from ttmem.metal.programs.refusals import CircularBufferMisfit, ProgramMisuse

__all__ = ["PAGE_COUNT_MAX", "CircularBuffer"]

PAGE_COUNT_MAX = 65_535
L1_TYPES = frozenset({BufferType.L1, BufferType.L1_SMALL})


@dataclass(slots=True, eq=False, kw_only=True)
class CircularBuffer:
    """One of them; `size_bytes` on each core. Change it through its program, which must lay it out again."""

    id: int  # its place in the program
    kind: Kind
    cores: CoreRanges
    size_bytes: int
    page_bytes: int
    index: int = 0
    buffer: Buffer | None = None
    offset_bytes: int = 0
    address: int = 0
    is_remote: bool = False

    def __post_init__(self) -> None:
        self.check()
        if self.buffer is not None:
            self.address = self.view_address(self.buffer)

    @property
    def is_global(self) -> bool:
        """A view of a buffer."""
        return self.buffer is not None

    @property
    def core_bytes(self) -> int:
        """On all its cores; 0 for a view."""
        return 0 if self.is_global else self.size_bytes * self.cores.core_count

    def check(self) -> None:
        """What `CircularBufferConfig` and `CircularBufferImpl` refuse, as they refuse it."""
        if not isinstance(self.cores, CoreRanges):
            raise ProgramMisuse(f"no cores for a circular buffer: {self.cores!r}; use CoreRanges, like CoreRanges.grid")
        if not are_whole(self.size_bytes, self.page_bytes, self.index, self.offset_bytes):
            raise ProgramMisuse(
                f"circular buffer of {self.size_bytes!r} B, pages of {self.page_bytes!r} B, index {self.index!r}, "
                f"offset {self.offset_bytes!r} B: all of these are whole numbers, not below 0"
            )
        if not self.size_bytes or not self.page_bytes or self.size_bytes % self.page_bytes:
            raise ProgramMisuse(
                f"Total circular buffer size {self.size_bytes} B must be divisible by page size {self.page_bytes} B"
            )
        if self.size_bytes // self.page_bytes > PAGE_COUNT_MAX:
            raise ProgramMisuse(
                f"circular buffer of {self.size_bytes // self.page_bytes} pages; at most {PAGE_COUNT_MAX} are counted"
            )
        if self.buffer is not None:
            self._check_view(self.buffer)
        elif self.offset_bytes:
            raise ProgramMisuse(
                f"an offset of {self.offset_bytes} B into no buffer; only a view has one: give `buffer`, too"
            )

    def _check_view(self, buffer: Buffer) -> None:
        if not isinstance(buffer, Buffer):
            raise ProgramMisuse(f"no buffer to look at: {buffer!r}; use what create_buffer returns")
        if buffer.buffer_type not in L1_TYPES:
            raise ProgramMisuse(
                f"Only L1 buffers can have an associated circular buffer; {buffer!r} is none: create it with "
                "BufferType.L1"
            )
        self.refuse_if_freed()
        if self.offset_bytes + self.size_bytes > buffer.placement.per_bank_bytes:
            raise CircularBufferMisfit(
                f"Requested to set globally allocated circular buffer size to {self.size_bytes} B. This is larger than "
                f"the associated dynamically allocated L1 buffer bank size of {buffer.placement.per_bank_bytes} B",
                size_bytes=self.offset_bytes + self.size_bytes,
                limit_bytes=buffer.placement.per_bank_bytes,
            )

    def view_address(self, buffer: Buffer) -> int:
        """Where it lies in a buffer, which must be the same on all its cores."""
        if not buffer.placement.cores:
            return buffer.address + self.offset_bytes
        first, address = (0, 0), 0
        for core in self.cores.in_order:
            own = buffer.address_on(core)
            if own is None:
                raise ProgramMisuse(
                    f"Per-core-allocated buffer has no shard on core {core[0]}-{core[1]}, so it has no address on "
                    f"cores {self.cores.runtime_text}; limit the cores to the buffer's shard grid"
                )
            if not address:
                first, address = core, own
            elif own != address:
                raise ProgramMisuse(
                    f"Per-core-allocated buffer sits at {address:#x} on core {first[0]}-{first[1]} but {own:#x} on "
                    f"core {core[0]}-{core[1]}, so cores {self.cores.runtime_text} do not share one address; split "
                    "them into groups that do"
                )
        return address + self.offset_bytes

    def refuse_if_freed(self) -> None:
        """A view of a buffer that is gone would look at another buffer's bytes."""
        if self.buffer is not None and not self.buffer.is_allocated:
            raise ProgramMisuse(f"circular buffer {self.id} looks at {self.buffer!r}; bind it to one that is allocated")
