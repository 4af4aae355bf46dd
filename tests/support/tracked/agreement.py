"""The runtime model's truth, the ledger's rows and what `ttmem ps` shows, chip by chip in one shape.

Figures that only grow (launches, stalls, answers of caches) belong to a journal for its whole life, and to a mesh until
it is closed. So the truth remembers what closed meshes had come to, and the journal what it had when a story began.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from tests.support.tracked.own_journal import OwnJournal
from ttmem.devices import Kind, Pool
from ttmem.metal import ChipTruth, MeshDevice, Truth
from ttmem.tracking import Cache, CacheOutcome, CoreType, KernelType, Stall

Figures = dict[str, Any]
Row = tuple[Any, ...]
KINDS = {Kind.KERNEL_APPLICATION: KernelType.APPLICATION, Kind.KERNEL_FABRIC: KernelType.FABRIC}
KINDS |= {Kind.KERNEL_DISPATCH: KernelType.DISPATCH}
VIEW = 1
_ON_KIND_FLAGS_SIZE = itemgetter(0, 1, 4, 5)  # of a row of the ledger


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
        truth = mesh.truth()
        for chip in mesh.chips:
            self._past.setdefault(chip.unique_id, Counter()).update(_grown(mesh, truth, chip.unique_id))

    def figures(self) -> dict[int, Figures]:
        """By unique id; of chips that no mesh is open on, what they had come to."""
        figures: dict[int, Figures] = {chip: _nothing() for chip in self._past}
        grown = {chip: Counter(past) for chip, past in self._past.items()}
        for mesh in self._meshes:
            truth = mesh.truth()
            for chip in truth.chips:
                figures[chip.unique_id] = _of_chip(truth, chip)
                grown.setdefault(chip.unique_id, Counter()).update(_grown(mesh, truth, chip.unique_id))
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
            core_type: (ring.live_bytes, ring.retired_bytes, ring.free_bytes, ring.entry_count)
            for core_type, ring in truth.rings.items()
            if ring.live_bytes or ring.retired_bytes or ring.entry_count
        },
        "images": (chip.distinct_image_count, chip.duplicate_image_bytes),
    }


def _grown(mesh: MeshDevice, truth: Truth, unique_id: int) -> Counter[Any]:
    """Launches and images are told of where the program is, other caches once for the whole mesh."""
    grown: Counter[Any] = Counter({key: n for key, n in truth.cache_counts.items() if key[0] is not Cache.IMAGE})
    for place, account in mesh.accounts.items():
        if any(chip.unique_id == unique_id for chip in place.chips):
            grown.update(account.image_counts)
            grown["launches"] += account.launch_count
    grown.update(truth.stall_counts)
    grown.update({("ring", core_type): count for core_type, count in truth.ring_launch_counts.items()})
    return grown


class ToldFigures:
    """The same as a ledger has it that read the journal."""

    def __init__(self, journal: OwnJournal) -> None:
        self._journal = journal
        self._before = {chip: figures["grown"] for chip, figures in self._figures().items()}

    def figures(self, chips: Iterable[int]) -> dict[int, Figures]:
        """Of these chips; those of other stories are still known to the journal."""
        wanted = set(chips)
        return {chip: self._since(chip, figures) for chip, figures in self._figures(wanted).items()}

    def _since(self, chip: int, figures: Figures) -> Figures:
        grown: Counter[Any] = Counter(figures["grown"])
        grown.subtract(self._before.get(chip, {}))
        return {**figures, "grown": dict(+grown)}

    def _figures(self, wanted: set[int] | None = None) -> dict[int, Figures]:
        rows = self._journal.rows()
        numbers = {row["number"]: row["unique_id"] for row in rows["devices"] if row["known"]}
        numbers = {number: chip for number, chip in numbers.items() if wanted is None or chip in wanted}
        tables = {name: _by_device(rows[name], at) for name, at in _DEVICE_AT.items()}
        # Most things are on all chips alike, and of few sizes: those are counted together first.
        listed = Counter(map(_ON_KIND_FLAGS_SIZE, self._journal.ledger.allocations(self._journal.key)))
        alive: dict[int, list[Row]] = defaultdict(list)
        for (on, kind, flags, size_bytes), count in listed.items():
            for number in on:
                alive[number].append((_listed_kind(kind, size_bytes), flags & VIEW, count))
        return {
            chip: _of_device({name: table[number] for name, table in tables.items()}, alive[number])
            for number, chip in numbers.items()
        }


# In which column of a table the device stands; what comes after it are its figures.
_DEVICE_AT = {"device_pools": 0, "device_kinds": 0, "device_cores": 0}
_DEVICE_AT |= {"footprints": 1, "rings": 1, "stalls": 1, "caches": 1, "launches": 1}


def _by_device(rows: list[Row], at: int) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[at]].append(row[at + 1 :])
    return found


def _of_device(tables: dict[str, list[Row]], alive: list[Row]) -> Figures:
    kinds = {Kind(kind): (used, mark) for kind, used, _, mark in tables["device_kinds"]}
    assert not any(mark for _, mark in kinds.values()), "the model tells exact sizes"
    footprints = tables["footprints"]
    assert not any(row[4] or row[5] for row in footprints), "the model tells cores and programs"
    caches = {Cache(cache): figures for cache, *figures in tables["caches"]}
    images = caches.get(Cache.IMAGE, [0] * 8)
    counts: Counter[int] = Counter()
    for kind, _, count in alive:
        counts[kind] += count
    return {
        "used": {Pool(pool): used for pool, used, *_ in tables["device_pools"] if used},
        # A program is listed by its launches alone, too: then it holds nothing.
        "counts": {Kind(kind): count for kind, count in counts.items() if kind},
        "views": sum(count for _, is_view, count in alive if is_view),
        "kernel_types": {KINDS[kind]: used for kind, (used, _) in kinds.items() if kind in KINDS and used},
        "core_types": {CoreType(core): used for core, used, *_ in tables["device_cores"] if used},
        "footprint": tuple(footprints[0][:4]) if footprints else (0, 0, 0, 0),
        "rings": {
            CoreType(core): (live, retired, total - live - retired, entries)
            for core, live, retired, entries, _, total in tables["rings"]
            if live or retired or entries
        },
        "images": (images[5], images[7]),
        "grown": _grown_rows(tables, caches),
    }


def _listed_kind(kind: int, size_bytes: int) -> int:
    is_empty_program = kind == Kind.PROGRAM_BINARY and not size_bytes
    return 0 if is_empty_program else kind


def _grown_rows(tables: dict[str, list[Row]], caches: dict[Cache, list[int]]) -> dict[Any, int]:
    grown: Counter[Any] = Counter({"launches": sum(count for (count,) in tables["launches"])})
    for cache, figures in caches.items():
        grown.update({(cache, outcome): figures[outcome] for outcome in CacheOutcome})
    grown.update({Stall(stall): count for stall, count in tables["stalls"]})
    grown.update({("ring", CoreType(core)): launches for core, *_, launches, _ in tables["rings"]})
    return dict(+grown)
