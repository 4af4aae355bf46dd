"""The operations of programs, read from the bytes of a journal: each live program's entry names a node of its tree."""

import struct
from pathlib import Path

from ttmem.devices import Kind
from ttmem.events import STRUCTS
from ttmem.events.layout import Struct

_IDENTITY, _HEADER = STRUCTS["Identity"], STRUCTS["Header"]
_RECORD = struct.Struct("<8Q")  # commit, time, tag, id, address, reserved, requested, per bank
_LOW_48, _NODE = (1 << 48) - 1, (1 << 31) - 1
_DEVICE_OPERATION = 4


def operations(journals: Path) -> dict[int, str]:
    """The device operation of each program of the only process that reports there; "" where it is not known."""
    [path] = journals.glob("*.journal")
    data = path.read_bytes()
    found = {}
    slab, high = _identity(data, "slab_offset"), _field(data, _HEADER, "slab_high")
    for place in range(high):
        commit, _, tag, program, *_, requested, _ = _RECORD.unpack_from(data, slab + place * _RECORD.size)
        is_alive = commit != 0 and commit % 2 == 0
        if is_alive and tag & 0xFF == 1 and tag >> 8 & 0xFF == Kind.PROGRAM_BINARY:
            found[program] = _name(data, requested & _LOW_48)
    return found


def _name(data: bytes, site: int) -> str:
    if not site:
        return ""
    at = _identity(data, "stack_nodes_offset") + (site & _NODE) * STRUCTS["StackNode"].size_bytes
    _, name, _, kind_and_line = struct.unpack_from("<4I", data, at)
    assert kind_and_line >> 28 == _DEVICE_OPERATION
    text = _identity(data, "stack_texts_offset") + name * 8
    length = int.from_bytes(data[text : text + 4], "little")
    return data[text + 8 : text + 8 + length].decode()


def _identity(data: bytes, name: str) -> int:
    return _field(data, _IDENTITY, name)


def _field(data: bytes, of: Struct, name: str) -> int:
    start, size = of.fields[name]
    return int.from_bytes(data[start : start + size], "little")
