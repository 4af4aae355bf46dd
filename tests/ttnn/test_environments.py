"""Lines of stock programs that know nothing of ttmem, which is in another environment, of another Python: `ttmem run`
of 3.11 and 3.13 before both Pythons that the wheel is built for.

A ttmem of another Python than the tests' own is in INSTALLED_ENVIRONMENTS/python3.13, and one for the program's own
environment in INSTALLED_PACKAGES/3.12 (`.ci/run pythons`). Where the program has one, both write one journal."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.ttnn.runtime import _environment, counters_of, has_compiler
from tests.support.ttnn.stock import OTHER_PYTHON, RELEASE, NotThere, Stock, installed
from ttmem.sources.inspected.journal import journal_document

# Each tensor has a number of rows of its own, by which its buffer is found.
MODEL = """\
import os, sys, threading
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2))
kept = []
def tensor(rows, memory=ttnn.DRAM_MEMORY_CONFIG):
    kept.append(ttnn.empty([1, 1, rows, 32], ttnn.bfloat16, ttnn.TILE_LAYOUT, mesh, memory))
class Attention:
    def __init__(self, rows):
        self.rows = rows
    def forward(self):
        for rows in self.numbers(): tensor(rows)
    def numbers(self):
        yield self.rows
        tensor(self.rows + 3200)
def add(rows):
    ones = ttnn.ones([1, 1, rows, 32], dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
    kept.extend([ttnn.add(ones, ones), ones])
tensor(3200)
Attention(6400).forward()
thread = threading.Thread(target=tensor, args=(12800,)); thread.start(); thread.join()
add(16000)
assert "ttmem" not in sys.modules
def give_up():
    tensor(1 << 22, ttnn.L1_MEMORY_CONFIG)
try:
    give_up()
finally:
    os._exit(3)
"""
MODEL_WITH_ITS_OWN = MODEL.replace("import os, sys", "import ttmem, os, sys").replace(
    'assert "ttmem" not in sys.modules', "assert ttmem.memory_allocated(0) > 0"
)
BYTES_OF_A_ROW = 64
OWN_VERSION = "{}.{}".format(*sys.version_info[:2])


class Ran(NamedTuple):
    stacks: dict[int, list[list[str]]]  # rows of a tensor -> the lines behind each of its buffers
    said: str
    off: str | None


def ttmem_of(version: str) -> list[str]:
    if version == OWN_VERSION:
        return [sys.executable, "-m", "ttmem"]
    python = Path(os.environ.get("INSTALLED_ENVIRONMENTS", "/nowhere")) / f"python{version}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"NOT TESTED: ttmem in an environment of Python {version}; .ci/run pythons makes one")
    return [str(python), "-m", "ttmem"]


def wheel_of(version: str) -> Stock:
    """The wheel for that Python."""
    try:
        usual = installed()
        is_usual = f"python{version}" in usual.package.parts
        return usual if is_usual else installed(RELEASE, OTHER_PYTHON)
    except NotThere as missing:
        pytest.skip(f"NOT COMPARED WITH THE STOCK RUNTIME: {missing}")


def own_package(version: str) -> Path:
    """A ttmem for the environment of the program."""
    package = Path(os.environ.get("INSTALLED_PACKAGES", "/nowhere")) / version
    if not (package / "ttmem").is_dir():
        pytest.skip(f"NOT TESTED: ttmem in the environment of a program of Python {version}; .ci/run pythons makes it")
    return package


def ran(ttmem: list[str], wheel: Stock, place: Path, own: Path | None = None) -> Ran:
    environ, chips = _environment(wheel, place, "n300", is_slow=False)
    del environ["PYTHONPATH"]
    (place / "model.py").write_text(MODEL if own is None else MODEL_WITH_ITS_OWN)
    if own is not None:
        environ["PYTHONPATH"] = str(own)
    private = {"TTMEM_DIR": str(place / "journals"), "TTMEM_SYSTEM_DIR": str(place)}
    command = [*ttmem, "run", "--", str(wheel.python), str(place / "model.py")]
    result = subprocess.run(command, env=environ | private, cwd=place, capture_output=True, text=True)
    for chip in chips:
        counters_of(chip).unlink(missing_ok=True)
    assert result.returncode == 3, result.stderr[-2000:]
    [path] = (place / "journals").glob("*.journal")
    with path.open("rb") as file:
        document = journal_document(str(path), file, 10_000)
    found: dict[int, list[list[str]]] = {}
    for entry in document["live"]:
        if entry["kind"] == "buffer" and entry["pool"] == "dram":
            frames = [frame.rpartition("/")[2] for frame in entry.get("site_text", "").splitlines()]
            found.setdefault(entry["requested_bytes"] // BYTES_OF_A_ROW, []).append(frames)
    return Ran(found, result.stderr, document["sites_off"])


@pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")
@pytest.mark.parametrize("wheel_version", ["3.10", "3.12"])
@pytest.mark.parametrize("ttmem_version", ["3.11", "3.13"])
def test_every_line_is_right_whichever_environment_ttmem_is_in(
    ttmem_version: str, wheel_version: str, tmp_path: Path
) -> None:
    it = ran(ttmem_of(ttmem_version), wheel_of(wheel_version), tmp_path)

    check_lines(it, wheel_version)


@pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")
@pytest.mark.parametrize("wheel_version", ["3.10", "3.12"])
def test_a_program_with_a_ttmem_of_its_own_reports_once_and_knows_its_memory(
    wheel_version: str, tmp_path: Path
) -> None:
    own = own_package(wheel_version)

    check_lines(ran(ttmem_of(OWN_VERSION), wheel_of(wheel_version), tmp_path, own), wheel_version)


def check_lines(it: Ran, wheel_version: str) -> None:
    prefix = "" if wheel_version == "3.10" else "Attention."  # which knows no longer name
    outermost = "model.py:19 <module>"
    assert it.off is None
    assert it.stacks[3200] == [["model.py:6 tensor", "model.py:18 <module>"]]
    assert it.stacks[6400] == [["model.py:6 tensor", f"model.py:11 {prefix}forward", outermost]]
    numbers = [f"model.py:14 {prefix}numbers", f"model.py:11 {prefix}forward", outermost]
    assert it.stacks[9600] == [["model.py:6 tensor", *numbers]]
    assert it.stacks[12800][0][0] == "model.py:6 tensor"
    assert "<module>" not in it.stacks[12800][0][-1]
    assert sorted(frames[0] for frames in it.stacks[16000]) == ["model.py:16 add", "model.py:17 add"]
    assert re.search(r"    asked by   model\.py:6 tensor < model\.py:24 give_up", it.said)
