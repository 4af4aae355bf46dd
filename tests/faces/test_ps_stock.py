"""`ttmem ps` beside programs that do not report: what the runtime's counters say, from files made for the test."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faces.json_documents import opened
from tests.support.machine.stock_regions import Slot, a_region, put
from tests.support.processes.inside import ttmem_inside
from tests.support.processes.programs import a_program
from tests.support.server.server_serving import a_daemon
from tests.support.timing.waiting import wait_until
from ttmem.cli.program import run_program

MIB = 1 << 20
PROGRAM = (
    "chip = ttmem.open_device(0x75BCD15, index=0, board='n150', capacities={0: 1 << 30})",
    "ttmem.report_buffer_alloc(chip, 1, 3 << 20)",
    "meet()",
)


def ttmem(*arguments: str, directory: Path, **settings: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "TTMEM_DIR": str(directory / "none"), "TTMEM_STOCK_SHM_DIR": str(directory), **settings}
    return ttmem_inside(*arguments, environ=environ)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of counters, for verbs that run in this process."""
    monkeypatch.setenv("TTMEM_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("TTMEM_STOCK_SHM_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def plain() -> Iterator[int]:
    """The pid of a program that knows nothing of ttmem."""
    process = subprocess.Popen(["sleep", "600"])
    yield process.pid
    process.kill()
    process.wait()


def a_slot(pid: int, *sums: int) -> Slot:
    return Slot(pid, (*sums, *[0] * (5 - len(sums))), time.time_ns(), b"sleep")


def test_a_program_that_does_not_report_is_shown_and_marked_read(tmp_path: Path, plain: int) -> None:
    dead = Slot(plain, (5 * MIB, 0, 0, 0, 0), 1)  # a pid that was given out again since
    put(tmp_path, 123_456_789, a_region(dead, a_slot(plain, 2 * MIB, 4096, 0, 0, 786_432)))
    result = ttmem("ps", directory=tmp_path)

    assert (result.returncode, result.stderr) == (0, "")
    assert "1 process on 1 device · complete" in result.stdout
    assert re.search(r" dram +read +2\.00 MiB +\[N/A\] +read", result.stdout)
    assert re.search(rf" {plain} +\S+ +sleep 600 +read +0 +2\.00 MiB +4\.00 KiB +~768 KiB", result.stdout)
    assert "the runtime's counters still hold dram 5.00 MiB of ended processes; left out." in result.stdout


def test_the_figures_of_json_say_where_they_come_from(
    here: Path, plain: int, capsys: pytest.CaptureFixture[str]
) -> None:
    put(here, 123_456_789, a_region(a_slot(plain, 2 * MIB)))
    assert run_program(["ps", "--json"]) == 0
    document = opened(json.loads(capsys.readouterr().out))
    [device], [process] = document["device_info"], document["processes"]

    assert (device["uuid"], device["memory"]["dram"]["used_bytes"]) == ("0x00000000075bcd15", 2 * MIB)
    assert (process["pid"], process["source"], process["origin"]) == (plain, "runtime", "read")
    assert process["devices"][0]["memory"]["dram"]["origin"] == "read"
    assert document["places"][1:] == [str(here)]


def test_a_program_that_reports_is_shown_by_its_journal_and_the_difference_is_said(tmp_path: Path) -> None:
    with a_program(tmp_path / "journals", *PROGRAM) as program:
        program.arrive()
        put(tmp_path, 0x75BCD15, a_region(a_slot(program.pid, MIB)))
        said = [""]

        def has_compared() -> bool:  # once both had nothing new to say for a moment
            said[0] = ttmem("ps", directory=tmp_path, TTMEM_DIR=str(tmp_path / "journals")).stdout
            return "not added" in said[0]

        wait_until(has_compared)

    assert "1 process on 1 device" in said[0]
    assert re.search(rf" {program.pid} .* 0 +3\.00 MiB", said[0])
    assert "not added: the runtime's counter says of 0: dram 1.00 MiB" in said[0]
    assert "the runtime's counter misses allocations of other threads" in said[0]


def test_a_daemon_reads_them_as_well(tmp_path: Path, plain: int) -> None:
    put(tmp_path, 123_456_789, a_region(a_slot(plain, 2 * MIB)))
    put(tmp_path, 5, b"nonsense")
    with a_daemon(TTMEM_STOCK_SHM_DIR=str(tmp_path)) as daemon:
        document = daemon.ps()
        shown = daemon.run("ps").stdout

    assert document["source"] == f"daemon pid {daemon.pid}"
    assert [(process["pid"], process["origin"]) for process in document["processes"]] == [(plain, "read")]
    assert [finding["name"] for finding in document["findings"]] == ["region_ignored"]
    assert re.search(rf" {plain} .* read +0 +2\.00 MiB", shown)


def test_what_only_ended_processes_left_behind_is_a_note_and_stale(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(here, 5, (Path(__file__).parents[1] / "data" / "shm" / "special" / "stale-after-kill9.bin").read_bytes())

    assert run_program(["ps"]) == 1
    err = capsys.readouterr().err
    assert "Nothing reports device memory now" in err
    assert "the runtime's counters still hold dram 2.00 MiB, l1 128 KiB of ended processes; left out." in err
    run_program(["-s"])
    [chip] = opened(json.loads(capsys.readouterr().out))["device_info"]
    assert (chip["memory"]["dram"]["used_bytes"], chip["memory"]["dram"]["stale_bytes"]) == (0, 2 << 20)


def test_of_many_files_that_are_no_regions_the_error_names_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for chip in range(5):
        put(here, chip, b"nonsense")

    assert run_program(["ps", "--json"]) == 1
    out, err = capsys.readouterr()
    assert (err.count("not a region"), err.count("\n")) == (1, 1)
    assert err.endswith("(and 4 more findings: ttmem ps --json)\n")
    assert len(json.loads(out)["findings"]) == 5
