"""The allocator of one chip, or of a mesh whose chips move as one: which banks, from which end, and in whose words no.

bytes -> pages (aligned to 16 in L1, 32 or 64 in DRAM) -> pages per bank -> a block in every bank of that kind

In the mode HYBRID buffers may instead lie on single cores (`core_banks`), and every page in L1 is aligned as in DRAM.
Sub-devices may have L1 of their own (`sub_devices`), which is less for the mesh.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ttmem.devices import BufferType
from ttmem.metal.chips import Chip
from ttmem.metal.memory.banks import Banks, BankStatistics, Block, Search
from ttmem.metal.memory.core_banks import CoreBanks, CoreRefusal, choose, search, without
from ttmem.metal.memory.refusals import AllocationRefused, ForeignPlacement, OutOfDeviceMemory
from ttmem.metal.memory.specs import Allocation, BufferSpec, Core, Sharding
from ttmem.metal.memory.sub_devices import SubDevice, SubDevices

__all__ = ["Allocator", "FreeSpace", "Placement"]

_DRAM_TYPES = frozenset({BufferType.DRAM, BufferType.TRACE})


@dataclass(frozen=True, slots=True, eq=False)
class Placement:
    """Where a buffer lies. Two of them are equal only if they are the same one."""

    buffer_type: BufferType
    address: int
    per_bank_bytes: int  # aligned pages, as the runtime's texts count them
    block_bytes: int  # what each bank gives up: the same, rounded to blocks
    reserved_bytes: int  # what all banks of one chip give up together
    cores: tuple[Core, ...] = ()  # that it lies on, if not on all; `address` is 0 where each has one of its own
    core_addresses: tuple[tuple[int, ...], ...] = ()  # those addresses, core by core, on one chip after the other


class FreeSpace(NamedTuple):
    """The addresses of what gives a buffer its memory, in each bank."""

    begin: int
    end: int
    cores: tuple[Core, ...] = ()  # of a sub-device with L1 of its own


class Allocator:
    """Hands out addresses as tt-metal does: lockstep banks, first fit, L1 from the top, DRAM from the bottom."""

    def __init__(self, chip: Chip, *, chip_count: int = 1, is_hybrid: bool = False) -> None:
        self.chip = chip
        self._banks = _banks(chip)
        self._cores: CoreBanks | None = None
        if is_hybrid:
            l1 = self._banks[BufferType.L1]
            self._cores = CoreBanks(chip_count, l1.bank_bytes, l1.base, block_alignment=l1.block_alignment)
        self._sub_devices: SubDevices | None = None
        self._chip_count = chip_count
        self._live: set[Placement] = set()
        self._on_sub_devices: dict[Placement, SubDevice] = {}

    def load_sub_devices(self, cores: Sequence[Iterable[Core]], local_l1_bytes: int) -> None:
        """Gives each of these sets of cores that many bytes of L1 for itself; buffers name it by its place here."""
        self.clear_sub_devices()
        if self._cores is not None:
            raise AllocationRefused("sub-devices with L1 of their own, in the mode HYBRID: not in this model")
        l1, step = self._banks[BufferType.L1], self.chip.architecture.l1_alignment
        local_bytes = -(-local_l1_bytes // step) * step
        if local_bytes > l1.bank_bytes:
            raise AllocationRefused(
                f"Sub-device 0 local L1 region [{l1.base}, {l1.base + local_bytes}) exceeds allocatable worker L1 "
                f"limit {l1.base + l1.bank_bytes} after persistent allocations"
            )
        lowest = l1.lowest_address
        if lowest is not None and lowest < l1.base + local_bytes:
            raise AllocationRefused(
                f"Shrink size {local_bytes} cuts into allocated block at address {lowest - l1.base}"
            )
        self._sub_devices = SubDevices(
            cores, local_bytes, l1.base, block_alignment=l1.block_alignment, chip_count=self._chip_count
        )
        self._banks[BufferType.L1] = l1.moved_up(local_bytes)

    def clear_sub_devices(self) -> None:
        """Gives their L1 back to the mesh."""
        loaded = self._sub_devices
        if loaded is None:
            return
        if not loaded.is_empty:
            raise AllocationRefused("Cannot switch sub device managers while sub devices still have local allocations")
        self._banks[BufferType.L1] = self._banks[BufferType.L1].moved_up(-loaded.local_bytes)
        self._sub_devices = None

    def space_of(self, spec: BufferSpec) -> FreeSpace:
        """Where the memory lies that a buffer is asked of."""
        found = self._sub_device_of(spec)
        banks = self._banks[spec.buffer_type] if found is None else found.banks
        return FreeSpace(banks.base, banks.base + banks.bank_bytes, () if found is None else found.cores)

    def allocate(self, spec: BufferSpec, *, is_bottom_up: bool | None = None) -> Placement:
        """Find room for a buffer, or raise OutOfDeviceMemory; without a direction, from the type's own end.

        A buffer of no bytes takes no memory and lies at address 0 (Buffer::create skips the allocator).
        """
        if not spec.size_bytes:
            self._refuse_if_mirrored(spec)
            return self._remember(Placement(spec.buffer_type, 0, 0, 0, 0))
        banks = self._banks_for(spec)
        if is_bottom_up is None:
            is_bottom_up = spec.buffer_type in _DRAM_TYPES
        sub_device = self._sub_device_of(spec)
        if sub_device is not None:
            return self._remember(self._on_sub_device(spec, sub_device, is_bottom_up=is_bottom_up))
        if spec.allocation is Allocation.PER_CORE:
            return self._remember(self._on_cores(spec, is_bottom_up=is_bottom_up))
        per_bank_bytes = self.per_bank_bytes(spec)
        block_bytes = self._block_bytes(spec)
        if self._cores is not None and spec.buffer_type is BufferType.L1:
            address = self._beside_cores(spec, self._cores, is_bottom_up=is_bottom_up)
        else:
            found = banks.take(block_bytes, is_bottom_up=is_bottom_up)
            if found is None:
                raise self._out_of_memory(spec, self.statistics(spec.buffer_type))
            address = found
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
        if not placement.block_bytes:
            return
        if placement in self._on_sub_devices:
            self._on_sub_devices.pop(placement).banks.give_back(placement.address)
            return
        if self._cores is not None and placement.cores:
            self._cores.give_back(placement.cores, placement.core_addresses)
            return
        self._banks[placement.buffer_type].give_back(placement.address)
        if self._cores is not None and placement.buffer_type is BufferType.L1:
            self._cores.forget_lockstep(placement.address)

    def clear(self) -> None:
        """Free everything, as closing a device does."""
        self._live.clear()
        self._on_sub_devices.clear()
        if self._sub_devices is not None:
            self._banks[BufferType.L1] = self._banks[BufferType.L1].moved_up(-self._sub_devices.local_bytes)
            self._sub_devices = None
        for banks in self._banks.values():
            banks.clear()
        if self._cores is not None:
            self._cores.clear()

    def per_bank_bytes(self, spec: BufferSpec) -> int:
        """What each bank stores of a buffer, in aligned pages (Buffer::aligned_size_per_bank)."""
        return self._share(spec) * self.aligned_page_bytes(spec)

    def aligned_page_bytes(self, spec: BufferSpec) -> int:
        """A page as it is stored."""
        silicon = self.chip.architecture
        step = silicon.dram_alignment if spec.buffer_type in _DRAM_TYPES else silicon.l1_alignment
        return -(-spec.page_bytes // step) * step

    def statistics(self, buffer_type: BufferType) -> BankStatistics:
        """How full that kind of memory is, per bank; of L1, without what single cores hold, as the runtime's view."""
        return self._banks[buffer_type].statistics

    def blocks(self, buffer_type: BufferType) -> Iterator[Block]:
        """The block table: taken and free stretches in address order, offsets from `base_address`."""
        return self._banks[buffer_type].blocks()

    def base_address(self, buffer_type: BufferType) -> int:
        """Where the banks of that kind begin."""
        return self._banks[buffer_type].base

    @property
    def lowest_l1_address(self) -> int | None:
        """Where the lowest L1 buffer of any core begins; None without one. Circular buffers there must end below."""
        return self.lowest_l1_address_on(None)

    def lowest_l1_address_on(self, cores: Iterable[Core] | None) -> int | None:
        """The same for some cores: buffers of the whole mesh lie on all of them."""
        lowest = [self._banks[BufferType.L1].lowest_address]
        if self._cores is not None:
            lowest.append(self._cores.lowest_address(cores))
        if self._sub_devices is not None:
            lowest.append(self._sub_devices.lowest_address(cores))
        return min((address for address in lowest if address is not None), default=None)

    @property
    def live_count(self) -> int:
        """Buffers that were allocated and not freed."""
        return len(self._live)

    def _remember(self, placement: Placement) -> Placement:
        self._live.add(placement)
        return placement

    def _sub_device_of(self, spec: BufferSpec) -> SubDevice | None:
        """The one that it is asked of; None: the mesh, which is its own only one if none are loaded."""
        if spec.sub_device is None:
            return None
        if self._sub_devices is not None:
            return self._sub_devices.of(spec)
        if spec.sub_device:
            raise AllocationRefused(f"SubDevice index {spec.sub_device} out of bounds 1")
        return None

    def _on_sub_device(self, spec: BufferSpec, found: SubDevice, *, is_bottom_up: bool) -> Placement:
        """In lockstep on its cores."""
        assert self._sub_devices is not None
        block_bytes = self._block_bytes(spec)
        address = found.banks.take(block_bytes, is_bottom_up=is_bottom_up)
        if address is None:
            raise self._out_of_memory(spec, found.banks.statistics)
        placement = Placement(
            spec.buffer_type,
            address,
            self.per_bank_bytes(spec),
            block_bytes,
            block_bytes * len(found.cores),
            found.cores,
            self._sub_devices.addresses(found, address),
        )
        self._on_sub_devices[placement] = found
        return placement

    def _on_cores(self, spec: BufferSpec, *, is_bottom_up: bool) -> Placement:
        """A block on each of its cores, whether it holds a shard or not."""
        if self._cores is None or spec.sharding is None:
            raise AllocationRefused("Per-core allocation requires AllocatorMode::HYBRID when opening the device")
        cores, block_bytes = spec.sharding.places, self._block_bytes(spec)
        try:
            addresses = self._cores.take(cores, block_bytes, is_bottom_up=is_bottom_up)
        except CoreRefusal as refusal:
            raise self._out_of_memory(spec, refusal.statistics, refusal.search) from None
        reserved_bytes = block_bytes * len(cores)
        return Placement(spec.buffer_type, 0, self.per_bank_bytes(spec), block_bytes, reserved_bytes, cores, addresses)

    def _beside_cores(self, spec: BufferSpec, core_banks: CoreBanks, *, is_bottom_up: bool) -> int:
        """One address that no core holds, or none of those its shards go to."""
        banks, block_bytes = self._banks[BufferType.L1], self._block_bytes(spec)
        is_narrow = spec.allocation is Allocation.RANGE_LOCKSTEP
        occupied = core_banks.occupied(spec.sharding.holders if is_narrow and spec.sharding else None)
        windows = without(banks.free_ranges(block_bytes), occupied.ranges)
        address = choose(windows, block_bytes, is_bottom_up=is_bottom_up)
        if address is None:
            found = search(windows, occupied=occupied.range_count)
            raise self._out_of_memory(spec, banks.statistics, found)
        banks.take_at(address, block_bytes)
        core_banks.note_lockstep(address, banks.rounded(self.per_bank_bytes(spec)))
        return address

    def _block_bytes(self, spec: BufferSpec) -> int:
        """What each bank gives up. In the mode HYBRID the pages of L1 are aligned once more, as in DRAM."""
        banks = self._banks[spec.buffer_type]
        if self._cores is None or spec.buffer_type is not BufferType.L1:
            return banks.rounded(self.per_bank_bytes(spec))
        return self._share(spec) * banks.rounded(self.aligned_page_bytes(spec))

    def _share(self, spec: BufferSpec) -> int:
        """Pages of the bank that has most."""
        return -(-spec.page_count // self._spread(spec)) if spec.page_count else 0

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
        if sharding.cores:
            self._check_cores(buffer_type, sharding.cores)
            return
        columns, rows = (self.chip.dram_bank_count, 1) if buffer_type in _DRAM_TYPES else self.chip.grid
        wanted = sharding.grid or (min(columns, sharding.shard_count), 1)
        if sharding.shard_count > columns * rows or wanted[0] > columns or wanted[1] > rows:
            raise AllocationRefused(
                f"{sharding.shard_count} shards on {wanted[0]} x {wanted[1]} do not fit the {columns} x {rows} banks "
                f"of {buffer_type.name}"
            )

    def _check_cores(self, buffer_type: BufferType, cores: tuple[Core, ...]) -> None:
        columns, rows = (self.chip.dram_bank_count, 1) if buffer_type in _DRAM_TYPES else self.chip.grid
        outside = [core for core in cores if core[0] >= columns or core[1] >= rows]
        if outside:
            raise AllocationRefused(
                f"Invalid shard grid: shard core {outside[0]} has no {buffer_type.name} bank on this device, which has "
                f"{self._banks[buffer_type].bank_count} of them. Derive the shard grid from the device "
                "(dram_grid_size() for DRAM, compute_with_storage_grid_size() for L1) rather than assuming a fixed "
                "size -- a harvested device exposes fewer banks than an unharvested one of the same type. An L1 shard "
                "core outside the compute grid is legal only while it is claimed via ServiceCoreManager."
            )

    def _refuse_if_mirrored(self, spec: BufferSpec) -> None:
        """In the mode HYBRID no chip can note a lockstep buffer of no bytes, which lies at address 0."""
        if self._cores is None or spec.buffer_type is not BufferType.L1 or spec.allocation is Allocation.PER_CORE:
            return
        figures = self._cores.lockstep_statistics
        raise AllocationRefused(
            "Failed to mirror allocation at address 0 of size 0 in allocator 0 (num_allocators="
            f"{self._banks[BufferType.L1].bank_count + 1}, bank_size={figures.bank_bytes}, alloc_stats: total_alloc="
            f"{figures.allocated_bytes}, total_free={figures.free_bytes}, largest_free={figures.largest_free_bytes})"
        )

    def _out_of_memory(
        self, spec: BufferSpec, statistics: BankStatistics, found: Search | None = None
    ) -> OutOfDeviceMemory:
        """A refusal; that of one core counts what this core should have stored."""
        bank_count = 1 if spec.allocation is Allocation.PER_CORE else self._spread(spec)
        page_count = spec.page_count * bank_count // self._spread(spec)
        return OutOfDeviceMemory(
            spec.buffer_type,
            requested_bytes=page_count * self.aligned_page_bytes(spec),
            per_bank_bytes=self.per_bank_bytes(spec) if found is None else self._block_bytes(spec),
            bank_count=bank_count,
            statistics=statistics,
            search=found,
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
