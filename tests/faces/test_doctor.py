"""`ttmem doctor` as people and scripts meet it: one line per check, an exit code, a document."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.processes.inside import ttmem_inside
from tests.support.stand_in.stand_in_runtime import a_runtime
from ttmem.cli.doctor import doctor_page
from ttmem.doctor.checks import Check, Status
from ttmem.doctor.examination import DoctorReport
from ttmem.view import plain


def doctor(place: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    private = {name: str(place) for name in ("TTMEM_DIR", "TTMEM_STOCK_SHM_DIR", "TTMEM_SYSTEM_DIR")}
    return ttmem_inside("doctor", *arguments, environ={**os.environ, **private})


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return a_runtime(tmp_path_factory.mktemp("older"), without={"buffer_id", "source_from_path", "source_made"})


def test_every_check_is_a_line_that_begins_with_its_verdict(tmp_path: Path, older: Path) -> None:
    result = doctor(tmp_path, "--library", str(older))

    checks, entries, conclusion = result.stdout.split("\n\n")
    lines = [line for line in checks.splitlines() if not line.lstrip().startswith("->")]
    assert (result.returncode, result.stderr) == (1, "")
    assert {line[:4] for line in lines} == {"PASS", "WARN"}
    assert any(line.split()[:3] == ["missing", "hook", "source_from_path"] for line in entries.splitlines())
    assert any(line.split()[:3] == ["missing", "getter", "buffer_id"] for line in entries.splitlines())
    assert "_ZN" not in entries
    assert not any(line.split()[0] == "found" for line in entries.splitlines())
    assert conclusion.startswith("Programs on ttnn can be tracked; not all is right: ")
    assert conclusion.endswith("(WARN).\nType: ttmem run -- python model.py\n")


def test_where_nothing_is_missing_it_says_that_all_is_right() -> None:
    report = DoctorReport(checks=[Check(Status.PASS, "hook", "there")])

    assert plain(doctor_page(report, has_all=False)).endswith(
        "\n\nAll is right: programs on ttnn can be tracked.\nType: ttmem run -- python model.py\n"
    )


def test_asked_for_all_it_names_every_function_in_full(tmp_path: Path, older: Path) -> None:
    entries = doctor(tmp_path, "--library", str(older), "--all").stdout.split("\n\n")[1]

    assert "getter buffer_address" in entries
    assert "_ZNK2tt8tt_metal6Buffer7addressEv" in entries


def test_the_document_says_the_same(tmp_path: Path, older: Path) -> None:
    result = doctor(tmp_path, "--library", str(older), "--json")

    document = json.loads(result.stdout)
    assert (result.returncode, document["status"], document["schema"]) == (1, "WARN", 1)
    assert document["runtime"]["library"] == str(older)
    assert document["shows"]["buffers"] == {
        "level": "reduced",
        "lost": ["ids of buffers, which go by their address then"],
    }
    assert document["shows"]["circular_buffers"]["level"] == "full"
    found = {entry["name"]: entry["found"] for entry in document["entries"]}
    assert (found["source_from_path"], found["add_kernel"]) == ("missing", "found")


def test_what_cannot_work_is_exit_code_2(tmp_path: Path) -> None:
    result = doctor(tmp_path, "--library", str(tmp_path / "none.so"))

    assert result.returncode == 2
    assert "FAIL  runtime " in result.stdout
    conclusion = result.stdout.split("\n\n")[-1].splitlines()
    assert conclusion[0] == "Programs on ttnn cannot be tracked here: runtime."
    assert conclusion[1].startswith("First: name the runtime that your programs use: --python PATH")
    assert conclusion[2] == "`ttmem demo` works without ttnn and without a card."


def test_one_runtime_at_a_time(tmp_path: Path) -> None:
    result = doctor(tmp_path, "--library", "x", "--python", "y")

    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
