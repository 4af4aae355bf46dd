"""What a ledger says of each chip that read the journal, in the shape of `agreement`."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.support.tracked.agreement import Figures
from tests.support.tracked.chip_rows import ChipKey, ChipTables, Reading
from tests.support.tracked.own_journal import OwnJournal
from ttmem.devices import Kind, Pool
from ttmem.tracking import Cache, CacheOutcome, CoreType, KernelType, Stall

KINDS = {Kind.KERNEL_APPLICATION: KernelType.APPLICATION, Kind.KERNEL_FABRIC: KernelType.FABRIC}
KINDS |= {Kind.KERNEL_DISPATCH: KernelType.DISPATCH}
VIEW = 1
KNOWN_MOST = 20_000  # tables of figures that are remembered


class ToldFigures:
    """Figures are worked out once for the same rows, and shared by the chips that have them."""

    def __init__(self, journal: OwnJournal) -> None:
        self.tables = ChipTables()
        self._journal = journal
        self._held: dict[tuple[int, ...], Figures] = {}
        self._active: dict[tuple[int, ...], Figures] = {}
        self._before: dict[int, dict[Any, int]] = {}
        self._before = {chip: figures["grown"] for chip, figures in self.figures().items()}

    def read(self) -> Reading:
        return self.tables.read(self._journal)

    def figures(self, chips: Iterable[int] | None = None, reading: Reading | None = None) -> dict[int, Figures]:
        """Of these chips; those of other stories are still known to the journal."""
        reading = reading or self.read()
        wanted = None if chips is None else set(chips)
        shared: dict[tuple[ChipKey, int], Figures] = {}
        found = {}
        for chip, device in reading.chips.items():
            if wanted is None or chip in wanted:
                before = self._before.get(chip)
                key = reading.keys[device], id(before)
                if key not in shared:
                    shared[key] = self._since(self._of(reading, device), before)
                found[chip] = shared[key]
        return found

    def _since(self, figures: Figures, before: dict[Any, int] | None) -> Figures:
        if not before:
            return figures
        grown: Counter[Any] = Counter(figures["grown"])
        grown.subtract(before)
        return {**figures, "grown": dict(+grown)}

    def _of(self, reading: Reading, device: int) -> Figures:
        key = reading.keys[device]
        for known, part in ((self._held, key.holdings), (self._active, key.activity)):
            if part not in known:
                if len(known) >= KNOWN_MOST:
                    known.clear()
                known[part] = (held_in if known is self._held else active_in)(reading, device)
        return self._held[key.holdings] | self._active[key.activity]


def held_in(reading: Reading, device: int) -> Figures:
    """What is on a chip."""
    pools = {Pool.numbered(pool): used for pool, used, *_ in reading.own("device_pools", device)}
    kinds = {Kind.numbered(kind): used for kind, used, *_ in reading.own("device_kinds", device)}
    footprints = reading.own("footprints", device)
    assert not any(row[3] for row in reading.own("device_kinds", device)), "the model tells exact sizes"
    assert not any(row[4] or row[5] for row in footprints), "the model tells cores and programs"
    assert sum(pools.values()) == sum(kinds.values()), "the same bytes by pool and by kind"
    counts, view_count = _counted(reading, device)
    return {
        "used": {pool: used for pool, used in pools.items() if used},
        "counts": counts,
        "views": view_count,
        "kernel_types": {KINDS[kind]: used for kind, used in kinds.items() if kind in KINDS and used},
        "core_types": {CoreType.numbered(core): used for core, used, *_ in reading.own("device_cores", device) if used},
        "footprint": tuple(footprints[0][:4]) if footprints else (0, 0, 0, 0),
    }


def _counted(reading: Reading, device: int) -> tuple[dict[Kind, int], int]:
    """How many allocations of each kind there are, and how many views among them."""
    counts: Counter[Kind] = Counter()
    empty_count = view_count = 0
    for on, kind, flags, has_bytes, count in reading.tally:
        if device in on:
            counts[Kind.numbered(kind)] += count
            empty_count += count * (kind == Kind.PROGRAM_BINARY and not has_bytes)
            view_count += count * (flags & VIEW)
    balance = {Kind.numbered(kind): count for kind, _, count, *_ in reading.own("device_kinds", device)}
    assert balance == counts, "as many in the balance as in the list"
    counts[Kind.PROGRAM_BINARY] -= empty_count  # listed for their launches alone: they hold nothing
    return {kind: count for kind, count in counts.items() if count}, view_count


def active_in(reading: Reading, device: int) -> Figures:
    """What runs there, and what came of it so far."""
    rings = {CoreType.numbered(core): figures for core, *figures in reading.own("rings", device)}
    caches = {Cache.numbered(cache): figures for cache, *figures in reading.own("caches", device)}
    images = caches.get(Cache.IMAGE, [0] * 8)
    grown: Counter[Any] = Counter({"launches": sum(count for count, *_ in reading.own("launches", device))})
    for cache, figures in caches.items():
        grown.update({(cache, outcome): figures[outcome] for outcome in CacheOutcome})
    grown.update({Stall.numbered(stall): count for stall, count, *_ in reading.own("stalls", device)})
    grown.update({("ring", core): figures[3] for core, figures in rings.items()})
    return {
        "rings": {
            core: (live, retired, total - live - retired, entries)
            for core, (live, retired, entries, _, total, *_) in rings.items()
            if live or retired or entries
        },
        "images": (images[5], images[7]),
        "grown": dict(+grown),
    }
