"""Boards: how many chips, what of them is fused off, how they are wired, and which cores dispatch by default.

Harvesting decides the worker grid, the dispatch cores decide which of it computes:

    Tensix grid  --harvested rows or columns-->  worker grid  --one strip for dispatch-->  compute grid = L1 banks
"""

from dataclasses import dataclass, replace

from ttmem.metal.chips.architecture import (
    DEFAULT_BUILD,
    Architecture,
    Axis,
    DispatchCores,
    Grid,
    UnknownHardware,
    architecture,
    data,
    without,
)
from ttmem.metal.chips.chip import Chip
from ttmem.metal.chips.numbers import are_whole

__all__ = ["BOARDS", "Board", "board"]

BOARDS = tuple(data("boards"))
ALIASES = {"wh-galaxy": "galaxy", "t3k": "t3000"}
CARD_BITS = 12  # of a chip's unique id: which one of such a board's chips


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A kind of board, and the chips on it."""

    name: str
    arch: str
    serial: int  # the upper part of its chips' unique ids
    shape: tuple[int, int]  # rows, columns of chips
    harvested_count: int  # rows or columns of cores
    default_dispatch: DispatchCores
    harvested_dram_channel_count: int = 0
    harvested_ethernet_count: int = 0
    links_per_neighbour: int = 0
    is_torus: bool = False
    ethernet_dispatch_grid: Grid | None = None  # narrower than the worker grid on one board
    ethernet_unreserved_base: int | None = None  # if not the architecture's

    @property
    def chip_count(self) -> int:
        rows, columns = self.shape
        return rows * columns

    def architecture(self, build: str = DEFAULT_BUILD) -> Architecture:
        """Its chips' architecture, with what this board changes in it."""
        plain = architecture(self.arch, build)
        base = self.ethernet_unreserved_base
        return plain if base is None else replace(plain, ethernet_unreserved_base=base)

    def worker_grid(self, build: str = DEFAULT_BUILD) -> Grid:
        """The Tensix cores that are not fused off."""
        silicon = architecture(self.arch, build)
        return without(silicon.tensix_grid, silicon.harvested_axis, self.harvested_count)

    def compute_grid(self, dispatch: DispatchCores | None = None, *, axis: Axis | None = None) -> Grid:
        """The cores left for programs. `axis`: how the dispatch strip lies, if not as usual."""
        workers = self.worker_grid()
        match dispatch or self.default_dispatch:
            case DispatchCores.TENSIX:
                return without(workers, axis or architecture(self.arch).dispatch_axis, 1)
            case DispatchCores.ETHERNET:
                return self.ethernet_dispatch_grid or workers
            case DispatchCores.SLOW:
                return workers

    def chips(
        self,
        dispatch: DispatchCores | None = None,
        *,
        l1_small_bytes: int = 0,
        trace_region_bytes: int = 0,
        axis: Axis | None = None,
        silicon: Architecture | None = None,
    ) -> tuple[Chip, ...]:
        """All chips of one board, row by row. `silicon`: another build, or another share of L1 for the ring."""
        first = self.chip(
            0,
            dispatch=dispatch,
            l1_small_bytes=l1_small_bytes,
            trace_region_bytes=trace_region_bytes,
            axis=axis,
            silicon=silicon,
        )
        return tuple(self._placed(first, index) for index in range(self.chip_count))

    def chip(
        self,
        index: int = 0,
        *,
        dispatch: DispatchCores | None = None,
        l1_small_bytes: int = 0,
        trace_region_bytes: int = 0,
        axis: Axis | None = None,
        silicon: Architecture | None = None,
    ) -> Chip:
        """One chip; an index beyond the board's own is a chip of a further board of that kind."""
        if not are_whole(index) or index >= 1 << CARD_BITS:
            raise UnknownHardware(f"{self.name}: no chip {index}; they are numbered from 0 to {(1 << CARD_BITS) - 1}")
        used = dispatch or self.default_dispatch
        silicon = silicon or self.architecture()
        ethernet_core_count = silicon.ethernet_core_count - self.harvested_ethernet_count
        if used is DispatchCores.ETHERNET and not ethernet_core_count:
            raise UnknownHardware(f"{self.name} has no ethernet cores to dispatch with; use tensix or slow")
        channel_count = silicon.dram_channel_count - self.harvested_dram_channel_count
        chip = Chip(
            unique_id=0,
            index=0,
            board=self.name,
            architecture=silicon,
            worker_grid=self.worker_grid(),
            grid=self.compute_grid(used, axis=axis),
            dispatch=used,
            dram_bank_count=channel_count * silicon.dram_banks_per_channel,
            ethernet_core_count=ethernet_core_count,
            router_count=0,
            l1_small_bytes=l1_small_bytes,
            trace_region_bytes=trace_region_bytes,
        )
        return self._placed(_checked(chip), index)

    def _placed(self, chip: Chip, index: int) -> Chip:
        return replace(
            chip,
            index=index,
            unique_id=self.serial << CARD_BITS | index,
            router_count=self.links_per_neighbour * self._neighbour_count(index % self.chip_count),
        )

    def _neighbour_count(self, index: int) -> int:
        """Chips beside this one in its mesh; around the edges on a torus."""
        count = 0
        for place, length in zip(divmod(index, self.shape[1]), self.shape, strict=True):
            if length > 1:
                count += 2 if self.is_torus or 0 < place < length - 1 else 1
        return count


def board(name: str) -> Board:
    """A kind of board by its name, however it is spelled: "T3000", "WH Galaxy", "bh-galaxy"."""
    word = str(name).lower().replace(" ", "-").replace("_", "-")
    word = ALIASES.get(word, word)
    if word not in BOARDS:
        raise UnknownHardware(f"no board {name!r}; there are {', '.join(BOARDS)}")
    fields = dict(data("boards")[word])
    fields["shape"] = tuple(fields["shape"])
    fields["default_dispatch"] = DispatchCores[fields["default_dispatch"]]
    if "ethernet_dispatch_grid" in fields:
        fields["ethernet_dispatch_grid"] = tuple(fields["ethernet_dispatch_grid"])
    return Board(name=word, **fields)


def _checked(chip: Chip) -> Chip:
    """The chip, unless more was asked for than it has."""
    most = chip.architecture.l1_bank_bytes
    if not are_whole(chip.l1_small_bytes) or chip.l1_small_bank_bytes > most:
        raise UnknownHardware(f"{chip.board}: L1_SMALL of {chip.l1_small_bytes!r} bytes is not within 0 and {most}")
    if not are_whole(chip.trace_region_bytes) or chip.dram_bank_bytes < 0:
        raise UnknownHardware(
            f"{chip.board}: a trace region of {chip.trace_region_bytes!r} bytes does not fit into DRAM; ask for whole "
            "bytes, not below 0"
        )
    return chip
