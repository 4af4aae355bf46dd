"""C++ programs on the runtime with a Python inside: lines of its scripts, or why there are none."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hooked.walkers import program
from tests.support.processes.pythons import VERSIONS
from tests.support.stand_in.build import StandIn
from ttmem.sources.inspected.journal import journal_document

SCRIPT = """\
def forward(number):
    obey(f"buffer {number} 1 DRAM 8192 2048")
def main():
    for number in range(2, 12): forward(number)
main()
"""
HIDDEN = ("-Wl,--exclude-libs,ALL", "-s")  # no name of Python is left
WHY = "there is no CPython in this process, or it hides its names"


def run_hosted(host: list[str], stand_in: StandIn, directory: Path) -> tuple[list[str | None], str | None, str]:
    """The stacks of its buffers, why there are none, and what the summary says."""
    script = directory / "model.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "ttmem", "run", "--summary", "--", *host, str(script), str(stand_in.library())]
    environ = {"TTMEM_DIR": str(directory / "journals"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [path] = (directory / "journals").glob("*.journal")
    with path.open("rb") as file:
        document = journal_document(str(path), file, 1000)
    buffers = sorted((entry for entry in document["live"] if entry["kind"] == "buffer"), key=lambda entry: entry["id"])
    return [entry.get("site_text") for entry in buffers], document["sites_off"], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("is_static", [False, True], ids=["shared", "static"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_script_inside_a_program_has_its_lines(
    version: str, is_static: bool, stand_in: StandIn, tmp_path: Path
) -> None:
    host = program(version, "hosting.cpp", "-rdynamic", is_static=is_static)

    texts, why, said = run_hosted(host, stand_in, tmp_path)

    name = "/".join((tmp_path / "model.py").parts[-3:])
    stack = "\n".join([f"{name}:2 forward", f"{name}:4 main", f"{name}:5 <module>"])
    assert texts == [None, *[stack] * 10]  # the first was the program's own, as were hundreds before it
    assert why is None
    assert "no lines" not in said


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.10", "3.13"])
def test_a_python_that_hides_its_names_costs_lines_and_is_said(version: str, stand_in: StandIn, tmp_path: Path) -> None:
    host = program(version, "hosting.cpp", *HIDDEN, is_static=True)

    texts, why, said = run_hosted(host, stand_in, tmp_path)

    assert texts == [None] * 11
    assert why == WHY
    assert f"ttmem: no lines: {WHY}" in said
    assert "dram" in said  # figures are not concerned
