"""A process that runs programs on the runtime model, and reports the truth of its chips by the model's arithmetic."""

from pathlib import Path
from typing import Any

from tests.support.processes.children import Actor

# Chosen so that one byte less is another figure on the screen: 1023.5 MiB are shown as 1.00 GiB.
EDGE_BYTES = 2047 << 19

_OPEN = """
from ttmem import GraphTracker, metal
from ttmem.devices import BufferType, Pool
from ttmem.metal import BufferSpec, Layout
from ttmem.metal.memory import Sharding
mesh = metal.open_mesh({board!r}, {shape!r}, tracker=GraphTracker(), l1_small_bytes=32768, trace_region_bytes=1 << 22)
before = []
def headroom(at):
    l1 = mesh.allocator.base_address(BufferType.L1)
    begins = [l1 + block.offset_bytes for block in mesh.allocator.blocks(BufferType.L1) if block.is_allocated]
    ends = [end for account in mesh.chip_accounts[at] for _, end, _ in account.footprint.regions]
    return min(begins) - max(ends) if begins and ends else None
"""
_RUN = """
cores = metal.CoreRanges.grid(4, 4)
held = [mesh.create_buffer(BufferSpec(2048 * count, 2048, kind)) for kind, count in
        ((BufferType.DRAM, 4096), (BufferType.L1, 640), (BufferType.DRAM, 512), (BufferType.TRACE, 72))]
held.append(mesh.create_buffer(BufferSpec(2048 * 8, 2048, BufferType.L1_SMALL, Layout.HEIGHT_SHARDED, Sharding(8, 1))))
for number in range(3):
    program = metal.Program()
    program.add_kernel(metal.Kernel(name=f"reader{number}", cores=cores, binaries=(2352 + 16 * number,)))
    program.add_circular_buffer(cores, 65536 * (number + 1), page_bytes=2048)
    workload = metal.MeshWorkload(program)
    held.append(workload)
    for _ in range(number + 1):
        metal.enqueue(mesh, workload)
before = [dict(chip.used_bytes) for chip in mesh.truth().chips]
held.pop(0).deallocate()
held.append(mesh.create_buffer(BufferSpec(2048 * 2048, 2048)))
"""
_TRUTH = """[dict(
    index=chip.index,
    used={pool.word: used for pool, used in chip.used_bytes.items()},
    kernels={kind.name.lower(): used for kind, used in chip.kernel_type_bytes.items()},
    counts={kind.word: count for kind, count in chip.counts.items()},
    planned=chip.cb_planned_bytes, resident=chip.cb_resident_bytes, worst_planned=chip.cb_planned.worst_core_bytes,
    worst_resident=chip.cb_resident.worst_core_bytes, headroom=headroom(at),
    launches=chip.launch_count,
    peak={pool.word: max(chip.used_bytes.get(pool, 0), *(past[at].get(pool, 0) for past in [before] if past), 0)
          for pool in (Pool.DRAM, Pool.L1)},
    capacity={kind.name.lower(): (lambda one: one.bank_bytes * one.bank_count)(mesh.allocator.statistics(kind))
              for kind in (BufferType.DRAM, BufferType.L1)},
    banks={kind.name.lower(): mesh.allocator.statistics(kind).bank_count for kind in (BufferType.DRAM, BufferType.L1)},
    largest={kind.name.lower(): (lambda one: one.largest_free_bytes * one.bank_count)(mesh.allocator.statistics(kind))
             for kind in (BufferType.DRAM, BufferType.L1)},
) for at, chip in enumerate(mesh.truth().chips)]"""


class Model(Actor):
    """Opens a mesh, and runs a few programs on it."""

    def __init__(self, directory: Path, board: str, shape: tuple[int, int]) -> None:
        super().__init__(directory, TTMEM_LABEL="the model")
        self.do(_OPEN.format(board=board, shape=shape))

    def __enter__(self) -> "Model":
        return self

    def run(self) -> None:
        self.do(_RUN)

    def hold(self, size_bytes: int) -> None:
        """One DRAM buffer of exactly so many bytes, and nothing else."""
        self.do(f"edge = mesh.create_buffer(BufferSpec({size_bytes}, {size_bytes // 8}))")

    def truth(self) -> list[dict[str, Any]]:
        """Of every chip."""
        found: list[dict[str, Any]] = self.ask(_TRUTH)
        return found
