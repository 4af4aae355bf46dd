"""A model on two chips; prints as JSON how many of each thing its tracker got, on each chip by itself, and waits."""

import json
import sys
from collections import Counter
from typing import Any

from ttmem import GraphTracker, metal
from ttmem.metal import CoreRanges, Kernel, MeshWorkload, Program
from ttmem.tracking import KernelType, TrackedBuffer, TrackedDevice

counts: Counter[str] = Counter()


class Counted(GraphTracker):
    """Counts before it reports."""

    def track_allocate(self, buffer: TrackedBuffer) -> None:
        counts["Allocated"] += len(buffer.device.chips)
        super().track_allocate(buffer)

    def track_allocate_cb(self, *given: Any, **named: Any) -> None:
        counts["CB_ALLOC"] += len(given[4].chips)
        super().track_allocate_cb(*given, **named)

    def track_kernel_load(
        self, kernel_size: int, kernel_id: int, device: TrackedDevice, kernel_type: int = 0, *given: Any, **named: Any
    ) -> None:
        counts["KERNEL_LOAD"] += len(device.chips)
        counts[KernelType(kernel_type).name] += len(device.chips)
        super().track_kernel_load(kernel_size, kernel_id, device, kernel_type, *given, **named)


def a_workload(size_bytes: int) -> MeshWorkload:
    program, cores = Program(), CoreRanges.grid(8, 8)
    program.add_kernel(Kernel(name=f"writer {size_bytes}", cores=cores, binaries=(size_bytes,)))
    program.add_circular_buffer(cores, 4096, page_bytes=2048)
    return MeshWorkload(program)


mesh = metal.open_mesh("n300", tracker=Counted())
held = [mesh.create_buffer(metal.tensor((256, 256), "bfloat16")) for _ in range(3)]
workloads = [a_workload(2036), a_workload(4000)]
for _ in range(3):
    for workload in workloads:
        metal.enqueue(mesh, workload)
print(json.dumps(counts), flush=True)
sys.stdin.readline()
