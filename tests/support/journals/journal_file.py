"""A journal's bytes, read with nothing but the drawn layout: what the writer itself keeps, for comparison."""

import struct
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ttmem import _native

LAYOUT = _native.layout()
POOL_COUNT = 10
Place = tuple[int, int]  # target, pool


class Held(NamedTuple):
    used_bytes: int
    entries: int


class Entry(NamedTuple):
    target: int
    kind: int
    pool: int
    id: int
    reserved_bytes: int


def counters(path: Path) -> dict[Place, Held]:
    """By target and pool, as the counters say; signed, so that one below zero would show."""
    found = {}
    head = _head(path)
    start = _identity(head, "targets_offset", "Q")
    with open(path, "rb") as file:
        for target in range(_identity(head, "target_count", "I")):
            file.seek(start + target * _size("Target") + _offset("Target", "pools"))
            for pool in range(POOL_COUNT):
                words = file.read(_size("PoolCounters"))
                used, allocs, frees = (
                    struct.unpack_from("q", words, _offset("PoolCounters", name))[0]
                    for name in ("used", "allocs", "frees")
                )
                if allocs or frees or used:
                    found[target, pool] = Held(used, allocs - frees)
    return found


def live_entries(path: Path) -> list[Entry]:
    """The committed entries of the slab."""
    head = _head(path)
    [high] = struct.unpack_from("Q", head, _offset("Header", "slab_high"))
    entries = []
    with open(path, "rb") as file:
        file.seek(_identity(head, "slab_offset", "Q"))
        for _ in range(high):
            commit, _, tag, identifier, _, reserved, _, _ = struct.unpack("8Q", file.read(_size("Record")))
            if commit and not commit & 1:
                entries.append(
                    Entry(reserved >> 48, tag >> 8 & 0xFF, tag >> 16 & 0xFF, identifier, reserved & (1 << 48) - 1)
                )
    return entries


def sums(entries: list[Entry]) -> dict[Place, Held]:
    """Entries added up as counters do."""
    used: Counter[Place] = Counter()
    count: Counter[Place] = Counter()
    for entry in entries:
        used[entry.target, entry.pool] += entry.reserved_bytes
        count[entry.target, entry.pool] += 1
    return {place: Held(used[place], count[place]) for place in count}


class Kept(NamedTuple):
    """An incident as its slot has it; figures by the names of the layout."""

    number: int
    kind: int
    pool: int
    target: int
    flags: int
    figures: dict[str, int]
    text: str
    entry_ids: list[int]


def incidents(path: Path) -> tuple[int, list[Kept]]:
    """How many there were, and those whose slots are whole, oldest first."""
    head = _head(path)
    [count] = struct.unpack_from("Q", head, _offset("Header", "incidents"))
    slots, copies = _identity(head, "incidents_offset", "Q"), _identity(head, "copies_offset", "Q")
    copy_bytes = _identity(head, "incident_entries", "I") * _size("Record")
    kept = []
    with open(path, "rb") as file:
        for slot in range(_identity(head, "incident_slots", "I")):
            file.seek(slots + slot * _size("Incident"))
            words = file.read(_size("Incident"))
            names = [name for name in LAYOUT["Incident"][1] if name not in ("text", "spare")]
            figures = {name: struct.unpack_from("Q", words, _offset("Incident", name))[0] for name in names}
            if not figures["commit"] or figures["commit"] & 1:
                continue
            file.seek(copies + slot * copy_bytes)
            entries = file.read(figures["entries"] * _size("Record"))
            ids = [word for (word,) in struct.iter_unpack("24x Q 32x", entries)]
            text = words[_offset("Incident", "text") :][: figures["text_bytes"]].decode()
            place = figures["place"]
            numbers = (place & 0xFF, place >> 8 & 0xFF, place >> 16 & 0xFFFF, place >> 48)
            kept.append(Kept(figures["commit"] >> 1, *numbers, figures, text, ids))
    return count, sorted(kept)


def leave_unfinished(path: Path) -> None:
    """Makes the first incident look as one whose thread was killed while it wrote it."""
    place = _identity(_head(path), "incidents_offset", "Q") + _offset("Incident", "commit")
    with open(path, "r+b") as file:
        file.seek(place)
        [commit] = struct.unpack("Q", file.read(8))
        file.seek(place)
        file.write(struct.pack("Q", commit | 1))


def _head(path: Path) -> bytes:
    with open(path, "rb") as file:
        return file.read(_size("Header"))


def _size(struct_name: str) -> int:
    return LAYOUT[struct_name][0]


def _offset(struct_name: str, field: str) -> int:
    return LAYOUT[struct_name][1][field][0]


def _identity(head: bytes, field: str, form: str) -> int:
    [value] = struct.unpack_from(form, head, _offset("Identity", field))
    return int(value)
