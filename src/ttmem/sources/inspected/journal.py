"""A journal as a document: who wrote it, its targets and counters, what is alive, what happened last.

It is read once and as it is. A process may be writing to it meanwhile: a record that is not whole at that instant is
left out. Whether the writer still lives is not asked.
"""

import os
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from ttmem import _native
from ttmem.devices import Kind, Pool
from ttmem.errors import NothingToRead
from ttmem.events import PROGRAM_ZERO, STACK_SITE, STRUCTS, decode_record
from ttmem.events.parts import Document, PartReader, event_document, sizes_of, text_of, words_of
from ttmem.snapshot.values import time_text
from ttmem.sources.inspected.incidents import incident_counts, incident_heads
from ttmem.sources.inspected.stacks import StackTexts
from ttmem.tracking import Cache, CoreType, Stall

__all__ = ["journal_document"]

_RECORD_BYTES = STRUCTS["Record"].size_bytes
_STATES = ("unnamed", "open", "closed")
_CLOCKS = ("monotonic", "tsc")
_ITEMS = {1: "text", 2: "device", 3: "mesh"}
_FINDINGS = (
    *("skipped", "untabled_allocs", "untabled_frees", "unsized_frees", "unmatched_frees", "replaced", "clamped"),
    *("shrunk_kernels", "arena_refused", "phases_refused", "target_refused", "unreported", "undivided_l1"),
    *("stacks_refused", "unjudged"),
)
_NO_TARGET = 0xFFFF  # in a row of phases: how many are open
_SLAB_CHUNK = 4096  # entries


def journal_document(path: str, file: BinaryIO, most: int) -> Document:
    """All of it, at most `most` live entries and events. A journal that is not sound is NothingToRead."""
    facts = os.fstat(file.fileno())
    _, trouble = _native.Ledger().attach(os.path.realpath(path), facts.st_dev, facts.st_ino)
    if trouble:
        raise NothingToRead(f"{path}: a journal that cannot be read: {trouble}")
    return _Journal(file).document(most)


class _Journal:
    """The parts of one journal that was found sound."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        head = self._read(0, STRUCTS["Header"].size_bytes)
        self._header = PartReader("Header", head)
        self._identity = PartReader("Identity", self._header.raw("identity"))
        self._arena = self._read(self._at("arena_offset"), self._identity.integer("arena_bytes"))
        self._stacks = StackTexts(file, self._header, self._identity)
        self._closed: dict[int, int] = {}  # target -> the sequence that closed it

    def document(self, most: int) -> Document:
        targets = list(self._targets())
        alive = self._alive()
        listed = [event for _, event in zip(range(most), alive, strict=False)]
        live_count = sum(not event.get("is_further") for event in chain(listed, alive))
        return {
            "identity": self._identity_document(),
            "label": self._text(self._header.integer("label")) or self._identity.text("command"),
            "counters": {
                "next_sequence": self._header.integer("next_sequence"),
                "threads": self._header.integer("threads_used"),
                "arena_bytes_used": self._header.integer("arena_used"),
                "stack_nodes": self._header.integer("stack_nodes_used") - 1,
                "stack_text_bytes": self._header.integer("stack_texts_used"),
            },
            "sites_off": self._text(self._header.integer("sites_off")) or None,
            "findings": {name: count for name in _FINDINGS if (count := self._header.integer(name))},
            "targets": targets,
            "phases": list(self._phases()),
            "open_phases": list(self._open_phases()),
            "incident_count": self._header.integer("incidents"),
            "incident_counts": incident_counts(self._header),
            "incidents": incident_heads(self._filled("Incident", "incidents_offset", "incident_slots"), self._text),
            "live_count": live_count,
            "live": listed,
            "recent": self._recent(most),
        }

    def _identity_document(self) -> Document:
        identity = self._identity
        clock = identity.integer("clock_kind")
        return {
            **identity.all_integers(),
            "magic": identity.text("magic"),
            "boot_id": identity.raw("boot_id").hex(),
            "clock_kind": _CLOCKS[clock] if clock < len(_CLOCKS) else str(clock),
            "made": time_text(identity.integer("clock_realtime_ns")),
            "command": identity.text("command"),
            "run": identity.text("run"),
        }

    def _targets(self) -> Iterator[Document]:
        """Those that were ever named or counted on."""
        for number, target in self._filled("Target", "targets_offset", "target_count"):
            self._closed[number] = target.integer("closed_sequence")
            document = self._target(number, target)
            if document["state"] != "unnamed" or document["pools"] or document["kinds"]:
                yield document

    def _target(self, number: int, target: PartReader) -> Document:
        state = target.integer("state")
        pools = zip(Pool, target.items("pools", "PoolCounters"), strict=True)
        kinds = zip(Kind, target.items("kinds", "KindCounters"), strict=True)
        rings = zip(CoreType, target.items("rings", "RingCounters"), strict=True)
        caches = zip(Cache, target.items("caches", "CacheCounters"), strict=True)
        stalls = zip(Stall, words_of(target.raw("stalls")), strict=False)
        return {
            "target": number,
            "state": _STATES[state] if state < len(_STATES) else str(state),
            **target.integers("unique_id", "closed_sequence", "launches", "clashes", "refusals"),
            "described": self._descriptor(target.integer("descriptor")),
            "pools": {pool.word: found for pool, part in pools if any((found := part.all_integers()).values())},
            "kinds": {kind.word: found for kind, part in kinds if any((found := part.all_integers()).values())},
            "rings": {core.word: found for core, part in rings if any((found := part.all_integers()).values())},
            "caches": {cache.word: found for cache, part in caches if (found := _cache(part))},
            "stalls": {stall.word: count for stall, count in stalls if count},
        }

    def _descriptor(self, item_id: int) -> Document | None:
        """What was said about a chip or mesh when it was opened."""
        kind, data = self._item(item_id)
        if kind == "device" and len(data) >= STRUCTS["DeviceDescriptor"].size_bytes:
            device = PartReader("DeviceDescriptor", data)
            capacities = zip(Pool, words_of(device.raw("capacity_bytes")), strict=True)
            return {
                "device": {
                    **device.integers("unique_id", "kernel_ring_bytes"),
                    "index": device.signed("index"),
                    "arch": device.text("arch"),
                    "board": device.text("board"),
                    "grid": [device.integer("grid_x"), device.integer("grid_y")],
                    **device.integers("dram_banks", "l1_banks"),
                    "capacity_bytes": {pool.word: capacity for pool, capacity in capacities if capacity},
                }
            }
        if kind == "mesh" and len(data) >= STRUCTS["MeshDescriptor"].size_bytes:
            mesh = PartReader("MeshDescriptor", data)
            chips = data[STRUCTS["MeshDescriptor"].size_bytes :]
            return {"mesh": {**mesh.integers("mesh_id", "rows", "columns"), "chips": list(words_of(chips))}}
        return None

    def _phases(self) -> Iterator[Document]:
        for _, phase in self._filled("PhasePeak", "phases_offset", "phase_peaks"):
            place = phase.integer("name_and_place")
            if phase.integer("runs") and place >> 32 & 0xFFFF != _NO_TARGET:
                yield {
                    "phase": self._text(place & 0xFFFF_FFFF),
                    "target": place >> 32 & 0xFFFF,
                    "pool": Pool.numbered(place >> 48).word,
                    **phase.integers("peak", "time", "runs"),
                }

    def _open_phases(self) -> Iterator[Document]:
        for _, phase in self._filled("PhasePeak", "phases_offset", "phase_peaks"):
            place, count = phase.integer("name_and_place"), phase.integer("peak")
            if phase.integer("runs") and count and place >> 32 & 0xFFFF == _NO_TARGET:
                yield {"phase": self._text(place & 0xFFFF_FFFF), "count": count, **phase.integers("time")}

    def _filled(self, name: str, offset: str, count: str) -> Iterator[tuple[int, PartReader]]:
        """Structs that lie one after the other, with their numbers; most are empty, and skipped at once."""
        size = STRUCTS[name].size_bytes
        data = self._read(self._at(offset), size * self._identity.integer(count))
        empty = bytes(size)
        for number, start in enumerate(range(0, len(data), size)):
            if data[start : start + size] != empty:
                yield number, PartReader(name, data, start)

    def _alive(self) -> Iterator[Document]:
        """Committed entries of targets that were not closed since."""
        high = min(self._header.integer("slab_high"), self._identity.integer("table"))
        for first in range(0, high, _SLAB_CHUNK):
            count = min(_SLAB_CHUNK, high - first)
            data = self._read(self._at("slab_offset") + first * _RECORD_BYTES, count * _RECORD_BYTES)
            for start in range(0, len(data), _RECORD_BYTES):
                record = data[start : start + _RECORD_BYTES]
                commit = int.from_bytes(record[:8], "little")
                if commit and not commit & 1:
                    event = decode_record(record)
                    if event.sequence >= self._closed.get(event.target, 0):
                        yield self._with_texts(event_document(event))

    def _recent(self, most: int) -> list[Document]:
        """The newest records of the ring, oldest first; one that is not committed now is left out."""
        slots, end = self._identity.integer("ring_slots"), self._header.integer("next_sequence")
        begin = max(self._identity.integer("first_sequence"), end - min(most, slots))
        found = []
        for sequence in range(begin, end):
            record = self._read(self._at("ring_offset") + sequence % slots * _RECORD_BYTES, _RECORD_BYTES)
            if int.from_bytes(record[:8], "little") == sequence << 1:
                found.append(self._with_texts(event_document(decode_record(record))))
        return found

    def _with_texts(self, event: Document) -> Document:
        """With the text behind its site and its core set, if it has one; of a kernel also what its binaries take."""
        if event.get("program") == PROGRAM_ZERO:
            event = {**event, "program": 0}
        if cores := self._text(event.get("core_set", 0)):
            event = {**event, "core_set_text": cores}
        if event["kind"] == Kind.PROGRAM_BINARY.word:  # whose site is a place in DRAM
            return event
        if event["site"] & STACK_SITE:
            return {**event, "site_text": text} if (text := self._stacks.text(event["site"])) else event
        kind, data = self._item(event["site"])
        if kind != "text":
            return event
        texts = {"site_text": text} if (text := text_of(data)) else {}
        sizes = {"packed_bytes": found} if (found := sizes_of(data)) else {}
        return {**event, **texts, **sizes}

    def _text(self, item_id: int) -> str:
        kind, data = self._item(item_id)
        return text_of(data) if kind == "text" else ""

    def _item(self, item_id: int) -> tuple[str, bytes]:
        """A piece of the arena; empty if the id leads nowhere."""
        at = item_id * 8
        head = int.from_bytes(self._arena[at : at + 8], "little") if item_id else 0
        return _ITEMS.get(head >> 32, ""), self._arena[at + 8 : at + 8 + (head & 0xFFFF_FFFF)]

    def _at(self, name: str) -> int:
        return self._identity.integer(name)

    def _read(self, offset: int, size_bytes: int) -> bytes:
        return os.pread(self._file.fileno(), size_bytes, offset)


def _cache(part: PartReader) -> Document:
    """What a cache answered, in the order of `ttmem_outcome`; empty for one that was never asked."""
    outcomes, held = words_of(part.raw("outcomes")), part.integers("entries", "held", "shared")
    return {"outcomes": list(outcomes), **held} if any((*outcomes, *held.values())) else {}
