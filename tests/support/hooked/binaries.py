"""Sizes of what was compiled, read from the ELF files in a process's cache."""

import struct
from pathlib import Path

_SECTION_TABLE_AT, _SECTION_COUNT_AT = 32, 46  # in the header of a 32-bit file
_SECTION = struct.Struct("<10I")
_TYPE, _FLAGS, _SIZE = 1, 2, 5
_NO_BYTES, _IS_LOADED = 8, 2


def loaded_bytes(path: Path) -> int:
    """Text and initialised data: what a processor is given."""
    content = path.read_bytes()
    assert content[:5] == b"\x7fELF\x01", path
    [table] = struct.unpack_from("<I", content, _SECTION_TABLE_AT)
    _, count, _ = struct.unpack_from("<3H", content, _SECTION_COUNT_AT)
    sections = [_SECTION.unpack_from(content, table + _SECTION.size * number) for number in range(count)]
    return sum(one[_SIZE] for one in sections if one[_FLAGS] & _IS_LOADED and one[_TYPE] != _NO_BYTES)


def compiled(directory: Path) -> dict[str, dict[str, int]]:
    """By kernel, then by processor: `{"reader_unary": {"ncrisc": 3048}}`."""
    found: dict[str, dict[str, int]] = {}
    for path in sorted((directory / "cache").glob("*/kernels/*/*/*/*.elf")):
        *_, kernel, _, processor, name = path.parts
        if name == f"{processor}.elf":
            found.setdefault(kernel, {})[processor] = loaded_bytes(path)
    return found
