"""The first report of a process may be made on a small stack, or by a program that must not obey its caller."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.hooked.process import hook_path
from tests.support.processes.native_programs import CLIENT_LIBRARY, ROOT, SOURCES, NativePrograms

STACK_BYTES_MOST = 2 << 10
KIND_COUNT = 25
SMALL = {"TTMEM_TABLE": "64", "TTMEM_RING": "16"}
UID = 3_000_000_000 + os.getpid() * 2  # of nobody
SETUID = UID + 1
NOT_ROOT = "NOT TESTED: only root can make a program setuid and be another user"


def build(made: Path, *options: str, library: Path = CLIENT_LIBRARY) -> Path:
    source = str(SOURCES / "first_reports.c")
    command = ["cc", "-O2", "-Wall", "-Werror", f"-I{ROOT}/native/include", source, "-pthread", *options]
    subprocess.run([*command, str(library), f"-Wl,-rpath,{library.parent}", "-o", str(made)], check=True)
    return made


@pytest.fixture(scope="module")
def reporter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("reporter") / "first_reports")


def lines_of(program: Path, journals: Path, how: str, when: str, **settings: str) -> dict[str, list[str]]:
    """What each kind of report took (bytes of stack, errno, whether it was recorded), by its name."""
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(journals), **SMALL, **settings}
    made = subprocess.run([str(program), how, when], env=environ, stdout=subprocess.PIPE, text=True, check=True)
    found = {name: rest for name, *rest in map(str.split, made.stdout.splitlines())}
    assert len(found) == KIND_COUNT
    return found


def killed(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: words for name, words in found.items() if words[0] == "signal"}


@pytest.mark.parametrize("when", ["first", "forked"])
def test_a_handler_on_a_signal_stack_of_8_kib_makes_the_first_report(reporter: Path, journals: Path, when: str) -> None:
    found = lines_of(reporter, journals, "handler", when)

    assert killed(found) == {}
    assert {name for name, words in found.items() if words[2] != "1"} == set()
    assert len(list(journals.glob("*.journal"))) > 0


def test_a_thread_with_a_stack_of_16_kib_makes_the_first_report(reporter: Path, journals: Path) -> None:
    assert killed(lines_of(reporter, journals, "thread", "first")) == {}


@pytest.mark.parametrize("when", ["first", "forked", "later"])
@pytest.mark.parametrize("switch", ["1", "off"])
def test_a_report_takes_2_kib_of_stack_and_keeps_errno(reporter: Path, journals: Path, when: str, switch: str) -> None:
    found = lines_of(reporter, journals, "measured", when, TTMEM=switch)

    assert {name: int(words[0]) for name, words in found.items() if int(words[0]) > STACK_BYTES_MOST} == {}
    assert {name: words[1] for name, words in found.items() if words[1] != "1234"} == {}


def test_it_is_the_same_where_the_hook_owns_the_journal(reporter: Path, journals: Path) -> None:
    found = lines_of(reporter, journals, "measured", "first", LD_PRELOAD=str(hook_path()))

    assert {name: words for name, words in found.items() if int(words[0]) > STACK_BYTES_MOST} == {}
    assert {name: words[1] for name, words in found.items() if words[1] != "1234"} == {}


def test_a_refused_first_report_keeps_errno(reporter: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = lines_of(reporter, tmp_path / "file", "measured", "first")

    assert {name: words for name, words in found.items() if int(words[0]) > STACK_BYTES_MOST} == {}
    assert {name: words[1] for name, words in found.items() if words[1] != "1234"} == {}


def test_a_library_that_was_loaded_while_running_reports_from_a_small_stack(
    programs: NativePrograms, journals: Path, tmp_path: Path
) -> None:
    """One with a copy of the client in it, which asks the loader for the other copies when it is loaded itself."""
    library = build(
        tmp_path / "libreports.so", "-shared", "-fPIC", "-Dmain=first_reports", library=programs.host_library
    )
    program = tmp_path / "loader"
    program.write_text(
        f"#!{os.path.realpath(sys.executable)}\n"  # of the checkout's own the path may have a blank
        "import ctypes, sys\n"
        f"library = ctypes.CDLL({str(library)!r})\n"
        "words = (ctypes.c_char_p * 3)(b'first_reports', *map(str.encode, sys.argv[1:]))\n"
        "library.first_reports(3, words)\n"
    )
    program.chmod(0o700)

    assert killed(lines_of(program, journals, "handler", "first")) == {}
    measured = lines_of(program, journals, "measured", "first")
    assert {name: words for name, words in measured.items() if int(words[0]) > STACK_BYTES_MOST} == {}


@pytest.mark.skipif(os.geteuid() != 0, reason=NOT_ROOT)
def test_a_setuid_program_ignores_the_variables_of_its_caller(journals: Path) -> None:
    """It would make files with its own rights, where its caller chooses."""
    place = Path(tempfile.mkdtemp(prefix="ttmem-setuid-", dir="/var/tmp"))
    try:
        if os.statvfs(place).f_flag & os.ST_NOSUID:
            pytest.skip(f"NOT TESTED: {place} is on a file system without setuid programs")
        program = build(place / "program", library=_copied(CLIENT_LIBRARY, place))
        os.chown(program, SETUID, -1)
        program.chmod(0o4755)
        os.chown(journals, SETUID, -1)  # where the program may write, and its caller may not
        settings = {"TTMEM": "1", "TT_ALLOC_TRACKING_ENABLED": "1", "TTMEM_DIR": str(journals), **SMALL}
        made = subprocess.run(
            [program, "measured", "first"], env=settings, user=UID, group=UID, extra_groups=[], capture_output=True
        )

        recorded = {words[0]: words[-1] for words in map(bytes.split, made.stdout.splitlines())}
        assert (made.returncode, made.stderr, list(journals.iterdir())) == (0, b"", [])
        assert recorded[b"buffer_alloc"] == b"0"
        assert recorded[b"enable"] == b"1"  # its own code may
    finally:
        shutil.rmtree(place)
        shutil.rmtree(f"/dev/shm/ttmem-{SETUID}", ignore_errors=True)


def _copied(library: Path, place: Path) -> Path:
    """Where everybody may read it."""
    place.chmod(0o755)
    (place / library.name).write_bytes(library.read_bytes())
    (place / library.name).chmod(0o755)
    return place / library.name
