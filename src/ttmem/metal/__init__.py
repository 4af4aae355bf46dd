"""The runtime model: chips, memory, programs and dispatch of tt-metal, without hardware.

from ttmem import metal

with metal.open_device("n150") as device:
    buffer = device.create_buffer(metal.tensor((1024, 1024), "bfloat16"))
    program = metal.Program()
    program.add_kernel(metal.Kernel(name="reader", cores=metal.CoreRanges.grid(8, 8), binaries=(2352,)))
    metal.enqueue(device, metal.MeshWorkload(program))
"""

from ttmem.metal.chips import BOARDS, Board, Chip, DispatchCores, UnknownHardware, architecture, board
from ttmem.metal.dispatch.fast import enqueue
from ttmem.metal.dispatch.slow import launch
from ttmem.metal.memory import Allocation, Buffer, BufferSpec, Layout, MetalError, OutOfDeviceMemory, tensor
from ttmem.metal.mesh import MeshDevice, open_device, open_mesh
from ttmem.metal.programs import (
    CircularBuffer,
    CircularBufferClash,
    CoreRange,
    CoreRanges,
    Kernel,
    MeshRange,
    MeshWorkload,
    Processor,
    Program,
    ProgramRefused,
)
from ttmem.metal.programs.binaries import stock_kernel
from ttmem.metal.state.caches import clear_kernel_cache
from ttmem.metal.truth import ChipTruth, Truth

__all__ = [
    "BOARDS",
    "Allocation",
    "Board",
    "Buffer",
    "BufferSpec",
    "Chip",
    "ChipTruth",
    "CircularBuffer",
    "CircularBufferClash",
    "CoreRange",
    "CoreRanges",
    "DispatchCores",
    "Kernel",
    "Layout",
    "MeshDevice",
    "MeshRange",
    "MeshWorkload",
    "MetalError",
    "OutOfDeviceMemory",
    "Processor",
    "Program",
    "ProgramRefused",
    "Truth",
    "UnknownHardware",
    "architecture",
    "board",
    "clear_kernel_cache",
    "enqueue",
    "launch",
    "open_device",
    "open_mesh",
    "stock_kernel",
    "tensor",
]
