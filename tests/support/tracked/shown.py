"""What `ttmem ps --json` and the table of `ttmem ps` say of each chip, in the shape of `agreement`.

The collector, the document and the page are those of the command itself, called without a process of their own: a
story looks after every step. What a process of its own says is compared in `test_faces`. The whole page of 32 chips
takes a while to make; `shown_steps` asks for one chip at a time.
"""

import os
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.support.tracked.agreement import Figures
from ttmem.collector import Collector
from ttmem.devices import Pool
from ttmem.snapshot import Snapshot
from ttmem.snapshot.document import document
from ttmem.sources import Places
from ttmem.tracking import Cache, CacheOutcome, CoreType, KernelType, Stall
from ttmem.view.page import PageOptions, page
from ttmem.view.units import size_text

POOLS = {pool.word: pool for pool in Pool}
CORES = {core.word: core for core in CoreType}
CACHES = {cache.word: cache for cache in Cache}
STALLS = {stall.word: stall for stall in Stall}
OUTCOMES = {"hits": CacheOutcome.HIT, "misses": CacheOutcome.MISS, "evicted": CacheOutcome.EVICTED}
OUTCOMES |= {"bypassed": CacheOutcome.BYPASSED, "emptied": CacheOutcome.EMPTIED}
RING = ("live", "retired", "free", "entries")
_size_text = lru_cache(maxsize=None)(size_text)
FOOTPRINT = ("planned", "resident", "worst_core_planned", "worst_core_resident")


class ShownFigures:
    """Looks as `ttmem ps` does."""

    def __init__(self, directory: Path) -> None:
        self._collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
        assert self._collector.wait_settled(5)
        self._before = {chip: figures["grown"] for chip, figures in in_document(self.look()).items()}

    def look(self) -> Snapshot:
        """After looking until nothing is left to be read."""
        while self._collector.tick():
            pass
        assert self._collector.wait_settled(5)
        return self._collector.snapshot()

    def in_json(self, snapshot: Snapshot) -> dict[int, Figures]:
        """As the document has it; answers and launches since this began."""
        found = in_document(snapshot)
        for chip, figures in found.items():
            grown: Counter[Any] = Counter(figures["grown"])
            grown.subtract(self._before.get(chip, {}))
            figures["grown"] = dict(+grown)
        return found


def figures_in(document: dict[str, Any]) -> dict[int, Figures]:
    """By unique id, in the order of the document."""
    return {int(row["uuid"], 16): _of_row(row) for row in document["device_info"] if row["uuid"]}


def _of_row(row: dict[str, Any]) -> Figures:
    caches = {CACHES[word]: figures for word, figures in row["caches"].items()}
    images = caches.get(Cache.IMAGE, {"entries": 0, "shared_bytes": 0})
    grown: Counter[Any] = Counter({"launches": row["launches"]})
    for cache, figures in caches.items():
        grown.update({(cache, outcome): figures[word] for word, outcome in OUTCOMES.items()})
    grown.update({STALLS[word]: count for word, count in row["stalls"].items()})
    footprint = row["circular_buffers"] or dict.fromkeys(FOOTPRINT, 0)
    kernels = {KernelType[word.upper()]: row["kernels"][word]["used"] for word in ("application", "fabric", "dispatch")}
    rings = {CORES[word]: tuple(ring[name] for name in RING) for word, ring in row["ring"].items()}
    grown.update({("ring", CORES[word]): ring["launches"] for word, ring in row["ring"].items()})
    return {
        "used": {POOLS[word]: figures["used"] for word, figures in row["memory"].items() if figures["used"]},
        "kernel_types": {kernel_type: used for kernel_type, used in kernels.items() if used},
        "core_types": {CORES[word]: one["used"] for word, one in row["kernels_by_core"].items() if one["used"]},
        "footprint": tuple(footprint[word] for word in FOOTPRINT),
        "rings": {core_type: ring for core_type, ring in rings.items() if ring[0] or ring[1] or ring[3]},
        "images": (images["entries"], images["shared_bytes"]),
        "grown": dict(+grown),
    }


def in_document(snapshot: Snapshot) -> dict[int, Figures]:
    """What `ttmem ps --json` says, by unique id."""
    return figures_in(document(snapshot))


def in_table(snapshot: Snapshot) -> list[dict[str, str]]:
    """The USED column by pool, device after device; what never held anything has no row."""
    return devices_in(["".join(span.text for span in line) for line in page(snapshot, PageOptions())])


def devices_in(lines: list[str]) -> list[dict[str, str]]:
    """The same from the lines of a page."""
    head = next(line for line in lines if line.startswith(" DEVICE"))
    pool_at, used_end = head.index("POOL"), head.index("USED") + len("USED")
    devices: list[dict[str, str]] = []
    for line in lines[lines.index(head) + 1 :]:
        if not line:
            break
        if re.match(r" \d", line):
            devices.append({})
        cells = re.split(r"\s{2,}", line[pool_at:used_end])
        if cells[0] in POOLS:
            devices[-1][cells[0]] = cells[-1]
    return devices


def expected_in_table(figures: Figures) -> dict[str, str]:
    """What the table must say of a chip: circular buffers by the bytes they share, the rest by what is charged."""
    used = dict(figures["used"])
    if Pool.CB in used:
        used[Pool.CB] = figures["footprint"][0]
    return {pool.word: _size_text(used_bytes) for pool, used_bytes in used.items()}
