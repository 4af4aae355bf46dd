"""What ELF files say of themselves, read right; and files that lie, refused."""

import os
import struct
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.processes.compiled import compiled
from ttmem.doctor.elf import ElfError, read_elf

LIBRARY = """
int wanted(void);
__attribute__((visibility("hidden"))) int hidden(void) { return 1; }
static int own(void) { return hidden(); }
int called(void) { return own(); }
int idle(void) { return 2; }
int data = 5;
int caller(void) { return called() + wanted() + data; }
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("elf")
    names = "-Wl,-soname,libsmall.so.1,-rpath,$ORIGIN/lib:/opt/lib"
    return compiled(place / "libsmall.so", LIBRARY, "-O0", "-shared", "-fPIC", "-s", names, "-lm", "-Wl,--no-as-needed")


def test_a_library_shows_what_it_offers_wants_and_calls_by_name(library: Path) -> None:
    elf = read_elf(str(library))

    assert {"called", "idle", "caller", "data"} <= elf.exported
    assert "wanted" in elf.imported
    assert {"called", "wanted", "data"} <= elf.called
    assert not {"hidden", "own"} & (elf.exported | elf.imported | elf.called)
    assert not {"idle", "caller"} & elf.called


def test_a_library_shows_its_name_and_where_it_looks_for_others(library: Path) -> None:
    elf = read_elf(str(library))

    assert (elf.soname, elf.search_path, elf.interpreter) == ("libsmall.so.1", ("$ORIGIN/lib", "/opt/lib"), None)
    assert any(name.startswith("libc.so") for name in elf.needed)


def test_what_is_bound_inside_a_library_is_not_called_by_name(tmp_path: Path) -> None:
    bound = compiled(tmp_path / "libbound.so", LIBRARY, "-shared", "-fPIC", "-Wl,-Bsymbolic")

    assert "called" in read_elf(str(bound)).exported
    assert "called" not in read_elf(str(bound)).called


def test_the_old_table_of_names_is_as_good(tmp_path: Path, library: Path) -> None:
    old = compiled(tmp_path / "libold.so", LIBRARY, "-O0", "-shared", "-fPIC", "-Wl,--hash-style=sysv")

    assert read_elf(str(old)).called == read_elf(str(library)).called


def test_a_program_names_its_loader() -> None:
    elf = read_elf(sys.executable)

    assert (elf.interpreter or "").startswith("/lib")
    assert elf.bits == 64 if sys.maxsize > 1 << 32 else 32


def test_a_big_endian_file_of_32_bits_is_read_too(tmp_path: Path) -> None:
    loader = b"/lib/ld.so.1\0"
    head = b"\x7fELF\x01\x02\x01" + bytes(9)
    header = struct.pack(">HHIIIIIHHHHHH", 2, 20, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    interpreter = struct.pack(">IIIIIIII", 3, 84, 0, 0, len(loader), len(loader), 4, 1)
    path = tmp_path / "old"
    path.write_bytes(head + header + interpreter + loader)

    elf = read_elf(str(path))

    assert (elf.bits, elf.machine, elf.interpreter, elf.has_dynamic) == (32, 20, "/lib/ld.so.1", False)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"#!/bin/sh\n", b"\x7fELF\x09\x01" + bytes(100)])
def test_what_is_no_elf_file_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "strange"
    path.write_bytes(content)

    with pytest.raises(ElfError, match="strange: expected"):
        read_elf(str(path))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ElfError):
        read_elf(str(tmp_path / "pipe"))


@settings(max_examples=40)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, library: Path, data: st.DataObject
) -> None:
    content = bytearray(library.read_bytes())
    places = st.one_of(st.integers(0, 0x400), st.integers(0, len(content) - 8))
    for at in data.draw(st.lists(places, max_size=6)):
        word = data.draw(st.sampled_from([0, 1, 0x40, 1 << 31, (1 << 64) - 1, (1 << 63) + 8, len(content)]))
        content[at : at + 8] = word.to_bytes(8, "little")
    path = tmp_path_factory.getbasetemp() / f"damaged-{os.getpid()}"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content)

    with suppress(ElfError):
        elf = read_elf(str(path))
        assert len(elf.exported) + len(elf.imported) <= len(content)
