"""Programs that ask about their own memory: forked, preloaded, ending, and without anything a monitor needs."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes.native_programs import CLIENT_LIBRARY
from tests.support.processes.programs import tracked

# Of the standard library, what serving and showing need; of others, what the package depends on and may depend on.
MONITORS = ("click", "msgspec", "starlette", "uvicorn", "asyncio", "textual", "duckdb", "http", "socketserver", "numpy")
BLOCKED = f"""\
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {MONITORS!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""
USED = """\
import ttmem
from ttmem.devices import Pool
chip = ttmem.open_device(0x77, index=3, capacities={Pool.DRAM: 1 << 30})"""


def run(directory: Path, *parts: str, **settings: str) -> str:
    """What a program prints; it must end well and say nothing else."""
    command = [sys.executable, "-c", "\n".join(parts)]
    done = subprocess.run(command, env=tracked(directory, **settings), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_forked_child_sees_its_own_zero_and_then_its_own_figures(journals: Path) -> None:
    said = run(
        journals,
        "import os, sys",
        USED,
        "ttmem.record_sites()",
        "def ask(): return ttmem.memory_allocated(3), ttmem.max_memory_allocated(3), len(ttmem.memory_snapshot())",
        "def take(number, size): ttmem.report_buffer_alloc(chip, number, size)",
        "take(1, 100)",
        "child = os.fork()",
        "if child == 0:",
        "    print('child', ask(), ttmem.mem_get_info(3))",
        "    take(2, 7)",
        "    print('child', ask(), ttmem.memory_snapshot()[0]['stack'][0].split()[-1], flush=True)",
        "    os._exit(0)",
        "os.waitpid(child, 0)",
        "print('parent', ask())",
    )

    assert said.splitlines() == ["child (0, 0, 0) (0, 0)", "child (7, 7, 1) take", "parent (100, 100, 1)"]


def test_the_face_needs_nothing_that_a_monitor_needs(journals: Path) -> None:
    said = run(
        journals,
        BLOCKED,
        USED,
        "with ttmem.phase('load'):",
        "    ttmem.report_buffer_alloc(chip, 1, 4096)",
        "ttmem.label('workload')",
        "print(ttmem.memory_allocated(), ttmem.max_memory_allocated(), ttmem.mem_get_info(3, 'dram'))",
        "print(len(ttmem.memory_snapshot()), ttmem.memory_summary().count('dram'))",
        "ttmem.reset_peak_memory_stats()",
        f"print([name for name in {MONITORS!r} if name in sys.modules])",
        TTMEM_SITES="1",
    )

    assert said.splitlines() == ["4096 4096 (1073737728, 1073741824)", "1 1", "[]"]


def test_with_tracking_off_nothing_is_made_and_nothing_raises(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        USED,
        "ttmem.record_sites()",
        "ttmem.report_buffer_alloc(chip, 1, 4096)",
        "ttmem.reset_peak_memory_stats()",
        "print(ttmem.memory_allocated(0), ttmem.max_memory_allocated(), ttmem.mem_get_info(), ttmem.memory_snapshot())",
        "print(ttmem.memory_summary())",
        TTMEM="0",
    )

    assert said.splitlines()[0] == "0 0 (0, 0) []"
    assert "tracking is off" in said
    assert list(tmp_path.iterdir()) == []


def test_importing_is_all_that_the_environment_needs_for_sites(journals: Path) -> None:
    parts = (USED, "ttmem.report_buffer_alloc(chip, 1, 10)", "print(ttmem.memory_snapshot()[0]['stack'])")

    assert run(journals, *parts, TTMEM_SITES="1") == "['<string>:4 <module>']\n"
    assert run(journals, *parts, TTMEM_SITES="0") == "[]\n"
    assert run(journals, *parts) == "[]\n"


@pytest.mark.parametrize("order", ["record first", "report first"])
def test_a_preloaded_copy_owns_the_journal_and_asks_the_extension_for_sites(journals: Path, order: str) -> None:
    preloaded = """\
import ctypes
class Buffer(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("id", "address", "requested", "reserved", "per_bank", "page")]
    _fields_ += [("site", ctypes.c_uint32), ("target", ctypes.c_uint16), ("rest", ctypes.c_uint8 * 3)]
def take(number):
    ctypes.CDLL(None).ttmem_buffer_alloc_on(ctypes.byref(Buffer(id=number, reserved=10, target=1)))
"""
    early, late = ("take(1)", "import ttmem; ttmem.record_sites()")
    first = [late, early] if order == "record first" else [early, late]
    said = run(
        journals,
        preloaded,
        "ctypes.CDLL(None).ttmem_device_open_on(ctypes.byref((ctypes.c_uint64 * 40)(0x99)))",
        *first,
        "take(2)",
        "print([bool(one['stack']) for one in ttmem.memory_snapshot()], ttmem.memory_allocated(0x99))",
        LD_PRELOAD=str(CLIENT_LIBRARY),
    )

    assert said == f"[{order == 'record first'}, True] 20\n"
    assert len(list(journals.glob("*.journal"))) == 1


def test_programs_that_end_while_threads_allocate_end_well(journals: Path) -> None:
    """Daemon threads report, with the lock given away, until the interpreter is gone."""
    lines = (
        USED,
        "import ctypes, itertools, threading",
        f"copy = ctypes.CDLL({str(CLIENT_LIBRARY)!r})",
        "room = (ctypes.c_uint64 * 8)(1, 0, 10, 10)",
        "room[6] = chip << 32",
        "begun = threading.Barrier(5)",
        "def work():",
        "    for turn in itertools.count():",
        "        copy.ttmem_free_on(ctypes.c_uint64(copy.ttmem_buffer_alloc_on(room)))",
        "        if turn == 20: begun.wait()",
        "copy.ttmem_buffer_alloc_on.restype = ctypes.c_uint64",
        "for _ in range(4): threading.Thread(target=work, daemon=True).start()",
        "begun.wait()",
        "print('over')",
    )
    for _ in range(2):
        assert run(journals, *lines, TTMEM_SITES="1") == "over\n"


def test_threads_that_reset_while_others_allocate_never_lose_a_peak(journals: Path) -> None:
    said = run(
        journals,
        USED,
        "import threading",
        "over = threading.Event()",
        "def work(first):",
        "    while not over.is_set():",
        "        handles = [ttmem.report_buffer_alloc(chip, first + at, 1000) for at in range(20)]",
        "        for handle in handles: ttmem.report_free(handle)",
        "threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(3)]",
        "for thread in threads: thread.start()",
        "for _ in range(2000):",
        "    ttmem.reset_peak_memory_stats(3)",
        "    held = ttmem.memory_allocated(3)",
        "    assert 0 <= held <= ttmem.max_memory_allocated(3) <= 60_000, held",
        "over.set()",
        "for thread in threads: thread.join()",
        "ttmem.reset_peak_memory_stats(3)",
        "print(ttmem.memory_allocated(3), ttmem.max_memory_allocated(3))",
        "ttmem.report_free(ttmem.report_buffer_alloc(chip, 1, 77))",
        "print(ttmem.max_memory_allocated(3))",
    )

    assert said.splitlines() == ["0 0", "77"]
