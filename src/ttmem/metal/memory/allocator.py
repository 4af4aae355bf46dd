"""The allocator of one chip, or of a mesh whose chips move as one: which banks, from which end, and in whose words no.

bytes -> pages (aligned to 16 in L1, 32 or 64 in DRAM) -> pages per bank -> a block in every bank of that kind
"""

from collections.abc import Iterator
from dataclasses import dataclass

from ttmem.devices import BufferType
from ttmem.metal.chips import Chip
from ttmem.metal.memory.banks import Banks
from ttmem.metal.memory.refusals import AllocationRefused, ForeignPlacement, OutOfDeviceMemory
from ttmem.metal.memory.specs import BufferSpec, Sharding
from ttmem.metal.memory.statistics import Block, Statistics

__all__ = ["Allocator", "Placement"]

_DRAM_TYPES = frozenset({BufferType.DRAM, BufferType.TRACE})


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where a buffer lies. Two of them are equal only if they are the same one."""

    buffer_type: BufferType
    address: int
    per_bank_bytes: int  # aligned pages, as the runtime's texts count them
    block_bytes: int  # what each bank gives up: the same, rounded to blocks
    reserved_bytes: int  # what all banks of one chip give up together


class Allocator:
    """Hands out addresses as tt-metal does: lockstep banks, first fit, L1 from the top, DRAM from the bottom."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self._banks = _banks(chip)
        self._live: set[Placement] = set()

    def allocate(self, spec: BufferSpec, *, is_bottom_up: bool | None = None) -> Placement:
        """Find room for a buffer, or raise OutOfDeviceMemory; without a direction, from the type's own end.

        A buffer of no bytes takes no memory and lies at address 0 (Buffer::create skips the allocator).
        """
        if not spec.size_bytes:
            return self._remember(Placement(spec.buffer_type, 0, 0, 0, 0))
        banks = self._banks_for(spec)
        per_bank_bytes = self.per_bank_bytes(spec)
        block_bytes = banks.rounded(per_bank_bytes)
        if is_bottom_up is None:
            is_bottom_up = spec.buffer_type in _DRAM_TYPES
        address = banks.take(block_bytes, is_bottom_up=is_bottom_up)
        if address is None:
            raise self._out_of_memory(spec)
        reserved_bytes = block_bytes * banks.bank_count
        return self._remember(Placement(spec.buffer_type, address, per_bank_bytes, block_bytes, reserved_bytes))

    def free(self, placement: Placement) -> None:
        """Give a buffer's memory back."""
        if placement not in self._live:
            raise ForeignPlacement(
                f"{placement.buffer_type.name} at address {placement.address}, {placement.per_bank_bytes} bytes per "
                "bank: not allocated here, or freed before"
            )
        self._live.remove(placement)
        if placement.block_bytes:
            self._banks[placement.buffer_type].give_back(placement.address)

    def clear(self) -> None:
        """Free everything, as closing a device does."""
        self._live.clear()
        for banks in self._banks.values():
            banks.clear()

    def per_bank_bytes(self, spec: BufferSpec) -> int:
        """What each bank stores of a buffer, in aligned pages (Buffer::aligned_size_per_bank)."""
        share = -(-spec.page_count // self._spread(spec)) if spec.page_count else 0
        return share * self.aligned_page_bytes(spec)

    def aligned_page_bytes(self, spec: BufferSpec) -> int:
        """A page as it is stored."""
        silicon = self.chip.architecture
        step = silicon.dram_alignment if spec.buffer_type in _DRAM_TYPES else silicon.l1_alignment
        return -(-spec.page_bytes // step) * step

    def statistics(self, buffer_type: BufferType) -> Statistics:
        """How full that kind of memory is, per bank."""
        return self._banks[buffer_type].statistics

    def blocks(self, buffer_type: BufferType) -> Iterator[Block]:
        """The block table: taken and free stretches in address order, offsets from `base_address`."""
        return self._banks[buffer_type].blocks()

    def base_address(self, buffer_type: BufferType) -> int:
        """Where the banks of that kind begin."""
        return self._banks[buffer_type].base

    @property
    def lowest_l1_address(self) -> int | None:
        """Where the lowest L1 buffer begins, in every bank alike; None without one. Circular buffers must end below."""
        return self._banks[BufferType.L1].lowest_address

    @property
    def live_count(self) -> int:
        """Buffers that were allocated and not freed."""
        return len(self._live)

    def _remember(self, placement: Placement) -> Placement:
        self._live.add(placement)
        return placement

    def _spread(self, spec: BufferSpec) -> int:
        """Over how many banks the pages of a buffer go: all, or one per shard."""
        return spec.sharding.shard_count if spec.sharding else self._banks[spec.buffer_type].bank_count

    def _banks_for(self, spec: BufferSpec) -> Banks:
        """The banks a buffer may go to, or the runtime's refusal."""
        if spec.buffer_type not in self._banks:
            raise AllocationRefused(f"{spec.buffer_type.name} is not memory of a device: it has no banks")
        if spec.sharding is not None:
            self._check_shards(spec.buffer_type, spec.sharding)
        elif spec.buffer_type is BufferType.L1_SMALL:
            raise AllocationRefused("L1_SMALL only supports sharded allocations, see validate_num_banks")
        return self._banks[spec.buffer_type]

    def _check_shards(self, buffer_type: BufferType, sharding: Sharding) -> None:
        """Every shard needs a bank of its own; DRAM banks count as one row."""
        columns, rows = (self.chip.dram_bank_count, 1) if buffer_type in _DRAM_TYPES else self.chip.grid
        wanted = sharding.grid or (min(columns, sharding.shard_count), 1)
        if sharding.shard_count > columns * rows or wanted[0] > columns or wanted[1] > rows:
            raise AllocationRefused(
                f"{sharding.shard_count} shards on {wanted[0]} x {wanted[1]} do not fit the {columns} x {rows} banks "
                f"of {buffer_type.name}"
            )

    def _out_of_memory(self, spec: BufferSpec) -> OutOfDeviceMemory:
        return OutOfDeviceMemory(
            spec.buffer_type,
            requested_bytes=spec.page_count * self.aligned_page_bytes(spec),
            per_bank_bytes=self.per_bank_bytes(spec),
            bank_count=self._spread(spec),
            statistics=self.statistics(spec.buffer_type),
        )


def _banks(chip: Chip) -> dict[BufferType, Banks]:
    """Every kind of memory of a chip. L1_SMALL of no bytes has no banks, a trace region of no bytes has empty ones."""
    silicon = chip.architecture
    dram_base, l1_base, step = silicon.dram_reserved_bytes, silicon.l1_unreserved_base, silicon.dram_alignment
    dram_count, l1_count = chip.dram_bank_count, chip.l1_bank_count
    small_bytes, trace_bytes = chip.l1_small_bank_bytes, chip.trace_bank_bytes
    return {
        BufferType.DRAM: Banks(dram_count, chip.dram_bank_bytes, dram_base, block_alignment=step),
        BufferType.TRACE: Banks(dram_count, trace_bytes, dram_base + chip.dram_bank_bytes, block_alignment=step),
        BufferType.L1: Banks(l1_count, chip.l1_bank_bytes, l1_base, block_alignment=step),
        BufferType.L1_SMALL: Banks(
            l1_count if small_bytes else 0, small_bytes, l1_base + chip.l1_bank_bytes, block_alignment=step
        ),
    }
