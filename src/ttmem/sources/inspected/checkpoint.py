"""A daemon's checkpoint as a document: the processes that reported by socket, and what was alive of each."""

from typing import BinaryIO

from ttmem import _native
from ttmem.errors import NothingToRead
from ttmem.events import STRUCTS, decode_record
from ttmem.events.parts import Document, PartReader, event_document
from ttmem.snapshot.values import time_text

__all__ = ["CHECKPOINT_MAGIC", "checkpoint_document"]

CHECKPOINT_MAGIC = b"TTMEMCP"  # and a digit
_HEAD_BYTES = STRUCTS["CheckpointHead"].size_bytes
_PROCESS_BYTES = STRUCTS["CheckpointProcess"].size_bytes
_RECORD_BYTES = STRUCTS["Record"].size_bytes
_CHIP_BYTES = 4


def checkpoint_document(path: str, file: BinaryIO, most: int) -> Document:
    """All of it, at most `most` allocations of each process. One that is not sound is NothingToRead."""
    data = file.read()
    _, trouble = _native.Ledger().restore(data)
    if trouble:
        raise NothingToRead(f"{path}: a checkpoint that cannot be read: {trouble}; the daemon would set it aside")
    head = PartReader("CheckpointHead", data)
    processes = []
    at = _HEAD_BYTES
    for _ in range(head.integer("process_count")):
        process, at = _process(data, at, most)
        processes.append(process)
    return {
        "version": head.integer("version"),
        "written": time_text(head.integer("time_ns")),
        "boot_id": head.raw("boot_id").hex(),
        "processes": processes,
    }


def _process(data: bytes, at: int, most: int) -> tuple[Document, int]:
    """One process, and where the next one begins."""
    process = PartReader("CheckpointProcess", data, at)
    chips_at = at + _PROCESS_BYTES
    chip_count, entry_count = process.integer("chip_count"), process.integer("entry_count")
    entries_at = chips_at + -(-chip_count * _CHIP_BYTES // 8) * 8
    end = entries_at + entry_count * _RECORD_BYTES
    chips = [
        int.from_bytes(data[start : start + _CHIP_BYTES], "little", signed=True)
        for start in range(chips_at, chips_at + chip_count * _CHIP_BYTES, _CHIP_BYTES)
    ]
    listed = range(entries_at, min(end, entries_at + most * _RECORD_BYTES), _RECORD_BYTES)
    document = {
        **process.integers("pid", "claimed_pid", "uid", "start_ticks", "sequence", "event_count"),
        "started": time_text(process.integer("started_ns")),
        "command": process.text("command"),
        "chips": chips,
        "live_count": entry_count,
        "live": [event_document(decode_record(data[start : start + _RECORD_BYTES])) for start in listed],
    }
    return document, end
