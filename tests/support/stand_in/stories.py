"""Scripts for the stand-in that many tests tell: programs like those of the samples, and one that does everything."""

PAGE_BYTES = 2048
NEARLY_ALL_L1 = 675 * PAGE_BYTES * 72  # reaches down into the places of circular buffers
ALL_DRAM = 523_731 * PAGE_BYTES * 12  # leaves less than a page in each bank

ADD_CORES = "0,0-7,8"
ADD_FOLDER = "ttnn/cpp/ttnn/operations/eltwise/binary_ng/device"
ADD_KERNELS = {  # packed bytes of each binary
    f"{ADD_FOLDER}/kernels_ng/dataflow/reader_interleaved_no_bcast.cpp": (2352,),
    f"{ADD_FOLDER}/kernels_ng/dataflow/writer_interleaved_no_bcast.cpp": (1504,),
    f"{ADD_FOLDER}/kernels/compute/eltwise_binary_no_bcast.cpp": (1184, 776, 1560),
}
ADD_BINARY_BYTES = 12_288


def a_kernel(program: int, path: str, cores: str, sizes: tuple[int, ...]) -> str:
    kind = "compute" if len(sizes) == 3 else "data"
    return f"kernel {program} {kind} {path} {cores} {','.join(map(str, sizes))}"


def an_add(program: int = 1, *, workload: int = 1, mesh: int = 1, binaries: int = 6) -> tuple[str, ...]:
    """The samples' addition of two tensors, up to its launch: three kernels, three circular buffers on 72 cores."""
    return (
        f"program {program}",
        *(a_kernel(program, path, ADD_CORES, sizes) for path, sizes in ADD_KERNELS.items()),
        *[f"cb {program} {ADD_CORES} 2 2048"] * 3,
        f"workload {workload} {mesh} {ADD_BINARY_BYTES} {binaries} {program}",
    )


def a_matmul(program: int = 3, *, workload: int = 2, mesh: int = 1, binaries: int = 12) -> tuple[str, ...]:
    """The samples' product, of the newer kind of program: dataflow buffers instead of circular ones, on four cores."""
    folder, cores = "ttnn/cpp/ttnn/operations/matmul/device/kernels", "0,0-3,0"
    return (
        f"program {program}",
        f"kernel {program} data {folder}/dataflow/reader_bmm_8bank_output_tiles_partitioned_metal2.cpp {cores} 1212",
        f"kernel {program} data {folder}/dataflow/writer_unary_interleaved_start_id.cpp {cores} 964",
        f"kernel {program} compute {folder}/compute/bmm_metal2.cpp {cores} 1252,848,1424",
        *[f"dataflow {program} {cores} 4096"] * 3,
        f"workload {workload} {mesh} 10240 {binaries} {program}",
    )


EVERYTHING = (
    "open 1 1 0 1",
    "fabric 1",
    "dispatch 1",
    "buffer 100 1 DRAM 8192 2048",
    "buffer 102 1 L1 8192 2048",
    *an_add(10),
    "cb 10 0,0-1,1 1 2048 102",
    "scratchpad 10 0,0-1,1 64",
    *a_matmul(12),
    "enqueue 1",
    "enqueue 2",
    "enqueue 1",
    "buffer 104 1 L1 8192 2048",
    "move 10 3 104",
    "move 10 3 104 remote",
    "begin 1",
    "enqueue 1",
    "end 1 0 118 14336",
    "replay 1 0",
    "fill",
    "enqueue 2",
    "release 1 0",
    "capture on",
    "buffer 106 1 DRAM 8192 2048",
    "capture off",
    "buffer 108 1 L1 99999999999 2048",
    f"buffer 110 1 L1 {NEARLY_ALL_L1} 2048",
    "enqueue 1",
    "free 110",
    "slow on",
    "enqueue 1",
    "slow off",
    "together 4 churn 1 %0000 60",
    "together 4 programs 1 %000 20",
    "clear 1",
    "free 100",
    "close 1",
    "clear 2",
    "free 102",
)

# Threads make programs and buffers while the first one launches, and opens and closes meshes.
CROWD = (
    "open 1 1 0 1",
    "open 3 1 2",
    *an_add(1, binaries=900_006),
    *a_matmul(2, binaries=900_008),
    "start 6 programs 1 %000 30",
    "enqueue 1",
    "enqueue 2",
    "open 5 1 3 4",
    "buffer 900100 5 DRAM 8192 2048",
    "close 5",
    "begin 1",
    "enqueue 1",
    "end 1 0 900118 14336",
    "replay 1 0",
    "buffer 900101 3 L1 999999999999 2048",
    "release 1 0",
    "finish 6",
    "start 6 churn 1 %0000 200",
    "open 7 1 5",
    "buffer 900102 7 DRAM 8192 2048",
    "enqueue 1",
    "close 7",
    "free 900102",
    "enqueue 2",
    "finish 6",
)
