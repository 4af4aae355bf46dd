"""One chip as a runtime opened it: its grid, its banks, and how much they hold."""

from dataclasses import dataclass

from ttmem.devices import Pool
from ttmem.metal.chips.architecture import Architecture, DispatchCores, Grid
from ttmem.metal.chips.numbers import rounded_up

__all__ = ["Chip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """A chip; what a runtime asks for at open (dispatch, L1_SMALL, trace region) is part of it."""

    unique_id: int
    index: int
    board: str
    architecture: Architecture
    worker_grid: Grid
    grid: Grid  # the compute grid: cores that run programs and hold L1 buffers
    dispatch: DispatchCores
    dram_bank_count: int
    ethernet_core_count: int  # usable ones
    router_count: int  # ethernet links to other chips of the board
    l1_small_bytes: int = 0  # of one bank, as asked for
    trace_region_bytes: int = 0  # of all banks together, as asked for

    @property
    def arch(self) -> str:
        """The architecture's name."""
        return self.architecture.name

    @property
    def compute_grid(self) -> Grid:
        """The same as `grid`."""
        return self.grid

    @property
    def l1_bank_count(self) -> int:
        """One bank per core of the compute grid."""
        columns, rows = self.grid
        return columns * rows

    @property
    def kernel_ring_bytes(self) -> int:
        """The kernel ring of one worker core."""
        return self.architecture.ring_bytes()

    @property
    def l1_small_bank_bytes(self) -> int:
        """The top slice of L1 of every core."""
        return rounded_up(self.l1_small_bytes, self.architecture.dram_alignment)

    @property
    def l1_bank_bytes(self) -> int:
        """What is left of a core's L1 below L1_SMALL."""
        return self.architecture.l1_bank_bytes - self.l1_small_bank_bytes

    @property
    def trace_bank_bytes(self) -> int:
        """The top slice of every DRAM bank: a share of the region, in whole pages of the largest kind."""
        share = -(-self.trace_region_bytes // self.dram_bank_count)
        return rounded_up(share, self.architecture.trace_page_bytes_max)

    @property
    def dram_bank_bytes(self) -> int:
        """What is left of a DRAM bank between the runtime's own part and the trace region."""
        return self.architecture.dram_bank_bytes - self.architecture.dram_reserved_bytes - self.trace_bank_bytes

    def capacity_bytes(self, pool: Pool) -> int:
        """All banks of a pool together; 0 for what has no banks of its own."""
        match pool:
            case Pool.DRAM:
                return self.dram_bank_count * self.dram_bank_bytes
            case Pool.TRACE:
                return self.dram_bank_count * self.trace_bank_bytes
            case Pool.L1:
                return self.l1_bank_count * self.l1_bank_bytes
            case Pool.L1_SMALL:
                return self.l1_bank_count * self.l1_small_bank_bytes
            case _:
                return 0
