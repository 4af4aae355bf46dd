"""Plain values out of shared structs: the layouts are those of `ttmem.events`, nothing is written down again."""

import struct
from dataclasses import fields
from enum import IntEnum
from typing import Any

from ttmem.devices import Word
from ttmem.events import STRUCTS, BufferAllocated, CoreBufferAllocated, Event

__all__ = ["Document", "PartReader", "event_document", "sizes_of", "text_of", "words_of"]

Document = dict[str, Any]
_BINARIES_MOST, _DIGITS_MOST = 16, 10  # of a kernel, of the size of one
_INTEGERS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class PartReader:
    """One struct somewhere in some bytes; its fields by name."""

    def __init__(self, name: str, data: bytes, offset: int = 0) -> None:
        self._struct = STRUCTS[name]
        self._data = data
        self._offset = offset

    def integer(self, name: str) -> int:
        data = self.raw(name)
        return int.from_bytes(data, "little")

    def signed(self, name: str) -> int:
        return int.from_bytes(self.raw(name), "little", signed=True)

    def raw(self, name: str) -> bytes:
        field = self._struct.fields[name]
        start = self._offset + field.offset_bytes
        return self._data[start : start + field.size_bytes]

    def text(self, name: str) -> str:
        return text_of(self.raw(name))

    def integers(self, *names: str) -> Document:
        return {name: self.integer(name) for name in names}

    def all_integers(self) -> Document:
        """Every field that is one number."""
        fields = self._struct.fields.items()
        return {name: self.integer(name) for name, field in fields if field.size_bytes in _INTEGERS}

    def items(self, name: str, struct_name: str) -> list["PartReader"]:
        """A field that holds several structs of another kind."""
        data, size_bytes = self.raw(name), STRUCTS[struct_name].size_bytes
        return [PartReader(struct_name, data, start) for start in range(0, len(data), size_bytes)]


def text_of(data: bytes) -> str:
    """Up to its first zero."""
    return data.split(b"\0", 1)[0].decode(errors="replace")


def sizes_of(data: bytes) -> list[int]:
    """What follows on a kernel's name and a zero, as native/src/journal/kernel_name.hpp reads it."""
    sizes = data.partition(b"\0")[2].split(b",")
    is_sound = len(sizes) <= _BINARIES_MOST and all(size.isdigit() and len(size) <= _DIGITS_MOST for size in sizes)
    return [int(size) for size in sizes] if is_sound else []


def words_of(data: bytes) -> tuple[int, ...]:
    """Words of eight bytes; a rest that is none is left out."""
    return struct.unpack_from(f"<{len(data) // 8}Q", data)


def event_document(event: Event) -> Document:
    """An event, field by field; words instead of numbers where there are words."""
    document: Document = {"event": type(event).__name__}
    for field in fields(event):
        value = getattr(event, field.name)
        if isinstance(value, Word):
            value = value.word
        elif isinstance(value, IntEnum):
            value = value.name.lower()
        document[field.name] = value.hex() if isinstance(value, bytes) else value
    if isinstance(event, BufferAllocated):
        document["page_bytes"] = event.page_bytes
    if isinstance(event, CoreBufferAllocated):
        document |= {name: getattr(event, name) for name in ("core_set", "core_count", "is_further")}
    return document
