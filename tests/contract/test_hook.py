"""What the preload library asks of processes and what it shows them, read from the file itself; its native tests."""

import ctypes
import re
import subprocess
from pathlib import Path

import pytest

from tests.support.hooked.process import hook_path
from tests.support.stand_in.stories import CROWD, EVERYTHING

HOOK = hook_path()
NATIVE_TESTS = Path(__file__).parents[2] / "native" / "tests" / "hook"
NEWEST_GLIBC = (2, 34)
POINTER_BYTES = 8
OWN_NAMES = {"ttmem_writer_v1", "ttmem_hook_names", "ttmem_hook_python"}
CPP_RUNTIME = re.compile(r"^(_ZS|_ZNS|_ZNKS|_Zn|_Zd|__cxa_(?!finalize)|__gxx)")


def lines_of(*command: str) -> list[str]:
    return subprocess.run([*command, str(HOOK)], capture_output=True, text=True, check=True).stdout.splitlines()


def dynamic(tag: str) -> list[str]:
    return [line for line in lines_of("readelf", "-dW") if f"({tag})" in line]


def symbols(*, is_defined: bool) -> list[str]:
    chosen = "--defined-only" if is_defined else "--undefined-only"
    return [line.split()[-1] for line in lines_of("nm", "-D", chosen)]


def listed() -> list[list[str]]:
    """Doctor's list: what it is, our name, the runtime's name, what it gives."""
    library = ctypes.CDLL(str(HOOK))
    library.ttmem_hook_names.restype = ctypes.c_char_p
    text: bytes = library.ttmem_hook_names()
    return [line.split("\t") for line in text.decode().splitlines()]


def test_it_needs_only_the_c_library_and_the_unwinder() -> None:
    needed = {line.partition("[")[2].rstrip("]") for line in dynamic("NEEDED")}

    assert needed == {"libc.so.6", "libgcc_s.so.1"}


def test_it_needs_no_newer_c_library_than_the_oldest_supported() -> None:
    versions = re.findall(r"@GLIBC_([\d.]+)", "\n".join(lines_of("nm", "-D")))
    asked = {tuple(map(int, version.split("."))) for version in versions}

    assert asked
    assert max(asked) <= NEWEST_GLIBC


def test_it_takes_nothing_from_a_cpp_runtime() -> None:
    assert [name for name in symbols(is_defined=False) if CPP_RUNTIME.match(name)] == []


def test_nothing_runs_when_it_is_loaded_or_unloaded() -> None:
    """One entry each is the compiler's own, which looks whether anybody registered for it."""
    sizes = {tag: int(line.split()[-2]) for tag in ("INIT_ARRAYSZ", "FINI_ARRAYSZ") for line in dynamic(tag)}

    assert sizes == {"INIT_ARRAYSZ": POINTER_BYTES, "FINI_ARRAYSZ": POINTER_BYTES}
    own = {line.split()[-1] for line in lines_of("nm") if "_GLOBAL__sub_I" in line or "_Z41__static_init" in line}
    assert own == set()


def test_it_shows_exactly_what_it_stands_in_for() -> None:
    hooks = [mangled for what, _, mangled, _ in listed() if what == "hook"]

    assert sorted(symbols(is_defined=True)) == sorted([*hooks, *OWN_NAMES])
    assert len(set(hooks)) == len(hooks) > 20


def test_every_entry_of_its_list_has_a_name_of_its_own_and_says_what_it_is_for() -> None:
    entries = listed()

    assert {len(entry) for entry in entries} == {4}
    assert {what for what, *_ in entries} == {"hook", "getter", "offset"}
    assert len({(what, name) for what, name, *_ in entries}) == len(entries)
    assert all(gives.strip() for *_, gives in entries)


def test_its_thread_locals_begin_as_zeros() -> None:
    sections = " ".join(lines_of("readelf", "-SW"))

    assert " .tbss " in sections
    assert " .tdata " not in sections


def test_it_is_small_enough_to_be_loaded_everywhere() -> None:
    assert Path(HOOK).stat().st_size < 1_000_000


@pytest.mark.parametrize(("name", "story"), [("everything", EVERYTHING), ("crowd", CROWD)])
def test_native_tests_under_sanitizers_repeat_what_the_python_tests_do(name: str, story: tuple[str, ...]) -> None:
    assert (NATIVE_TESTS / f"{name}.txt").read_text(encoding="utf-8").splitlines() == [*story, "tallies", "exit"]
