"""Lines of Python behind allocations of the runtime, in programs that know nothing of ttmem, run by any Python."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes.compiled import compiled
from tests.support.processes.pythons import VERSIONS, python_of
from tests.support.stand_in.build import StandIn
from ttmem.sources.inspected.journal import journal_document

RUN = [sys.executable, "-m", "ttmem", "run"]
PACKAGE = """\
import ctypes
def obey(order):
    answer = ctypes.create_string_buffer(4096)
    runtime.fake_obey(order.encode(), answer, len(answer))
def begin(library):
    global runtime
    runtime = ctypes.CDLL(library, mode=ctypes.RTLD_LOCAL)
    obey("open 1 1 0")
class Operation:
    def __call__(self, number):
        obey(f"buffer {number} 1 DRAM 8192 2048")
empty = Operation()
"""
MODEL = """\
import sys
import ttnn
class Model:
    def forward(self, number):
        ttnn.empty(number)
def main():
    ttnn.begin(sys.argv[1])
    model = Model()
    for number in range(2, 12):
        model.forward(number)
"""
# Forbids process_vm_readv to the program itself.
FORBID = """\
import ctypes, platform, struct
number = {"x86_64": 310, "aarch64": 270}[platform.machine()]
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("HBBI", *step) for step in steps)
room = ctypes.create_string_buffer(code)
program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(room))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, ctypes.create_string_buffer(program), 0, 0) == 0
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A model, and the package that it imports where packages are installed."""
    package = tmp_path / "site-packages" / "ttnn"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PACKAGE)
    (tmp_path / "demos").mkdir()
    (tmp_path / "demos" / "model.py").write_text(MODEL + "main()\n")
    return tmp_path


def python(version: str) -> str:
    found = python_of(version)
    if found is None:
        pytest.skip(f"NOT TESTED: no Python {version} with its headers here")
    return found


def run(
    project: Path, journals: Path, stand_in: StandIn, *flags: str, interpreter: str = sys.executable, **settings: str
) -> "subprocess.CompletedProcess[str]":
    environ = {name: value for name, value in os.environ.items() if name != "TTMEM_SITES"}
    environ |= {"TTMEM_DIR": str(journals), "PYTHONPATH": str(project / "site-packages"), **settings}
    command = [*RUN, *flags, "--", interpreter, str(project / "demos" / "model.py"), str(stand_in.library())]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def documents(journals: Path) -> list[dict[str, Any]]:
    paths = sorted(journals.glob("*.journal"), key=lambda path: path.stat().st_mtime_ns)
    found = []
    for path in paths:
        with path.open("rb") as file:
            found.append(journal_document(str(path), file, 1000))
    return found


def stacks(document: dict[str, Any]) -> list[str | None]:
    return [entry.get("site_text") for entry in document["live"] if entry["kind"] == "buffer"]


def expected(project: Path) -> list[str]:
    name = f"{project.name}/demos/model.py"
    function = "forward" if sys.version_info < (3, 11) else "Model.forward"
    return [f"{name}:5 {function}", f"{name}:10 main", f"{name}:11 <module>"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_program_that_imports_nothing_of_ours_has_its_lines(
    version: str, project: Path, journals: Path, stand_in: StandIn
) -> None:
    run(project, journals, stand_in, interpreter=python(version))

    [document] = documents(journals)
    lines = expected(project)
    lines[0] = lines[0].replace("Model.", "") if version == "3.10" else lines[0]
    assert stacks(document) == ["\n".join(lines)] * 10
    assert document["sites_off"] is None


@pytest.mark.parametrize(("flags", "settings"), [(["--no-sites"], {}), ([], {"TTMEM_SITES": "0"})])
def test_it_can_be_turned_off(
    flags: list[str], settings: dict[str, str], project: Path, journals: Path, stand_in: StandIn
) -> None:
    run(project, journals, stand_in, *flags, **settings)

    [document] = documents(journals)
    assert stacks(document) == [None] * 10
    assert document["counters"]["stack_nodes"] == 0


def test_a_program_that_imports_ttmem_as_well_has_the_same_lines(
    project: Path, journals: Path, stand_in: StandIn
) -> None:
    model = project / "demos" / "model.py"
    model.write_text(MODEL + "import ttmem; main(); ttmem.record_sites(); main()\n".replace("main(); ttmem", "ttmem"))

    run(project, journals, stand_in, TTMEM_LABEL="both")

    [document] = documents(journals)
    assert set(stacks(document)) == {"\n".join(expected(project))}
    assert document["counters"]["stack_nodes"] == 3


def test_a_thread_and_a_forked_child_have_their_own_lines(project: Path, journals: Path, stand_in: StandIn) -> None:
    (project / "demos" / "model.py").write_text(
        MODEL
        + "main()\nimport os, threading\n"
        + "def work(): ttnn.empty(40)\n"
        + "thread = threading.Thread(target=work); thread.start(); thread.join()\n"
        + "def born(): ttnn.empty(50)\n"
        + "child = os.fork()\n"
        + "if child == 0: born(); os._exit(0)\n"
        + "os.waitpid(child, 0)\n"
    )

    run(project, journals, stand_in)

    found = {document["live"][-1]["id"]: stacks(document)[-1] or "" for document in documents(journals)}
    assert found[40].splitlines()[0].endswith("model.py:13 work")
    assert "<module>" not in found[40]  # whoever started it is not on its stack
    assert [line.rsplit(" ", 1)[1] for line in found[50].splitlines()] == ["born", "<module>"]


def test_frames_that_cannot_be_checked_are_not_read_and_the_summary_says_so(
    project: Path, journals: Path, stand_in: StandIn
) -> None:
    (project / "demos" / "model.py").write_text(FORBID + MODEL + "main()\n")

    done = run(project, journals, stand_in, "--summary")

    [document] = documents(journals)
    assert stacks(document) == [None] * 10
    assert document["sites_off"].startswith("this kernel lets no process read its own memory (process_vm_readv)")
    [said] = [line for line in done.stderr.splitlines() if "no lines" in line]
    assert said.startswith("ttmem: no lines: this kernel lets no process read its own memory")
    assert "dram" in done.stderr  # figures are not concerned


@pytest.mark.parametrize(
    ("version", "claimed", "why"),
    [
        ("3.11", "3.12.1", "code objects are not as known"),
        pytest.param("3.10", "3.11.7", "code objects are not as known", marks=pytest.mark.slow),
        pytest.param("3.11", "3.13.0", "this Python does not say where its frames are", marks=pytest.mark.slow),
        pytest.param("3.12", "3.11.7", "code objects are not as known", marks=pytest.mark.slow),
        pytest.param("3.13", "3.12.1", "frames are not as known", marks=pytest.mark.slow),
        pytest.param("3.13", "3.15.0", "this Python's frames are not known", marks=pytest.mark.slow),
    ],
)
def test_a_wrong_table_is_refused_for_good_and_the_summary_says_so(
    version: str, claimed: str, why: str, project: Path, journals: Path, stand_in: StandIn, tmp_path: Path
) -> None:
    """The interpreter claims to be another one: its frames are looked for where that one has them."""
    lie = f'const char* Py_GetVersion(void) {{ return "{claimed} (made up)"; }}'
    library = compiled(tmp_path / "liar.so", lie, "-shared", "-fPIC")

    done = run(project, journals, stand_in, "--summary", interpreter=python(version), LD_PRELOAD=str(library))

    [document] = documents(journals)
    assert stacks(document) == [None] * 10
    assert document["counters"]["stack_nodes"] == 0
    assert document["sites_off"].startswith(why)
    assert f"ttmem: no lines: {why}" in done.stderr
    assert "dram" in done.stderr  # figures are not concerned


def test_dump_shows_the_line_that_asked(project: Path, journals: Path, stand_in: StandIn) -> None:
    model = project / "demos" / "model.py"
    model.write_text(
        MODEL
        + "main()\nimport os, subprocess\n"
        + "rest = {k: v for k, v in os.environ.items() if k not in ('LD_PRELOAD', 'TTMEM', 'PYTHONPATH')}\n"
        + "subprocess.run([sys.argv[2], '-m', 'ttmem', 'dump', '--json', '--no-daemon'], env=rest, check=True)\n"
    )
    environ = {**os.environ, "TTMEM_DIR": str(journals), "PYTHONPATH": str(project / "site-packages")}
    command = [*RUN, "--no-summary", sys.executable, str(model), str(stand_in.library()), sys.executable]

    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)

    [group] = json.loads(done.stdout)["devices"][0]["groups"]
    assert [one["stack"] for one in group["allocations"]] == [expected(project)] * 10
