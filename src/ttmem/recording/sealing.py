"""Packing a segment that is full: block by block, so that each can be read without the others."""

import os
import zlib
from pathlib import Path

from ttmem import _native
from ttmem.recording.meta import SEALED, SEGMENT

__all__ = ["plain_block", "seal", "segment_numbers"]

PACKED = 1
_LEVEL, _LEVEL_OF_SMALL = 1, 6
_SMALL_BYTES = 65_536  # blocks that were closed by the clock: not many a second, so they may take longer


def segment_numbers(directory: Path) -> list[int]:
    """Of all segments of a recording, in their order."""
    names = (path.name.partition(".") for path in directory.iterdir())
    return sorted({int(stem) for stem, dot, suffix in names if stem.isdigit() and dot + suffix in (SEGMENT, SEALED)})


def seal(path: Path) -> None:
    """Replaces a plain segment by a packed one, whole or not at all. What its end has lost is left out."""
    if not path.exists():
        return
    heads, _ = _native.recording.scan(str(path))
    fresh = path.with_suffix(".sealing")
    with path.open("rb", buffering=0) as plain, fresh.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        for offset, size, *_ in heads:
            block = os.pread(plain.fileno(), size, offset)
            payload = _native.recording.payload(block)
            level = _LEVEL_OF_SMALL if len(payload) < _SMALL_BYTES else _LEVEL
            file.write(_native.recording.restored(block, zlib.compress(payload, level), True))
    fresh.replace(path.with_suffix(SEALED))
    path.unlink()


def plain_block(block: bytes, codec: int) -> bytes:
    """A block as the native core reads it. A damaged one is a ValueError."""
    if codec != PACKED:
        return block
    try:
        payload = zlib.decompress(_native.recording.payload(block))
    except zlib.error as error:
        raise ValueError(f"it cannot be unpacked: {error}") from None
    return _native.recording.restored(block, payload, False)
