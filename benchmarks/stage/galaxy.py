"""A program on all 32 chips of a Galaxy, by the runtime model: tensors, programs with circular buffers, launches.

Run as `python -m benchmarks.stage.galaxy`. Says `ready` when everything is held, and holds it until its input ends. For
every line it is told, it runs a program and keeps one more tensor on every chip, and says `done`.
"""

import sys

import ttmem
from ttmem import metal
from ttmem.devices import BufferType


def main() -> None:
    cores = metal.CoreRanges.grid(8, 8)
    tracker = ttmem.GraphTracker()
    with metal.open_mesh("galaxy", tracker=tracker, l1_small_bytes=32768, trace_region_bytes=1 << 20) as mesh:
        for size in range(1, 200):
            mesh.create_buffer(metal.tensor((32 * size, 4096), "bfloat16"))
        mesh.create_buffer(metal.tensor((32, 4096), "bfloat16", buffer_type=BufferType.L1))
        for number in range(40):
            program = metal.Program(name=f"unary {number}")
            program.add_circular_buffer(cores, 2048 * (1 + number), page_bytes=2048)
            program.add_kernel(metal.Kernel(name="reader", cores=cores, binaries=(2352,)))
            workload = metal.MeshWorkload(program)
            for _ in range(3):
                metal.enqueue(mesh, workload)
        print("ready", flush=True)
        for _ in sys.stdin:
            metal.enqueue(mesh, workload)
            mesh.create_buffer(metal.tensor((32, 32), "bfloat16"))
            print("done", flush=True)


if __name__ == "__main__":
    main()
