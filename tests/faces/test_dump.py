"""`ttmem dump` as a user runs it, without a daemon: what the journals tell."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faces.terminals import a_terminal
from tests.support.processes.inside import ttmem_inside
from tests.support.processes.programs import a_program, tracked

TTMEM = [sys.executable, "-m", "ttmem"]
PROGRAM = (
    "chips = [ttmem.open_device(0x1A2B + at, index=at, board='n300') for at in range(2)]",
    "ttmem.label('a job')",
    "for at in range(1, 61): ttmem.report_buffer_alloc(chips[0], at, at << 10, 0, at << 12)",
    "ttmem.report_buffer_alloc(ttmem.open_mesh(chips), 99, 5 << 20)",
    "ttmem.report_kernel_load(chips[1], 7, 6, 57344, 16)",
    "meet()",
)


def dump(*arguments: str, directory: Path, **settings: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "TTMEM_DIR": str(directory), **settings}
    return ttmem_inside("dump", *arguments, environ=environ)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[int]:
    """The pid of a program that reports."""
    with a_program(tmp_path, *PROGRAM) as program:
        program.arrive()
        yield program.pid


def test_totals_then_the_largest_fifty_with_their_owner(tmp_path: Path, running: int) -> None:
    result = dump(directory=tmp_path)

    assert (result.returncode, result.stderr) == (0, "")
    assert "63 allocations on 2 devices · complete · " in result.stdout
    assert f"\n read directly from {tmp_path}\n" in result.stdout
    assert re.search(r"\n 0 n300 +dram +61 +6\.79 MiB +0 B\n", result.stdout)
    assert re.search(rf"\n +5\.00 MiB +0x63 +\S+ s +{running} +\w+ +a job\n", result.stdout)
    assert "... 11 more, 66.0 KiB (--all)\n" in result.stdout
    assert result.stdout.count(f" {running} ") == 50 + 1 + 1


def test_all_or_fewer_can_be_listed(tmp_path: Path, running: int) -> None:
    assert dump("--all", directory=tmp_path).stdout.count(f" {running} ") == 61 + 1 + 1
    assert dump("--most", "2", directory=tmp_path).stdout.count(f" {running} ") == 2 + 1 + 1


def test_only_kernels_can_be_listed(tmp_path: Path, running: int) -> None:
    text = dump("--kernels", directory=tmp_path).stdout

    assert "1 kernel on 1 device" in text
    assert re.search(rf"\n +~896 KiB +0x7 +\S+ s +{running} ", text)
    assert " dram" not in text


@pytest.mark.parametrize("device", ["1", "0x1a2c"])
def test_one_device_can_be_listed(tmp_path: Path, running: int, device: str) -> None:
    text = dump("--device", device, directory=tmp_path).stdout

    assert "2 allocations on 1 device" in text
    assert " 0 n300" not in text


def test_json_has_the_same_truth(tmp_path: Path, running: int) -> None:
    result = dump("--json", "--all", directory=tmp_path)
    document = json.loads(result.stdout)
    first = document["devices"][0]["groups"][0]

    assert result.stdout.count("\n") == 1
    assert (first["type"], first["count"], first["more_count"]) == ("dram", 61, 0)
    assert first["used_bytes"] == sum(one["size_bytes"] for one in first["allocations"])
    assert {(one["owner"]["pid"], one["owner"]["label"]) for one in first["allocations"]} == {(running, "a job")}
    assert first["allocations"][1]["address"] == hex(60 << 12)


def test_nothing_alive_is_said_and_no_error(tmp_path: Path) -> None:
    with a_program(tmp_path, "ttmem.open_device(1)", "meet()") as program:
        program.arrive()
        result = dump(directory=tmp_path)

    assert (result.returncode, result.stderr) == (0, "")
    assert "nothing is alive" in result.stdout


def test_with_nothing_to_read_the_exit_code_is_1(tmp_path: Path) -> None:
    result, as_json = dump(directory=tmp_path), dump("--json", directory=tmp_path)

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"ttmem: no process reports (looked in {tmp_path}); start one with `ttmem run -- COMMAND`; "
        "`ttmem doctor` finds out why one is not shown\n"
    )
    assert (as_json.returncode, json.loads(as_json.stdout)["devices"]) == (1, [])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--device", "7"], "no device 7 here; known are 0, 1"),
        (["--id", "7"], "no device 7 here; known are 0, 1"),
        (["--device", "pci"], "'pci' is no device"),
        (["--most", "0"], "not in the range"),
        (["--most", "5", "--all"], "--all and --most contradict each other"),
        (["--nope"], "No such option '--nope'"),
    ],
)
def test_a_request_that_cannot_be_met_is_one_clear_line(
    tmp_path: Path, running: int, arguments: list[str], words: str
) -> None:
    result = dump(*arguments, directory=tmp_path)

    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)
    assert words in result.stderr


def test_a_terminal_gets_colours_and_lines_that_fit(tmp_path: Path, running: int) -> None:
    environ = {**tracked(tmp_path), "TERM": "xterm-256color"}
    with a_terminal(["-m", "ttmem", "dump"], environ, columns=80) as terminal:
        assert terminal.end() == 0

    bare = re.sub(r"\x1b\[[0-9;]*m", "", terminal.painted)
    assert "\x1b[" in terminal.painted
    assert max(len(line) for line in bare.splitlines()) <= 80


def test_colours_and_unicode_can_be_turned_off(tmp_path: Path, running: int) -> None:
    environ = {**tracked(tmp_path), "TERM": "xterm-256color"}
    with a_terminal(["-m", "ttmem", "dump", "-C", "-U"], environ) as terminal:
        assert terminal.end() == 0

    assert "\x1b" not in terminal.painted
    assert terminal.painted.isascii()
