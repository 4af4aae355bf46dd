"""Where the local circular buffers of a program lie, and whether L1 buffers leave them that room.

    l1_unreserved_base                      region end          lowest L1 buffer               L1_SMALL
    | cb 0 | cb 1 | cb 2 ...                |         free      | L1 buffers, growing down     |

tt-metal keeps one allocator per different core range of the program (`CircularBufferAllocator`). A buffer begins at
the highest end among the allocators of exactly its own ranges, and is then marked in every allocator whose range
overlaps one of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ttmem.devices import Kind
from ttmem.metal.chips.numbers import rounded_up
from ttmem.metal.programs.circular_buffers import CircularBuffer
from ttmem.metal.programs.core_ranges import CoreRange, CoreRanges
from ttmem.metal.programs.refusals import CircularBufferClash, CircularBufferMisfit

__all__ = ["LowestOn", "ProgramLayout", "Region", "lay_out"]

LowestOn = Callable[[CoreRange], int | None]
Region = tuple[int, int, int]  # first byte, end, mask of the cores on which that is taken


@dataclass(frozen=True, slots=True)
class ProgramLayout:
    """The outcome, not yet written into the circular buffers."""

    program: int
    addresses: tuple[tuple[CircularBuffer, int], ...]
    ends: tuple[tuple[CoreRange, int], ...]  # region end of each range
    regions: tuple[Region, ...]
    region_end: int  # the highest of all; 0 if there are no local ones
    core_mask: int
    is_dataflow: bool

    def check(self, l1_bytes: int, lowest_l1_address: int | None, lowest_on: LowestOn | None = None) -> None:
        """Refuses what `ProgramImpl::validate_circular_buffer_region` refuses.

        `lowest_l1_address` is that of any core; `lowest_on`, that of some, if cores do not all have the same.
        """
        if self.region_end <= l1_bytes and (lowest_l1_address is None or self.region_end <= lowest_l1_address):
            return
        word = "dataflow" if self.is_dataflow else "circular"
        for cores, end in self.ends:
            if end > l1_bytes:
                raise CircularBufferMisfit(
                    f"Statically allocated {word} buffers on core range {cores.runtime_text} grow to {end} B "
                    f"which is beyond max L1 size of {l1_bytes} B",
                    size_bytes=end,
                    limit_bytes=l1_bytes,
                    cores=CoreRanges([cores]),
                )
            if lowest_on is not None:
                lowest_l1_address = lowest_on(cores)
            if lowest_l1_address is not None and lowest_l1_address < end:
                raise CircularBufferClash(
                    f"Statically allocated {word} buffers in program {self.program} clash with L1 buffers on core "
                    f"range {cores.runtime_text}. L1 buffer allocated at {lowest_l1_address} and static {word} buffer "
                    f"region ends at {end}",
                    program=self.program,
                    cores=CoreRanges([cores]),
                    region_end=end,
                    lowest_l1_address=lowest_l1_address,
                )


def lay_out(program: int, buffers: Sequence[CircularBuffer], *, base: int, alignment: int) -> ProgramLayout:
    """Finds an address for every local buffer, in the order they were made (`allocate_circular_buffers`)."""
    local = [buffer for buffer in buffers if not buffer.is_global]
    # Views have allocators, too: nothing of theirs is marked in them, but what overlaps their ranges.
    ends = {cores: 0 for buffer in buffers for cores in buffer.cores.pieces}
    addresses, regions = [], []
    for buffer in local:
        own = buffer.cores.pieces
        address = rounded_up(max(base, *(ends[cores] for cores in own)), alignment)
        _mark(ends, own, address, address + buffer.size_bytes)
        addresses.append((buffer, address))
        regions.append((address, address + buffer.size_bytes, buffer.cores.mask))
    core_mask = 0
    for _, _, mask in regions:
        core_mask |= mask
    return ProgramLayout(
        program=program,
        addresses=tuple(addresses),
        ends=tuple((cores, end) for cores, end in ends.items() if end),
        regions=tuple(regions),
        region_end=max(ends.values(), default=0),
        core_mask=core_mask,
        is_dataflow=any(buffer.kind is Kind.DATAFLOW_BUFFER for buffer in local),
    )


def _mark(ends: dict[CoreRange, int], own: Sequence[CoreRange], address: int, end: int) -> None:
    """Takes the bytes in every range that overlaps; one already taken beyond this address stays as it is."""
    for cores in own:
        for other, other_end in ends.items():
            if other == cores or (other.overlaps(cores) and address >= other_end):
                ends[other] = end
