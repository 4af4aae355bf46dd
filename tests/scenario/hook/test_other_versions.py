"""An older ttmem in one of two environments: `ttmem run` of one before a program that imports the other.

The older one is built from these sources, with another version of itself and of its journals."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.stand_in.build import StandIn
from ttmem import _native
from ttmem.sources.inspected.journal import journal_document

ROOT = Path(__file__).parents[3]
PYTHON = Path(sys.base_prefix) / "bin" / "python{}.{}".format(*sys.version_info[:2])  # where no ttmem is installed
PACKAGES = sysconfig.get_path("purelib")
OURS, OLDER = _native.own.JOURNAL_VERSION, _native.own.JOURNAL_VERSION - 1
VERSION_OFFSET = 8  # behind the magic word
SENTENCE = (
    "ttmem: another ttmem was loaded into this program first (by `ttmem run`) and writes journals of version {}; "
    "the one imported here reads version {}: reports arrive, questions have no answer; "
    "install the same ttmem in both environments"
)

PROGRAM = """\
import ctypes, os, sys
import ttmem
runtime = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_LOCAL)
def obey(order):
    runtime.fake_obey(order.encode(), ctypes.create_string_buffer(4096), 4096)
def weights():
    obey("buffer 2 1 DRAM 8192 2048")
def cache():
    return ttmem.report_buffer_alloc(chip, 7, 4096)
obey("open 1 1 0")
chip = ttmem.open_device(0x5E1F, index=7)
weights()
cache()
print(ttmem.memory_allocated(7), ttmem.memory_allocated(7), ttmem.memory_snapshot())
print(ttmem.memory_summary())
os._exit(3)
"""

REWRITTEN = f"""\
import ttmem
from ttmem import _native
chip = ttmem.open_device(0x5E1F, index=7)
ttmem.report_buffer_alloc(chip, 7, 4096)
print(ttmem.memory_allocated(7))
with open(_native.client.journal_path(), "r+b") as journal:
    journal.seek({VERSION_OFFSET})
    journal.write(({OURS} + 1).to_bytes(4, "little"))
print(ttmem.memory_allocated(7), ttmem.max_memory_allocated(7), ttmem.memory_snapshot(), ttmem.mem_get_info(7))
print(ttmem.memory_summary())
ttmem.report_buffer_alloc(chip, 8, 4096)
client = ttmem.AllocationClient()
client.report_allocation(0, 9, 4096, 0)
"""


def test_a_journal_of_another_version_is_not_read_as_if_it_were_ours(tmp_path: Path) -> None:
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(tmp_path)}
    ended = subprocess.run([sys.executable, "-c", REWRITTEN], env=environ, capture_output=True, text=True)

    said = SENTENCE.format(OURS + 1, OURS)
    assert ended.stdout == f"4096\n0 0 [] (0, 0)\n{said}.\n\n"
    assert (ended.returncode, ended.stderr) == (0, f"{said}\n")


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the older package lies, unpacked."""
    source, place = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("older")
    for name in ("docs/man", "native", "packaging", "src"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, source)
    for name, pattern, text in (
        ("native/src/journal/sizes.hpp", r"(?<=kVersion = )\d+", str(OLDER)),
        ("pyproject.toml", r'(?<=^version = ")[\d.]+', "0.0.9"),
        ("src/ttmem/__init__.py", r'(?<=^__version__ = ")[\d.]+', "0.0.9"),
    ):
        changed, count = re.subn(pattern, text, (source / name).read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert count == 1, name
        (source / name).write_text(changed, encoding="utf-8")
    build = "from scikit_build_core.build import build_wheel; print(build_wheel('.'))"
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    built = subprocess.run([sys.executable, "-c", build], cwd=source, env=environ, capture_output=True, text=True)
    assert built.returncode == 0, (built.stdout + built.stderr)[-2000:]
    [wheel] = source.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(place)
    return place


class Ran(NamedTuple):
    documents: list[dict[str, Any]]  # one for each journal of our version
    ended: "subprocess.CompletedProcess[str]"

    def stacks(self) -> dict[int, list[str]]:
        """Address or id of a buffer -> the lines behind it."""
        found = {}
        for document in self.documents:
            for entry in document["live"]:
                frames = entry.get("site_text", "").splitlines()
                found[entry["id"]] = [frame.rpartition("/")[2] for frame in frames]
        return found


def ran(place: Path, runtime: Path, *, run_from: Path | None, imported: Path | None) -> Ran:
    """`ttmem run` of one package (None: ours) on a program that imports another."""
    (place / "program.py").write_text(PROGRAM)
    (place / "journals").mkdir(mode=0o700)
    private = {"TTMEM_DIR": str(place / "journals"), "TTMEM_SYSTEM_DIR": str(place)}
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("TTMEM", "PYTHONPATH"))}
    runner = [sys.executable, "-m", "ttmem"]
    if run_from is not None:
        runner = ["env", f"PYTHONPATH={run_from}:{PACKAGES}", str(PYTHON), "-m", "ttmem"]
    program = ["env", "-u", "PYTHONPATH", sys.executable]
    if imported is not None:
        program = ["env", f"PYTHONPATH={imported}", str(PYTHON)]
    command = [*runner, "run", "--", *program, str(place / "program.py"), str(runtime)]
    ended = subprocess.run(command, env={**environ, **private}, cwd=place, capture_output=True, text=True)
    assert ended.returncode == 3, ended.stderr[-2000:]
    documents = []
    for path in (place / "journals").glob("*.journal"):
        with path.open("rb") as file:
            version = int.from_bytes(file.read(12)[VERSION_OFFSET:], "little")
            if version == OURS:
                documents.append(journal_document(str(path), file, 1000))
    return Ran(documents, ended)


@pytest.mark.slow
@pytest.mark.timeout(900)  # the older package is built, on a machine that is shared
def test_a_program_with_an_older_ttmem_is_tracked_and_told_what_it_cannot_ask(
    older: Path, stand_in: StandIn, tmp_path: Path
) -> None:
    it = ran(tmp_path, stand_in.library(), run_from=None, imported=older)

    said = SENTENCE.format(OURS, OLDER)
    assert len(it.documents) == 1
    assert it.stacks()[2] == ["program.py:5 obey", "program.py:7 weights", "program.py:12 <module>"]
    assert it.stacks()[7] == ["program.py:9 cache", "program.py:13 <module>"]
    assert it.ended.stdout == f"0 0 []\n{said}.\n\n"
    assert it.ended.stderr.count(said) == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_older_ttmem_run_tracks_a_newer_program_and_ours_says_which_to_upgrade(
    older: Path, stand_in: StandIn, tmp_path: Path
) -> None:
    it = ran(tmp_path, stand_in.library(), run_from=older, imported=None)

    environ = {**os.environ, "TTMEM_DIR": str(tmp_path / "journals"), "TTMEM_SYSTEM_DIR": str(tmp_path)}
    ps = subprocess.run([sys.executable, "-m", "ttmem", "ps"], env=environ, capture_output=True, text=True)

    assert it.ended.stderr.count(SENTENCE.format(OLDER, OURS)) == 1
    assert "peaks of" in it.ended.stderr  # the summary of the older one, of its own journal
    assert it.documents == []
    assert f"journal version {OLDER}, this ttmem reads version {OURS}; upgrade the older one" in ps.stderr
