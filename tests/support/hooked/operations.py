"""Operations of programs and tensors of buffers, read from the bytes of a journal: entries name nodes of its tree."""

import struct
from collections.abc import Iterator
from pathlib import Path

from ttmem.devices import Kind
from ttmem.events import STRUCTS
from ttmem.events.layout import StructLayout

_IDENTITY, _HEADER = STRUCTS["Identity"], STRUCTS["Header"]
_RECORD = struct.Struct("<8Q")  # commit, time, tag, id, address, reserved, requested, per bank
_LOW_48, _STACK_SITE, _NODE = (1 << 48) - 1, 1 << 31, (1 << 31) - 1
_TENSOR, _DEVICE_OPERATION = 2, 4


def operations(journals: Path, pid: int) -> dict[int, str]:
    """The device operation of each program of a process that reports there; "" where it is not known."""
    data = _journal_of(journals, pid)
    alive = _alive(data, Kind.PROGRAM_BINARY)
    return {record[3]: _name(data, record[6] & _LOW_48, _DEVICE_OPERATION) for record in alive}


def tensors(journals: Path, pid: int) -> dict[tuple[int, int], str]:
    """Of each buffer, by its pool and address, the tensor that it was allocated for; "": it is none's."""
    data = _journal_of(journals, pid)
    alive = _alive(data, Kind.BUFFER)
    return {
        (record[2] >> 16 & 0xFF, record[4] & 0xFFFF_FFFF): _name(data, record[2] >> 32, _TENSOR) for record in alive
    }


def _journal_of(journals: Path, pid: int) -> bytes:
    [path] = journals.glob(f"{pid}-*.journal")
    return path.read_bytes()


def _alive(data: bytes, kind: Kind) -> Iterator[tuple[int, ...]]:
    slab, high = _identity(data, "slab_offset"), _field(data, _HEADER, "slab_high")
    for place in range(high):
        record = _RECORD.unpack_from(data, slab + place * _RECORD.size)
        commit, _, tag, *_ = record
        if commit != 0 and commit % 2 == 0 and tag & 0xFF == 1 and tag >> 8 & 0xFF == kind:
            yield record


def _name(data: bytes, site: int, wanted: int) -> str:
    """Of the node of this kind that a site names, or that lies above it."""
    number = site & _NODE if site & _STACK_SITE else 0
    while number:
        at = _identity(data, "stack_nodes_offset") + number * STRUCTS["StackNode"].size_bytes
        number, name, _, kind_and_line = struct.unpack_from("<4I", data, at)
        if kind_and_line >> 28 == wanted:
            text = _identity(data, "stack_texts_offset") + name * 8
            length = int.from_bytes(data[text : text + 4], "little")
            return data[text + 8 : text + 8 + length].decode()
    return ""


def _identity(data: bytes, name: str) -> int:
    return _field(data, _IDENTITY, name)


def _field(data: bytes, of: StructLayout, name: str) -> int:
    start, size = of.fields[name]
    return int.from_bytes(data[start : start + size], "little")
