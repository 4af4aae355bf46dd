"""Why a program cannot run: the runtime's own words, and the figures in them."""

from ttmem.metal.memory.refusals import MetalError
from ttmem.tracking import CoreSet

__all__ = ["CircularBufferClash", "CircularBufferMisfit", "KernelMisfit", "ProgramMisuse", "ProgramRefused"]


class ProgramRefused(MetalError):
    """A program or workload that the runtime does not let run; nothing of it was loaded."""


class ProgramMisuse(ProgramRefused):
    """A call that cannot be meant: at the wrong time, on the wrong mesh, with parts that exclude each other."""


class KernelMisfit(ProgramRefused):
    """More code and arguments than the kernel ring, or a processor, can take."""

    def __init__(self, text: str, *, size_bytes: int, limit_bytes: int) -> None:
        super().__init__(text)
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class CircularBufferMisfit(ProgramRefused):
    """A circular buffer larger than the buffer it looks at, or a region beyond the end of L1, then with its cores."""

    def __init__(self, text: str, *, size_bytes: int, limit_bytes: int, cores: CoreSet | None = None) -> None:
        super().__init__(text)
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes
        self.cores = cores


class CircularBufferClash(ProgramRefused):
    """Circular buffers from below and L1 buffers from above want the same bytes."""

    def __init__(self, text: str, *, program: int, cores: CoreSet, region_end: int, lowest_l1_address: int) -> None:
        super().__init__(text)
        self.program = program
        self.cores = cores  # of the range
        self.region_end = region_end
        self.lowest_l1_address = lowest_l1_address

    @property
    def overlap_bytes(self) -> int:
        """How much less one of the two would have to take on each core."""
        return self.region_end - self.lowest_l1_address
