"""Device memory as tt-metal hands it out: bytes to pages, pages to banks, banks in lockstep, no in its own words."""

from ttmem.metal.memory.allocator import Allocator, Placement
from ttmem.metal.memory.banks import BankStatistics, Block, Search
from ttmem.metal.memory.buffers import Buffer
from ttmem.metal.memory.refusals import (
    AllocationRefused,
    BadBuffer,
    ForeignPlacement,
    MetalError,
    OutOfDeviceMemory,
)
from ttmem.metal.memory.specs import Allocation, BufferSpec, Core, Layout, Sharding
from ttmem.metal.memory.tensors import tensor

__all__ = [
    "Allocation",
    "AllocationRefused",
    "Allocator",
    "BadBuffer",
    "BankStatistics",
    "Block",
    "Buffer",
    "BufferSpec",
    "Core",
    "ForeignPlacement",
    "Layout",
    "MetalError",
    "OutOfDeviceMemory",
    "Placement",
    "Search",
    "Sharding",
    "tensor",
]
