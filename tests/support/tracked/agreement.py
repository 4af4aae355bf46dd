"""The runtime model's truth, the ledger's rows and what `ttmem ps` shows, chip by chip in one shape.

Figures that only grow (launches, stalls, answers of caches) belong to a journal for its whole life, and to a mesh until
it is closed. So the truth remembers what closed meshes had come to, and the journal what it had when a story began.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.support.tracked.own_journal import OwnJournal
from ttmem.devices import Kind, Pool
from ttmem.metal import ChipTruth, MeshDevice, Truth
from ttmem.tracking import Cache, CacheOutcome, CoreType, KernelType, Stall

Figures = dict[str, Any]
KINDS = {Kind.KERNEL_APPLICATION: KernelType.APPLICATION, Kind.KERNEL_FABRIC: KernelType.FABRIC}
KINDS |= {Kind.KERNEL_DISPATCH: KernelType.DISPATCH}
VIEW = 1


def differences(told: dict[int, Figures], true: dict[int, Figures]) -> list[str]:
    """What is told otherwise than it is, one line for each figure of each chip."""
    return [
        f"chip {chip:#x}, {name}: told {told.get(chip, {}).get(name)}, true {figure}"
        for chip, figures in true.items()
        for name, figure in figures.items()
        if told.get(chip, {}).get(name) != figure
    ]


class TrueFigures:
    """What must be said of every chip, by the model's own arithmetic."""

    def __init__(self) -> None:
        self._meshes: list[MeshDevice] = []
        self._past: dict[int, Counter[Any]] = {}  # of closed meshes, by chip

    def opened(self, mesh: MeshDevice) -> None:
        self._meshes.append(mesh)

    def closed(self, mesh: MeshDevice) -> None:
        """What it had come to stays: closing it told of caches, too."""
        self._meshes.remove(mesh)
        for chip in mesh.chips:
            self._past.setdefault(chip.unique_id, Counter()).update(_grown(mesh, chip.unique_id))

    def figures(self) -> dict[int, Figures]:
        """By unique id; of chips that no mesh is open on, what they had come to."""
        figures: dict[int, Figures] = {chip: _nothing() for chip in self._past}
        grown = {chip: Counter(past) for chip, past in self._past.items()}
        for mesh in self._meshes:
            truth = mesh.truth()
            for chip in truth.chips:
                figures[chip.unique_id] = _of_chip(truth, chip)
                grown.setdefault(chip.unique_id, Counter()).update(_grown(mesh, chip.unique_id))
        return {chip: {**held, "grown": dict(+grown[chip])} for chip, held in figures.items()}


def _nothing() -> Figures:
    empty = ("used", "counts", "kernel_types", "core_types", "rings")
    return {**{name: {} for name in empty}, "views": 0, "footprint": (0, 0, 0, 0), "images": (0, 0)}


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
            core_type: (ring.live_bytes, ring.retired_bytes, ring.entry_count)
            for core_type, ring in truth.rings.items()
            if ring.live_bytes or ring.retired_bytes or ring.entry_count
        },
        "images": (chip.distinct_image_count, chip.duplicate_image_bytes),
    }


def _grown(mesh: MeshDevice, unique_id: int) -> Counter[Any]:
    """Launches and images are told of where the program is, other caches once for the whole mesh."""
    truth = mesh.truth()
    grown: Counter[Any] = Counter({key: n for key, n in truth.cache_counts.items() if key[0] is not Cache.IMAGE})
    for place, account in mesh.accounts.items():
        if any(chip.unique_id == unique_id for chip in place.chips):
            grown.update(account.image_counts)
            grown["launches"] += account.launch_count
    grown.update(truth.stall_counts)
    return grown


class ToldFigures:
    """The same as a ledger has it that read the journal."""

    def __init__(self, journal: OwnJournal) -> None:
        self._journal = journal
        self._before = {chip: figures["grown"] for chip, figures in self._figures().items()}

    def figures(self, chips: Iterable[int]) -> dict[int, Figures]:
        """Of these chips; those of other stories are still known to the journal."""
        found = self._figures()
        return {chip: self._since(chip, found[chip]) for chip in chips if chip in found}

    def _since(self, chip: int, figures: Figures) -> Figures:
        grown: Counter[Any] = Counter(figures["grown"])
        grown.subtract(self._before.get(chip, {}))
        return {**figures, "grown": dict(+grown)}

    def _figures(self) -> dict[int, Figures]:
        rows = self._journal.rows()
        alive = self._journal.ledger.allocations(self._journal.key)
        return {row["unique_id"]: _of_device(rows, alive, row["number"]) for row in rows["devices"] if row["known"]}


def _of_device(rows: dict[str, Any], alive: list[tuple[Any, ...]], device: int) -> Figures:
    own = [row for row in alive if device in row[0]]
    kinds = {Kind(kind): (used, mark) for d, kind, used, _, mark in rows["device_kinds"] if d == device}
    assert not any(mark for _, mark in kinds.values()), "the model tells exact sizes"
    footprints = [row for row in rows["footprints"] if row[1] == device]
    assert not any(row[6] or row[7] for row in footprints), "the model tells cores and programs"
    caches = {Cache(cache): figures for _, d, cache, *figures in rows["caches"] if d == device}
    images = caches.get(Cache.IMAGE, [0] * 8)
    return {
        "used": {Pool(pool): used for d, pool, used, *_ in rows["device_pools"] if d == device and used},
        # A program is listed by its launches alone, too: then it holds nothing.
        "counts": dict(Counter(Kind(row[1]) for row in own if row[1] != Kind.PROGRAM_BINARY or row[5])),
        "views": sum(bool(row[4] & VIEW) for row in own),
        "kernel_types": {KINDS[kind]: used for kind, (used, _) in kinds.items() if kind in KINDS and used},
        "core_types": {CoreType(core): used for d, core, used, *_ in rows["device_cores"] if d == device and used},
        "footprint": tuple(footprints[0][2:6]) if footprints else (0, 0, 0, 0),
        "rings": {
            CoreType(core): (live, retired, entries)
            for _, d, core, live, retired, entries, _ in rows["rings"]
            if d == device and (live or retired or entries)
        },
        "images": (images[5], images[7]),
        "grown": _grown_rows(rows, device, caches),
    }


def _grown_rows(rows: dict[str, Any], device: int, caches: dict[Cache, list[int]]) -> dict[Any, int]:
    grown: Counter[Any] = Counter({"launches": sum(count for _, d, count in rows["launches"] if d == device)})
    for cache, figures in caches.items():
        grown.update({(cache, outcome): figures[outcome] for outcome in CacheOutcome})
    grown.update({Stall(stall): count for _, d, stall, count in rows["stalls"] if d == device})
    return dict(+grown)
