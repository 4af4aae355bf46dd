"""What an executable or a shared library says about itself: loader, needed libraries, dynamic symbols, calls.

Read from the program headers alone, as the dynamic loader does, so a file without section headers says as much. Any
file may come: every offset is checked against the file, counts are bounded by its size, and whatever does not fit is an
`ElfError` that says what. Files are read, never mapped: one that is cut short meanwhile cannot kill us.

   ELF header -> program headers: PT_INTERP  -> the loader's path
                                  PT_DYNAMIC -> tags: strings, symbols, relocations, by address
                                  PT_LOAD    -> address to place in the file
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ttmem.errors import TtmemError

__all__ = ["Elf", "ElfError", "read_elf"]

_PT_LOAD, _PT_DYNAMIC, _PT_INTERP = 1, 2, 3
_DT_NEEDED, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_RELA, _DT_RELASZ, _DT_STRSZ = 1, 4, 5, 6, 7, 8, 10
_DT_SONAME, _DT_RPATH, _DT_REL, _DT_RELSZ, _DT_PLTRELSZ, _DT_PLTREL, _DT_JMPREL = 14, 15, 17, 18, 2, 20, 23
_DT_RUNPATH, _DT_GNU_HASH = 29, 0x6FFFFEF5
_HIDDEN = (1, 2)  # st_other: internal, hidden
_SEEN_OUTSIDE = (1, 2, 10)  # binding: global, weak, unique
_MOST_HEADERS = 4096
_MOST_CHAIN = 1 << 16  # symbols with one hash
_MOST_NAME = 1 << 16
_MOST_BYTES = 1 << 28  # of one table: far above what any library has, far below what would hurt


class ElfError(TtmemError):
    """A file that is no ELF file, or one that contradicts itself."""


@dataclass(frozen=True)
class Elf:
    """One file. `exported` it offers to others, `imported` it wants from others, `called` it reaches by symbol."""

    path: str
    bits: int
    machine: int
    interpreter: str | None
    has_dynamic: bool
    soname: str = ""
    needed: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()
    exported: frozenset[str] = field(default=frozenset(), repr=False)
    imported: frozenset[str] = field(default=frozenset(), repr=False)
    called: frozenset[str] = field(default=frozenset(), repr=False)


def read_elf(path: str) -> Elf:
    """Reads a file; ElfError if it is none, OSError if it cannot be opened."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        return _Reader(path, descriptor).read()
    except struct.error as error:
        raise ElfError(f"{path}: expected an ELF file, found a table that is cut short ({error})") from error
    finally:
        os.close(descriptor)


class _Form(NamedTuple):
    """How the tables of one class (32 or 64 bits) are packed."""

    header: str  # from e_type on
    program_header: str
    tag: str
    symbol: str
    relocation: str  # with addend
    short_relocation: str
    symbol_shift: int  # of r_info


_FORMS = {
    1: _Form("HHIIIIIHHHHHH", "IIIIIIII", "II", "IIIBBH", "IIi", "II", 8),
    2: _Form("HHIQQQIHHHHHH", "IIQQQQQQ", "QQ", "IBBHQQ", "QQq", "QQ", 32),
}


class _Reader:
    """One pass over one file."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._size_bytes = os.fstat(descriptor).st_size
        ident = self._bytes(0, 16, "the identification")
        if ident[:4] != b"\x7fELF" or ident[4] not in _FORMS or ident[5] not in (1, 2):
            raise ElfError(f"{path}: expected an ELF file, found {ident[:4]!r} at its beginning")
        self._form = _FORMS[ident[4]]
        self._bits = 32 * ident[4]
        self._order = "<" if ident[5] == 1 else ">"
        self._loads: list[tuple[int, int, int]] = []  # address, place in the file, bytes in the file

    def read(self) -> Elf:
        header = self._unpack(self._form.header, 16, "the header")
        machine, table_at, entry_bytes, count = header[1], header[4], header[8], header[9]
        dynamic: tuple[int, int] | None = None
        interpreter = None
        for kind, at, address, size_bytes in self._program_headers(table_at, entry_bytes, count):
            if kind == _PT_LOAD:
                self._loads.append((address, at, size_bytes))
            elif kind == _PT_DYNAMIC:
                dynamic = (at, size_bytes)
            elif kind == _PT_INTERP:
                interpreter = os.fsdecode(self._bytes(at, min(size_bytes, 4096), "the loader's name").rstrip(b"\0"))
        if dynamic is None:
            return Elf(self._path, self._bits, machine, interpreter, has_dynamic=False)
        return self._with_dynamic(machine, interpreter, self._tags(*dynamic))

    def _program_headers(self, at: int, entry_bytes: int, count: int) -> Iterator[tuple[int, int, int, int]]:
        if count > _MOST_HEADERS or (count and entry_bytes < self._bytes_of(self._form.program_header)):
            raise ElfError(f"{self._path}: expected program headers, found {count} of {entry_bytes} bytes each")
        for number in range(count):
            fields = self._unpack(self._form.program_header, at + number * entry_bytes, "a program header")
            # 32 bits: type, offset, vaddr, paddr, filesz; 64 bits: type, flags, offset, vaddr, paddr, filesz
            offset = fields[1:5] if self._bits == 32 else fields[2:6]
            yield fields[0], offset[0], offset[1], offset[3]

    def _tags(self, at: int, size_bytes: int) -> dict[int, list[int]]:
        tags: dict[int, list[int]] = {}
        for tag, value in self._entries(self._form.tag, at, size_bytes, "the dynamic section"):
            if tag == 0:
                break
            tags.setdefault(tag, []).append(value)
        return tags

    def _with_dynamic(self, machine: int, interpreter: str | None, tags: dict[int, list[int]]) -> Elf:
        first = {tag: values[0] for tag, values in tags.items()}
        strings = b""
        if _DT_STRTAB in first:
            strings = self._bytes(self._place(first[_DT_STRTAB]), first.get(_DT_STRSZ, 0), "the names")
        paths = (_text(strings, at) for tag in (_DT_RPATH, _DT_RUNPATH) for at in tags.get(tag, ()))
        called = set(self._relocated(first))
        exported, imported, names = self._symbols(first, strings, most_used=max(called, default=-1))
        return Elf(
            self._path,
            self._bits,
            machine,
            interpreter,
            has_dynamic=True,
            soname=_text(strings, first[_DT_SONAME]) if _DT_SONAME in first else "",
            needed=tuple(_text(strings, at) for at in tags.get(_DT_NEEDED, ())),
            search_path=tuple(part for path in paths for part in path.split(":") if part),
            exported=exported,
            imported=imported,
            called=frozenset(names[number] for number in called if number < len(names) and names[number]),
        )

    def _relocated(self, first: dict[int, int]) -> Iterator[int]:
        """The numbers of symbols that the loader looks up by name: calls through the PLT, and taken addresses."""
        form = self._form
        kinds = {_DT_RELA: form.relocation, _DT_REL: form.short_relocation}
        tables = [(_DT_RELA, _DT_RELASZ, form.relocation), (_DT_REL, _DT_RELSZ, form.short_relocation)]
        tables.append((_DT_JMPREL, _DT_PLTRELSZ, kinds.get(first.get(_DT_PLTREL, _DT_RELA), form.relocation)))
        for start, size, layout in tables:
            if start in first and first.get(size, 0):
                for entry in self._entries(layout, self._place(first[start]), first[size], "the relocations"):
                    number = entry[1] >> form.symbol_shift
                    if number:
                        yield number

    def _symbols(
        self, first: dict[int, int], strings: bytes, *, most_used: int
    ) -> tuple[frozenset[str], frozenset[str], list[str]]:
        if _DT_SYMTAB not in first:
            return frozenset(), frozenset(), []
        at = self._place(first[_DT_SYMTAB])
        entry_bytes = self._bytes_of(self._form.symbol)
        room = max(0, self._size_bytes - at) // entry_bytes
        count = min(max(self._symbol_count(first), most_used + 1), room)
        exported, imported, names = set(), set(), []
        for entry in self._entries(self._form.symbol, at, count * entry_bytes, "the symbols"):
            info, other, section = entry[3:6] if self._bits == 32 else entry[1:4]
            name = _text(strings, entry[0])
            names.append(name)
            if info >> 4 not in _SEEN_OUTSIDE:
                continue
            if not section:
                imported.add(name)
            elif other & 3 not in _HIDDEN:
                exported.add(name)
        return frozenset(exported), frozenset(imported), names

    def _symbol_count(self, first: dict[int, int]) -> int:
        """Nothing says it outright: the old hash table has as many chains, the new one ends with the last symbol."""
        if _DT_HASH in first:
            return int(self._unpack("II", self._place(first[_DT_HASH]), "the hash table")[1])
        if _DT_GNU_HASH not in first:
            return 0
        at = self._place(first[_DT_GNU_HASH])
        bucket_count, lowest, bloom_count, _ = self._unpack("IIII", at, "the hash table")
        buckets_at = at + 16 + bloom_count * self._bits // 8
        buckets = self._entries("I", buckets_at, bucket_count * 4, "the hash table")
        last = max((bucket for (bucket,) in buckets), default=0)
        if last < lowest:
            return int(lowest)
        chain_at = buckets_at + bucket_count * 4 + (last - lowest) * 4
        for length in range(1, _MOST_CHAIN):
            if self._unpack("I", chain_at + 4 * (length - 1), "the hash table")[0] & 1:
                return int(last) + length
        raise ElfError(f"{self._path}: expected an end of the hash table, found none")

    def _place(self, address: int) -> int:
        for start, at, size_bytes in self._loads:
            if start <= address < start + size_bytes:
                return at + address - start
        raise ElfError(f"{self._path}: expected a table at address {address:#x}, found nothing loaded there")

    def _bytes_of(self, layout: str) -> int:
        return struct.calcsize(self._order + layout)

    def _unpack(self, layout: str, at: int, what: str) -> tuple[int, ...]:
        return struct.unpack(self._order + layout, self._bytes(at, self._bytes_of(layout), what))

    def _entries(self, layout: str, at: int, size_bytes: int, what: str) -> Iterator[tuple[int, ...]]:
        whole = size_bytes - size_bytes % self._bytes_of(layout)
        return struct.iter_unpack(self._order + layout, self._bytes(at, whole, what))

    def _bytes(self, at: int, size_bytes: int, what: str) -> bytes:
        if at + size_bytes > self._size_bytes or size_bytes > _MOST_BYTES:
            found_bytes = f"a file of {self._size_bytes} bytes"
            raise ElfError(f"{self._path}: expected {what} at bytes {at} to {at + size_bytes}, found {found_bytes}")
        found = os.pread(self._descriptor, size_bytes, at)
        if len(found) != size_bytes:
            raise ElfError(f"{self._path}: expected {what}, found a file that was cut short while it was read")
        return found


def _text(strings: bytes, at: int) -> str:
    end = strings.find(b"\0", at, at + _MOST_NAME)
    return os.fsdecode(strings[at:end]) if 0 <= at <= end else ""
