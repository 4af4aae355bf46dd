"""Sub-devices with L1 of their own, which the runtime calls local: the lowest addresses of L1 on their cores.

    |<- local ->|<----------- L1 of the mesh ----------->|
    base                                               end

They are taken off the mesh's L1 on all cores, also on those of no sub-device. Each sub-device hands out its own in
lockstep on its cores, from the top as L1, and two of them may use the same addresses.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ttmem.devices import BufferType
from ttmem.metal.memory.banks import Banks
from ttmem.metal.memory.refusals import AllocationRefused
from ttmem.metal.memory.specs import BufferSpec, Core

__all__ = ["SubDevice", "SubDevices"]


class SubDevice(NamedTuple):
    """Its cores, and its own L1 on each of them."""

    cores: tuple[Core, ...]
    banks: Banks


class SubDevices:
    """The sub-devices that are loaded, by their numbers."""

    def __init__(
        self, cores: Sequence[Iterable[Core]], local_bytes: int, base: int, *, block_alignment: int, chip_count: int
    ) -> None:
        self.local_bytes = local_bytes
        self.chip_count = chip_count
        self._all = [
            SubDevice(places, Banks(len(places), local_bytes, base, block_alignment=block_alignment))
            for places in map(tuple, cores)
        ]

    def of(self, spec: BufferSpec) -> SubDevice:
        """The one that a buffer names, or the runtime's refusal."""
        number = spec.sub_device or 0
        if number >= len(self._all):
            raise AllocationRefused(f"SubDevice index {number} out of bounds {len(self._all)}")
        found = self._all[number]
        places = spec.sharding.places if spec.sharding is not None else ()
        if not set(places) <= set(found.cores):
            raise AllocationRefused(f"Shard cores specified {places} do not match sub-device cores {found.cores}")
        if not self.local_bytes:
            raise AllocationRefused("SubDevice allocator not initialized")
        if spec.buffer_type is not BufferType.L1:
            return SubDevice(found.cores, Banks(len(found.cores), 0, 0, block_alignment=1))
        return found

    def addresses(self, found: SubDevice, address: int) -> tuple[tuple[int, ...], ...]:
        """The same on each of its cores, chip after chip."""
        return ((address,) * len(found.cores),) * self.chip_count

    def lowest_address(self, cores: Iterable[Core] | None) -> int | None:
        """Where the lowest block begins on these cores, without a word about them on any."""
        wanted = None if cores is None else set(cores)
        lowest = [one.banks.lowest_address for one in self._all if wanted is None or not wanted.isdisjoint(one.cores)]
        return min((address for address in lowest if address is not None), default=None)

    @property
    def is_empty(self) -> bool:
        return not any(one.banks.statistics.allocated_bytes for one in self._all)
