"""Programs as the host runtime knows them: kernels, circular buffers, and what they take on each core."""

from ttmem.metal.programs.circular_buffers import CircularBuffer
from ttmem.metal.programs.core_ranges import CoreRange, CoreRanges
from ttmem.metal.programs.kernel_groups import KernelGroup
from ttmem.metal.programs.kernels import Kernel, Processor
from ttmem.metal.programs.mesh_workload import MeshRange, MeshWorkload
from ttmem.metal.programs.program import Program
from ttmem.metal.programs.refusals import (
    CircularBufferClash,
    CircularBufferMisfit,
    KernelMisfit,
    ProgramMisuse,
    ProgramRefused,
)

__all__ = [
    "CircularBuffer",
    "CircularBufferClash",
    "CircularBufferMisfit",
    "CoreRange",
    "CoreRanges",
    "Kernel",
    "KernelGroup",
    "KernelMisfit",
    "MeshRange",
    "MeshWorkload",
    "Processor",
    "Program",
    "ProgramMisuse",
    "ProgramRefused",
]
