"""Descriptions of made-up machines, in the words in which the runtime's driver describes real ones.

A chip is told by the unique id it shows to the outside. Harvest masks say how many rows (Wormhole) or columns
(Blackhole) are switched off, a board's id carries its type in the bits from 36 on, and links join neighbours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

BOARD_TYPE_SHIFT = 36
TWO_ETH, ALL_ETH = 0x120, 0x3FFF  # of Blackhole's 14 ethernet cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One machine: where each chip lies, who is joined to whom, what is switched off on every chip."""

    arch: str
    board: str
    board_code: int
    places: Sequence[tuple[int, int]] = ((0, 0),)
    boards: Sequence[Sequence[int]] = ((0,),)
    mmio: Sequence[int] = (0,)
    links: Sequence[tuple[int, int]] = ()  # neighbours; each pair is joined `link_width` times
    link_width: int = 2
    harvest_mask: int = 0
    dram_mask: int = 0
    eth_mask: int = 0
    pcie_masks: Sequence[int] = (0,)  # the last one stands for all further chips
    buses: Sequence[int] = ()
    has_places: bool = True

    def text(self, first_unique_id: int) -> str:
        """The description, its chips numbered from that id on."""
        return "\n".join(self._lines(first_unique_id)) + "\n"

    def _lines(self, first_unique_id: int) -> Iterator[str]:
        chips = range(len(self.places))
        yield f"arch: {_table(dict.fromkeys(chips, self.arch))}"
        yield f"chips: {_table({c: [*self.places[c], 0, 0] for c in chips}) if self.has_places else '{}'}"
        yield f"chip_unique_ids: {_table({chip: first_unique_id + chip for chip in chips})}"
        yield f"ethernet_connections: [{', '.join(self._connections())}]"
        yield f"chips_with_mmio: [{', '.join(f'{{{chip}: {chip}}}' for chip in self.mmio)}]"
        yield "io_device_type: PCIe"
        yield "harvesting:"
        yield from (f"  {chip}: {_table(self._harvesting(chip))}" for chip in chips)
        yield "boards:"
        yield from (self._board(number, members) for number, members in enumerate(self.boards))
        if self.arch == "blackhole":
            yield f"asic_locations: {_table({chip: chip for chip in chips})}"
        if self.buses:
            yield f"chip_to_bus_id: {_table({c: f'{bus:#04x}'.join(2 * [QUOTE]) for c, bus in enumerate(self.buses)})}"

    def _connections(self) -> Iterator[str]:
        taken = [0] * len(self.places)
        for one, other in self.links:
            for _ in range(self.link_width):
                yield f"[{{chip: {one}, chan: {taken[one]}}}, {{chip: {other}, chan: {taken[other]}}}]"
                taken[one] += 1
                taken[other] += 1

    def _harvesting(self, chip: int) -> dict[str, object]:
        return {
            "noc_translation": "true",
            "harvest_mask": self.harvest_mask,
            "dram_harvesting_mask": self.dram_mask,
            "eth_harvesting_mask": self.eth_mask,
            "pcie_harvesting_mask": self.pcie_masks[min(chip, len(self.pcie_masks) - 1)],
        }

    def _board(self, number: int, members: Sequence[int]) -> str:
        board_id = (self.board_code << BOARD_TYPE_SHIFT) + number + 1
        return f"  - [{{board_id: {board_id}}}, {{board_type: {self.board}}}, {{chips: {list(members)}}}]"


QUOTE = '"'


def _table(entries: object) -> str:
    assert isinstance(entries, dict)
    return "{" + ", ".join(f"{key}: {value}" for key, value in entries.items()) + "}"


def _neighbours(places: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    at = {place: chip for chip, place in enumerate(places)}
    return tuple(
        (chip, at[beside]) for chip, (x, y) in enumerate(places) for beside in ((x + 1, y), (x, y + 1)) if beside in at
    )


T3000_PLACES = ((1, 0), (1, 1), (2, 1), (2, 0), (0, 0), (0, 1), (3, 1), (3, 0))


def _galaxy() -> tuple[tuple[tuple[int, int], ...], tuple[int, ...]]:
    """Places and bus numbers of four trays with 2 x 4 chips each.

    Within a tray, places 1 to 4 are its outer column and 5 to 8 its inner one:

        0xc0 | 0x00      0x00 is 0xc0 mirrored left to right,
        -----+-----
        0x80 | 0x40      and the lower two are the upper two mirrored up-down.
    """
    trays = {0xC0: (False, False), 0x80: (False, True), 0x00: (True, False), 0x40: (True, True)}
    places, buses = [], []
    for bus, (is_right, is_lower) in trays.items():
        for number in range(8):
            column, row = number // 4, number % 4
            places.append((3 - column if is_right else column, 7 - row if is_lower else row))
            buses.append(bus + number + 1)
    return tuple(places), tuple(buses)


GALAXY_PLACES, GALAXY_BUSES = _galaxy()

N150 = Cluster(arch="wormhole_b0", board="n150", board_code=0x18, harvest_mask=1)
N300 = Cluster(
    arch="wormhole_b0",
    board="n300",
    board_code=0x14,
    places=((0, 0), (1, 0)),
    boards=((0, 1),),
    links=((0, 1),),
    harvest_mask=3,
)
T3000 = Cluster(
    arch="wormhole_b0",
    board="n300",
    board_code=0x14,
    places=T3000_PLACES,
    boards=tuple((chip, chip + 4) for chip in range(4)),
    mmio=range(4),
    links=_neighbours(T3000_PLACES),
    harvest_mask=3,
)
GALAXY = Cluster(
    arch="wormhole_b0",
    board="ubb",
    board_code=0x35,
    places=GALAXY_PLACES,
    boards=(range(32),),
    mmio=range(32),
    links=_neighbours(GALAXY_PLACES),
    link_width=4,
    buses=GALAXY_BUSES,
    has_places=False,
)
P100 = Cluster(
    arch="blackhole",
    board="p100",
    board_code=0x36,
    harvest_mask=3,
    dram_mask=1,
    eth_mask=ALL_ETH,
    pcie_masks=(2,),
    has_places=False,
)
P150 = Cluster(
    arch="blackhole", board="p150", board_code=0x40, harvest_mask=3, eth_mask=TWO_ETH, pcie_masks=(2,), has_places=False
)
P300 = Cluster(
    arch="blackhole",
    board="p300",
    board_code=0x44,
    places=((0, 0), (1, 0)),
    boards=((0, 1),),
    mmio=(0, 1),
    links=((0, 1),),
    harvest_mask=3,
    eth_mask=TWO_ETH,
    pcie_masks=(2, 1),
    has_places=False,
)
BLACKHOLE_GALAXY = replace(
    GALAXY,
    arch="blackhole",
    board="ubb_blackhole",
    board_code=0x47,
    harvest_mask=1,
    eth_mask=TWO_ETH,
    pcie_masks=(2,),
    link_width=2,
)
CLUSTERS = {
    "n150": N150,
    "n300": N300,
    "t3000": T3000,
    "galaxy": GALAXY,
    "p100": P100,
    "p150": P150,
    "p300": P300,
    "bh-galaxy": BLACKHOLE_GALAXY,
}
