"""Programs of the stock runtime's operations, and plain ones to build with."""

from ttmem import metal
from ttmem.metal import CoreRanges, Kernel, MeshWorkload, Processor, Program
from ttmem.tracking import CoreType

TILE_BYTES = 2048  # of bfloat16


def add_program(cores: CoreRanges) -> Program:
    """`ttnn.add` of two interleaved tensors: the kernels and circular buffers of the recorded runs."""
    program = Program(name="add")
    program.add_kernel(metal.stock_kernel("reader_interleaved_no_bcast", cores, runtime_arg_count=21))
    program.add_kernel(metal.stock_kernel("writer_interleaved_no_bcast", cores, runtime_arg_count=12))
    program.add_kernel(metal.stock_kernel("eltwise_binary_no_bcast", cores, runtime_arg_count=4))
    for _ in range(3):
        program.add_circular_buffer(cores, 2 * TILE_BYTES, page_bytes=TILE_BYTES)
    return program


def matmul_program(cores: CoreRanges) -> Program:
    """`ttnn.matmul` on several cores, with dataflow buffers."""
    program = Program(name="matmul")
    program.add_kernel(
        metal.stock_kernel("reader_bmm_8bank_output_tiles_partitioned_metal2", cores, runtime_arg_count=14)
    )
    program.add_kernel(metal.stock_kernel("writer_unary_interleaved_start_id", cores, runtime_arg_count=3))
    program.add_kernel(metal.stock_kernel("bmm_metal2", cores, runtime_arg_count=3))
    for _ in range(3):
        program.add_dataflow_buffer(cores, 2 * TILE_BYTES, page_bytes=TILE_BYTES)
    return program


def a_kernel(
    size_bytes: int = 1000,
    *,
    cores: CoreRanges | None = None,
    name: str = "kernel",
    processor: Processor = Processor.BRISC,
    core_type: CoreType = CoreType.TENSIX,
) -> Kernel:
    """A kernel; compute kernels get three binaries of that size."""
    return Kernel(
        name=name,
        cores=cores or CoreRanges.grid(8, 8),
        binaries=(size_bytes,) * processor.binary_count,
        processor=processor,
        core_type=core_type,
    )


def a_program(size_bytes: int = 1000, *, cb_bytes: int = 0, cores: CoreRanges | None = None) -> Program:
    """One kernel, and if asked for one circular buffer."""
    program = Program()
    program.add_kernel(a_kernel(size_bytes, cores=cores, name=f"kernel{size_bytes}"))
    if cb_bytes:
        program.add_circular_buffer(cores or CoreRanges.grid(8, 8), cb_bytes)
    return program


def a_workload(size_bytes: int = 1000, *, cb_bytes: int = 0, cores: CoreRanges | None = None) -> MeshWorkload:
    """The same as a workload on all chips."""
    return MeshWorkload(a_program(size_bytes, cb_bytes=cb_bytes, cores=cores))
