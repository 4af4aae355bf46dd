"""Columns of 64-bit words as a plain Parquet file: what DuckDB reads fastest, on the way to the file that is asked for.

    "PAR1" │ row group: a page for each column │ row group ... │ what there is, and where │ its length │ "PAR1"

A page is its head and the words as they are. A column with one value throughout is that value once, in a page of its
own, and a run of places that mean it. Heads and the end are in Thrift's compact form: each field by how far its number
is from the last one, numbers as zigzag varints.
"""

import struct
from collections.abc import Callable, Sequence

__all__ = ["PlainParquet"]

_MAGIC = b"PAR1"
_INT32, _INT64, _BYTES, _LIST, _STRUCT = 5, 6, 8, 9, 12  # of Thrift
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2
_PLAIN, _RLE, _BY_PLACE = 0, 3, 8  # encodings
_WORD, _UNSIGNED = 2, 14  # the type of a column, and what it means
_WORD_BYTES = 8


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= 0x80:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _int(value: int) -> tuple[int, bytes]:
    return _INT32, _varint(value << 1)


def _long(value: int) -> tuple[int, bytes]:
    return _INT64, _varint(value << 1)


def _text(value: str) -> tuple[int, bytes]:
    return _BYTES, _varint(len(value.encode())) + value.encode()


def _list(values: Sequence[tuple[int, bytes]]) -> tuple[int, bytes]:
    kind = values[0][0] if values else _STRUCT
    head = bytes([len(values) << 4 | kind]) if len(values) < 15 else bytes([0xF0 | kind]) + _varint(len(values))
    return _LIST, head + b"".join(value for _, value in values)


def _struct(fields: dict[int, tuple[int, bytes]]) -> tuple[int, bytes]:
    found, last = bytearray(), 0
    for number, (kind, value) in fields.items():
        found += bytes([(number - last) << 4 | kind]) + value
        last = number
    return _STRUCT, bytes(found) + b"\0"


class PlainParquet:
    """A file of unsigned columns of these names, row group by row group."""

    def __init__(self, names: Sequence[str], write: Callable[[bytes], object]) -> None:
        self._names, self._write = names, write
        self._at = 0
        self._groups: list[tuple[int, bytes]] = []
        self.row_count = 0
        self._put(_MAGIC)

    def add(self, columns: Sequence[bytes]) -> None:
        """A row group: the words of each column."""
        row_count = len(columns[0]) // _WORD_BYTES
        began = self._at
        chunks = [self._chunk(name, words, row_count) for name, words in zip(self._names, columns, strict=True)]
        self._groups.append(_struct({1: _list(chunks), 2: _long(self._at - began), 3: _long(row_count)}))
        self.row_count += row_count

    def finish(self) -> None:
        """What there is, at the end."""
        root = _struct({4: _text("lives"), 5: _int(len(self._names))})
        columns = [_struct({1: _int(_WORD), 3: _int(0), 4: _text(name), 6: _int(_UNSIGNED)}) for name in self._names]
        end = _struct({1: _int(1), 2: _list([root, *columns]), 3: _long(self.row_count), 4: _list(self._groups)})[1]
        self._put(end + struct.pack("<I", len(end)) + _MAGIC)

    def _chunk(self, name: str, words: bytes, row_count: int) -> tuple[int, bytes]:
        began = self._at
        is_constant = words == words[:_WORD_BYTES] * row_count
        if is_constant:
            self._page(_DICTIONARY_PAGE, words[:_WORD_BYTES], 7, {1: _int(1), 2: _int(_PLAIN)})
            pages_at = self._at
            content = b"\x01" + _varint(row_count << 1) + b"\0"  # one bit for each place; a run of the first
        else:
            pages_at, content = began, words
        encoding = _BY_PLACE if is_constant else _PLAIN
        self._page(_DATA_PAGE, content, 5, {1: _int(row_count), 2: _int(encoding), 3: _int(_RLE), 4: _int(_RLE)})
        size = self._at - began
        place = {11: _long(began)} if is_constant else {}
        told = {1: _int(_WORD), 2: _list([_int(encoding)]), 3: _list([_text(name)]), 4: _int(0), 5: _long(row_count)}
        sizes = {6: _long(size), 7: _long(size), 9: _long(pages_at)}
        return _struct({2: _long(began), 3: _struct({**told, **sizes, **place})})

    def _page(self, kind: int, content: bytes, field: int, head: dict[int, tuple[int, bytes]]) -> None:
        sizes = {1: _int(kind), 2: _int(len(content)), 3: _int(len(content))}
        self._put(_struct({**sizes, field: _struct(head)})[1])
        self._put(content)

    def _put(self, content: bytes) -> None:
        self._write(content)
        self._at += len(content)
