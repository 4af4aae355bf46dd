"""Regions of the stock runtime's counters, made for tests, and a table of who lives.

Offsets are written down here a second time, from the facts about the four layouts: of layouts 1, 2 and 4 no file was
ever seen, so what a test says about them holds for these tables only. Those of layout 3 in `tests/data/shm` are real.
"""

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from ttmem.sources.stock_shm.owners import SlotOwner
from ttmem.sources.stock_shm.region import ProcessSlot

SIZES = {1: 8536, 2: 8536, 3: 8576, 4: 8576}
EMPTY_CHIP = {1: 0, 2: 0xFFFFFFFF, 3: 0xFFFFFFFF, 4: 0xFFFFFFFF}
READY = 0x52454459
NOON_NS = 1_700_000_000_000_000_000
FileKey = tuple[int, int]


class Slot(NamedTuple):
    """A process as a region holds it; sums are dram, l1, l1_small, trace, cb."""

    pid: int
    sums: Sequence[int] = (0, 0, 0, 0, 0)
    last_update_ns: int = NOON_NS
    name: bytes = b"python"


def a_region(
    *slots: Slot,
    version: int = 3,
    totals: Sequence[int] | None = None,
    references: int | None = None,
    chip_id: int = 1,
    device_id: int = 0,
    asic_id: int = 0,
    init_state: int = READY,
) -> bytes:
    """The bytes of one; totals are those of its slots unless said otherwise."""
    data = bytearray(SIZES[version])
    sums = totals or [sum(column) for column in zip(*(slot.sums for slot in slots), strict=True)] or [0] * 5
    struct.pack_into("<IIQ", data, 0, version, len(slots), NOON_NS)
    struct.pack_into("<I", data, 16, len(slots) if references is None else references)
    struct.pack_into("<QI", data, 32, asic_id, device_id)
    struct.pack_into("<5Q", data, 48, *sums)
    for number in range(16):
        struct.pack_into("<I", data, 88 + 48 * number, EMPTY_CHIP[version])
    struct.pack_into("<II5Q", data, 88, chip_id, 0, *sums)
    for number, slot in enumerate(slots):
        struct.pack_into("<i4x5QQ64s", data, 856 + 120 * number, slot.pid, *slot.sums, slot.last_update_ns, slot.name)
    if version == 4:
        struct.pack_into("<I", data, 8536, init_state)
    return bytes(data)


def put(directory: Path, unique_id: int, data: bytes) -> Path:
    """A region as the runtime names it."""
    path = directory / f"tt_device_{unique_id}_memory"
    path.write_bytes(data)
    return path


class KnownOwners:
    """Who lives, by decree; those who live are attached to every region."""

    def __init__(self, alive: Iterable[int] = ()) -> None:
        self._alive = set(alive)

    def begin(self) -> None:
        pass

    def owner_of(self, file: FileKey, file_uid: int, slot: ProcessSlot) -> SlotOwner | None:
        return an_owner(slot.pid) if slot.pid in self._alive else None

    def attached_to(self, file: FileKey) -> list[SlotOwner]:
        return [an_owner(pid) for pid in sorted(self._alive)]


def an_owner(pid: int, uid: int = 1000) -> SlotOwner:
    return SlotOwner(pid, uid, f"python job_{pid}.py", NOON_NS - 60_000_000_000, None)
