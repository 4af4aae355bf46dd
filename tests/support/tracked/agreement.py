"""The runtime model's truth, chip by chip, in the shape in which the ledger's rows and `ttmem ps` are compared with it.

Figures that only grow (launches, stalls, answers of caches) belong to a journal for its whole life, and to a mesh until
it is closed. So the truth remembers what closed meshes had come to, and the journal what it had when a story began.
"""

from collections import Counter
from typing import Any

from tests.support.tracked.chip_rows import Row
from ttmem.metal import ChipTruth, MeshDevice, Truth
from ttmem.tracking import Cache, CacheOutcome

Figures = dict[str, Any]
IMAGE_OUTCOMES = (CacheOutcome.HIT, CacheOutcome.MISS, CacheOutcome.EVICTED)


def differences(told: dict[int, Figures], true: dict[int, Figures]) -> list[str]:
    """What is told otherwise than it is, one line for each figure of each chip. Chips that have the very same figures
    on both sides are compared once."""
    agreed: set[tuple[int, int]] = set()
    lines = []
    for chip, figures in true.items():
        own = told.get(chip, _UNTOLD)
        if (id(own), id(figures)) in agreed:
            continue
        found = [
            f"chip {chip:#x}, {name}: told {own.get(name)}, true {figure}"
            for name, figure in figures.items()
            if own.get(name) != figure
        ]
        lines += found
        if not found:
            agreed.add((id(own), id(figures)))
    return lines


class TrueFigures:
    """What must be said of every chip, by the model's own arithmetic; chips on which the same lies share a table."""

    def __init__(self) -> None:
        self._meshes: list[MeshDevice] = []
        self._past: dict[int, Counter[Any]] = {}  # of closed meshes, by chip

    def opened(self, mesh: MeshDevice) -> None:
        self._meshes.append(mesh)

    def closed(self, mesh: MeshDevice) -> None:
        """What it had come to stays: closing it told of caches, too."""
        self._meshes.remove(mesh)
        for chip, grown in _grown(mesh, mesh.truth()).items():
            self._past.setdefault(chip, Counter()).update(grown)

    def figures(self) -> dict[int, Figures]:
        """By unique id; of chips that no mesh is open on, what they had come to."""
        figures: dict[int, Figures] = dict.fromkeys(self._past, _NOTHING)
        grown: dict[int, Counter[Any]] = dict(self._past)
        for mesh in self._meshes:
            truth = mesh.truth()
            figures |= _held(truth)
            for chip, of_mesh in _grown(mesh, truth).items():
                grown[chip] = of_mesh + self._past[chip] if chip in self._past else of_mesh
        shared: dict[tuple[int, int], Figures] = {}
        for chip, held in figures.items():
            key = id(held), id(grown[chip])
            if key not in shared:
                shared[key] = {**held, "grown": dict(+grown[chip])}
            figures[chip] = shared[key]
        return figures


_UNTOLD: Figures = {}
_NOTHING: Figures = {name: {} for name in ("used", "counts", "kernel_types", "core_types", "rings")}
_NOTHING |= {"views": 0, "footprint": (0, 0, 0, 0), "images": (0, 0)}


def _held(truth: Truth) -> dict[int, Figures]:
    """Figures are those of `truth`; what it has worked out once for several chips is one object there."""
    shared: dict[tuple[Any, ...], Figures] = {}
    found = {}
    for chip in truth.chips:
        tables = chip.used_bytes, chip.counts, chip.kernel_type_bytes, chip.core_type_bytes
        sums = chip.view_count, chip.distinct_image_count, chip.duplicate_image_bytes
        key = (*map(id, tables), *sums, chip.cb_planned, chip.cb_resident)
        if key not in shared:
            shared[key] = _of_chip(truth, chip)
        found[chip.unique_id] = shared[key]
    return found


def _of_chip(truth: Truth, chip: ChipTruth) -> Figures:
    planned, resident = chip.cb_planned, chip.cb_resident
    return {
        "used": dict(chip.used_bytes),
        "counts": dict(chip.counts),
        "views": chip.view_count,
        "kernel_types": dict(chip.kernel_type_bytes),
        "core_types": dict(chip.core_type_bytes),
        "footprint": (
            planned.chip_bytes,
            resident.chip_bytes,
            planned.worst_core_bytes,
            resident.worst_core_bytes,
        ),
        "rings": {
            core_type: (ring.live_bytes, ring.retired_bytes, ring.free_bytes, ring.entry_count)
            for core_type, ring in truth.rings.items()
            if ring.live_bytes or ring.retired_bytes or ring.entry_count
        },
        "images": (chip.distinct_image_count, chip.duplicate_image_bytes),
    }


def _grown(mesh: MeshDevice, truth: Truth) -> dict[int, Counter[Any]]:
    """Launches and images are told of where the program is, other caches once for the whole mesh."""
    everywhere: Counter[Any] = Counter({key: n for key, n in truth.cache_counts.items() if key[0] is not Cache.IMAGE})
    everywhere.update(truth.stall_counts)
    everywhere.update({("ring", core_type): count for core_type, count in truth.ring_launch_counts.items()})
    own: dict[int, list[Row]] = {chip.unique_id: [] for chip in mesh.chips}
    for place, account in mesh.accounts.items():
        images = account.image_counts
        row = account.launch_count, *[images.get((Cache.IMAGE, outcome), 0) for outcome in IMAGE_OUTCOMES]
        for chip in place.chips:
            own[chip.unique_id].append(row)
    shared: dict[tuple[Row, ...], Counter[Any]] = {}
    for accounts in map(tuple, own.values()):
        if accounts not in shared:
            shared[accounts] = grown = Counter(everywhere)
            for launch_count, *counts in accounts:
                grown["launches"] += launch_count
                grown.update({(Cache.IMAGE, outcome): n for outcome, n in zip(IMAGE_OUTCOMES, counts, strict=True)})
    return {chip: shared[tuple(accounts)] for chip, accounts in own.items()}
