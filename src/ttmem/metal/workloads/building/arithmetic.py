"""What a workload must cost, by plain sums over its steps: no addresses, no free lists, no programs.

Tensors are padded to tiles or rows, spread over all banks and rounded up; a program adds its binaries to DRAM when it
is first seen. Whatever the allocator of the model answers must come to the same.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import ceil, prod

from ttmem.devices import BufferType, Pool
from ttmem.metal.chips import Chip, DispatchCores
from ttmem.metal.workloads.building.steps import (
    Free,
    Make,
    Operation,
    Run,
    Step,
    Tensor,
)
from ttmem.metal.workloads.building.tables import code_bytes, payload_bytes

__all__ = ["ExpectedUse", "reserved_bytes", "tile_bytes"]

TILE_SIDE = 32
FACE_ROW = 16  # elements of a block format that share one exponent byte
BITS = {"bfloat4_b": 4, "bfloat8_b": 8, "uint16": 16, "bfloat16": 16, "float32": 32, "uint32": 32, "int32": 32}
POOLS = {
    BufferType.DRAM: Pool.DRAM,
    BufferType.L1: Pool.L1,
    BufferType.L1_SMALL: Pool.L1_SMALL,
    BufferType.TRACE: Pool.TRACE,
}


def tile_bytes(dtype: str) -> int:
    """A tile of 32 x 32 elements; block formats add one exponent for every 16 of them."""
    element_count = TILE_SIDE * TILE_SIDE
    exponent_count = element_count // FACE_ROW if dtype.endswith("_b") else 0
    return element_count * BITS[dtype] // 8 + exponent_count


def reserved_bytes(tensor: Tensor, chip: Chip) -> int:
    """What all banks of a chip give up for a tensor: as much in every bank as in the fullest."""
    place = tensor.place
    is_dram = place.buffer_type in (BufferType.DRAM, BufferType.TRACE)
    bank_count = chip.dram_bank_count if is_dram else chip.l1_bank_count
    page_bytes, page_count = _pages(tensor, place.shard)
    alignment = chip.architecture.dram_alignment if is_dram else chip.architecture.l1_alignment
    pages_per_bank = page_count if place.shard else ceil(page_count / bank_count)
    per_bank = pages_per_bank * _rounded_up(page_bytes, alignment)
    return _rounded_up(per_bank, chip.architecture.dram_alignment) * bank_count


def _pages(tensor: Tensor, shard: tuple[int, int] | None) -> tuple[int, int]:
    """Size and number of the pages of a whole tensor, or of one shard."""
    height, width = shard or (prod(tensor.shape[:-1]), tensor.shape[-1])
    if not tensor.place.is_tiled:
        return width * BITS[tensor.dtype] // 8, height
    if shard:
        return tile_bytes(tensor.dtype), ceil(height / TILE_SIDE) * ceil(width / TILE_SIDE)
    *outer, rows, columns = (1, *tensor.shape) if len(tensor.shape) == 1 else tensor.shape
    return tile_bytes(tensor.dtype), prod(outer) * ceil(rows / TILE_SIDE) * ceil(columns / TILE_SIDE)


@dataclass
class ExpectedUse:
    """The sums of the steps so far, per pool of one chip, and the highest each of them ever was.

    Circular buffers of all programs share their addresses: of those it is what any program takes of each core.
    """

    chip: Chip
    used: Counter[Pool] = field(default_factory=Counter)
    peak: Counter[Pool] = field(default_factory=Counter)
    _alive: dict[str, tuple[Pool, int]] = field(default_factory=dict)
    _programs: set[Operation] = field(default_factory=set)
    _regions: Counter[int] = field(default_factory=Counter)  # of circular buffers, by core

    def add(self, step: Step) -> None:
        """One step has been done."""
        match step:
            case Make(tensor):
                cost = POOLS[tensor.place.buffer_type], reserved_bytes(tensor, self.chip)
                self._alive[tensor.name] = cost
                self._grow(*cost)
            case Free(name):
                pool, size_bytes = self._alive.pop(name)
                self.used[pool] -= size_bytes
            case Run(operation) if operation not in self._programs:
                self._programs.add(operation)
                self._load(operation)

    def add_all(self, steps: Iterable[Step]) -> "ExpectedUse":
        """Many steps have been done."""
        for step in steps:
            self.add(step)
        return self

    def _load(self, operation: Operation) -> None:
        if self.chip.dispatch is not DispatchCores.SLOW:  # there the host writes binaries into the cores itself
            page_bytes = self.chip.architecture.payload_page_bytes
            page_count = payload_bytes(operation, page_bytes=page_bytes) // page_bytes
            bank_count = self.chip.dram_bank_count
            self._grow(Pool.DRAM, ceil(page_count / bank_count) * page_bytes * bank_count)
        self._grow(Pool.KERNEL, code_bytes(operation, alignment=self.chip.architecture.l1_alignment))
        self._lay_out(operation)

    def _lay_out(self, operation: Operation) -> None:
        """All programs lay circular buffers from the same address on, and run on the first cores of the grid."""
        region_bytes = sum(part.page_bytes * part.page_count for part in operation.circular_buffers)
        for core in range(operation.core_count):
            self._grow(Pool.CB, max(0, region_bytes - self._regions[core]))
            self._regions[core] = max(self._regions[core], region_bytes)

    def _grow(self, pool: Pool, size_bytes: int) -> None:
        self.used[pool] += size_bytes
        self.peak[pool] = max(self.peak[pool], self.used[pool])


def _rounded_up(value: int, step: int) -> int:
    return ceil(value / step) * step
