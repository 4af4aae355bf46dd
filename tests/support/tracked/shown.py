"""What `ttmem ps --json` and the table of `ttmem ps` say of each chip, in the shape of `agreement`.

The collector, the document and the page are those of the command itself, called without a process of their own: a
story looks after every step. What a process of its own says is compared in `test_faces`. The whole page of 32 chips
takes a while to make; `shown_steps` asks for one chip at a time.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from tests.support.tracked.agreement import Figures
from ttmem.collector import Collector
from ttmem.devices import Pool
from ttmem.snapshot import DeviceUsage, Snapshot
from ttmem.snapshot.codec import decoded, encoded
from ttmem.sources import Places
from ttmem.tracking import Cache, CacheOutcome, KernelType
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import page
from ttmem.view.pages.smi import SmiDocument, smi_document
from ttmem.view.texts import size_text

POOLS = {pool.word: pool for pool in Pool}
OUTCOMES = {f"{outcome.word}_count": outcome for outcome in CacheOutcome}
RING = ("live_bytes", "retired_bytes", "free_bytes", "entry_count")
_size_text = lru_cache(maxsize=None)(size_text)
FOOTPRINT = ("planned_bytes", "resident_bytes", "worst_planned_bytes", "worst_resident_bytes")


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


def figures_in(chips: Iterable[DeviceUsage]) -> dict[int, Figures]:
    """By unique id, in the order of the snapshot."""
    return {int(chip.device.unique_id): _of_chip(chip) for chip in chips if chip.device.is_known}


def _of_chip(chip: DeviceUsage) -> Figures:
    activity = chip.activity
    caches = {usage.cache: usage for usage in activity.caches}
    image = caches.get(Cache.IMAGE)
    grown: Counter[Any] = Counter({"launches": chip.launch_count})
    for cache, usage in caches.items():
        grown.update({(cache, outcome): getattr(usage, name) for name, outcome in OUTCOMES.items()})
    grown.update(dict(activity.stalls))
    found = activity.footprint
    kernels = {usage.kind.kernel_word: usage.used_bytes for usage in chip.kernels}
    types = {kind: kernels.get(kind.name.lower(), 0) for kind in KernelType}
    rings = {ring.core_type: tuple(getattr(ring, name) for name in RING) for ring in activity.rings}
    grown.update({("ring", ring.core_type): ring.launch_count for ring in activity.rings})
    return {
        "used": {pool.pool: pool.used_bytes for pool in chip.pools if pool.used_bytes},
        "kernel_types": {kernel_type: used for kernel_type, used in types.items() if used},
        "core_types": {core.core_type: core.used_bytes for core in activity.cores if core.used_bytes},
        "footprint": tuple(getattr(found, name) if found else 0 for name in FOOTPRINT),
        "rings": {core_type: ring for core_type, ring in rings.items() if ring[0] or ring[1] or ring[3]},
        "images": (image.entry_count, image.shared_bytes) if image else (0, 0),
        "grown": dict(+grown),
    }


def in_document(snapshot: Snapshot) -> dict[int, Figures]:
    """What `ttmem ps --json` says, by unique id. Of circular buffers it has the union over programs, which is compared
    here with their footprint; their sum, which is to be held against the model's, is the ledger's."""
    document = decoded(encoded(smi_document(snapshot)), SmiDocument)
    found = figures_in(one.ttmem for one in document.device_info)
    for chip in (chip for chip in snapshot.devices if chip.device.is_known):
        figures = found[int(chip.device.unique_id)]
        assert chip.activity.footprint is None or figures["used"].pop(Pool.CB, 0) in (0, figures["footprint"][0])
        sums = {pool.pool: pool.used_bytes for pool in chip.pools if pool.pool is Pool.CB and pool.used_bytes}
        figures["used"] = dict(sorted({**figures["used"], **sums}.items()))
    return found


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
