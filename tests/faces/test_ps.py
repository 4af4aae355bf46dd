"""`ttmem ps` as a user runs it: on a terminal and in a pipe, with something to show and without."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faces.json_documents import opened
from tests.support.faces.terminals import a_terminal
from tests.support.processes.inside import ttmem_inside
from tests.support.processes.programs import a_program, tracked
from ttmem.cli import VERBS

TTMEM = [sys.executable, "-m", "ttmem"]
PROGRAM = (
    "chip = ttmem.open_device(0x1A2B, index=3, board='n300', capacities={0: 1 << 20})",
    "ttmem.label('a job')",
    "ttmem.report_buffer_alloc(chip, 1, 512 << 10)",
    "meet()",
)

LOADED = """
import sys, click
before = set(sys.modules)
import ttmem.cli
try: ttmem.cli.main(sys.argv[1:])
finally: print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""


def ttmem(*arguments: str, directory: Path, **settings: str) -> "subprocess.CompletedProcess[str]":
    environ = {**os.environ, "TTMEM_DIR": str(directory), **settings}
    return ttmem_inside(*arguments, environ=environ)


def started(*arguments: str, directory: Path, **settings: str) -> "subprocess.CompletedProcess[str]":
    """The same in a process of its own."""
    environ = {**os.environ, "TTMEM_DIR": str(directory), **settings}
    return subprocess.run([*TTMEM, *arguments], env=environ, capture_output=True, text=True)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[int]:
    """The pid of a program that reports."""
    with a_program(tmp_path, *PROGRAM) as program:
        program.arrive()
        yield program.pid


def test_the_table_shows_device_and_process(tmp_path: Path, running: int) -> None:
    result = started("ps", directory=tmp_path)

    assert (result.returncode, result.stderr) == (0, "")
    assert "1 process on 1 device · complete" in result.stdout
    assert re.search(r"3 n300 +dram +█+░+ +512 KiB +1.00 MiB +50%", result.stdout)
    assert re.search(rf" {running} +\w+ +a job +3 +512 KiB", result.stdout)
    assert "\x1b" not in result.stdout


def test_no_verb_means_ps(tmp_path: Path, running: int) -> None:
    assert "a job" in started(directory=tmp_path).stdout
    assert json.loads(ttmem("--json", directory=tmp_path).stdout)["schema"] == 2


def test_json_in_a_pipe_is_one_line_with_the_same_truth(tmp_path: Path, running: int) -> None:
    result = ttmem("ps", "--json", directory=tmp_path)
    document = opened(json.loads(result.stdout))

    assert result.stdout.count("\n") == 1
    assert document["device_info"][0]["memory"]["dram"]["used_bytes"] == 512 << 10
    assert [process["pid"] for process in document["processes"]] == [running]


def test_with_nothing_to_read_the_exit_code_is_1(tmp_path: Path) -> None:
    result = ttmem("ps", directory=tmp_path)

    assert (result.returncode, result.stdout) == (1, "")
    assert "Nothing reports device memory now" in result.stderr
    as_json = ttmem("ps", "--json", directory=tmp_path)
    assert (as_json.returncode, json.loads(as_json.stdout)["processes"]) == (1, [])
    assert as_json.stderr == f"ttmem: no process reports (looked in {tmp_path})\n"


def test_an_ended_process_is_shown_only_when_asked_for(tmp_path: Path) -> None:
    with a_program(tmp_path, *PROGRAM) as program:
        program.arrive()
        assert program.end() == 0

    without, with_ended = ttmem("ps", directory=tmp_path), ttmem("ps", "--all", directory=tmp_path)

    assert (without.returncode, with_ended.returncode) == (1, 0)
    assert "1 ended, shown by --all" in without.stderr
    assert re.search(rf" {program.pid} .* ended ", with_ended.stdout)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--nope"], 2, "No such option '--nope'"),
        (["-i", "7"], 2, "no device 7 here; known are 3"),
        (["-i", "pci"], 2, "'pci' is no device"),
        (["-p", "1"], 1, "pid 1 reports nothing; those that report: "),
        (["-l", "0"], 2, "not in the range"),
        (["--picture", "/nowhere/x.svg"], 1, "No such file"),
    ],
)
def test_a_request_that_cannot_be_met_is_one_clear_line(
    tmp_path: Path, running: int, arguments: list[str], code: int, words: str
) -> None:
    result = ttmem("ps", *arguments, directory=tmp_path)

    assert result.returncode == code
    assert words in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_filters_choose_by_device_user_and_process(tmp_path: Path, running: int) -> None:
    for chosen in (["-i", "3"], ["-i", "0x1a2b"], ["-u", str(os.geteuid())], ["-p", str(running)]):
        assert "a job" in ttmem("ps", *chosen, directory=tmp_path).stdout


def test_a_terminal_gets_colours_and_lines_that_fit(tmp_path: Path, running: int) -> None:
    environ = {**tracked(tmp_path), "TERM": "xterm-256color"}
    with a_terminal(["-m", "ttmem", "ps"], environ, columns=80) as terminal:
        assert terminal.end() == 0

    bare = re.sub(r"\x1b\[[0-9;]*m", "", terminal.painted)
    assert "\x1b[38;5;115m" in terminal.painted
    assert max(len(line) for line in bare.splitlines()) <= 80


@pytest.mark.parametrize(("flags", "settings"), [(["-C"], {}), ([], {"NO_COLOR": "1"})])
def test_colours_can_be_turned_off(tmp_path: Path, running: int, flags: list[str], settings: dict[str, str]) -> None:
    environ = {**tracked(tmp_path), "TERM": "xterm-256color", **settings}
    with a_terminal(["-m", "ttmem", "ps", *flags], environ) as terminal:
        assert terminal.end() == 0

    assert "\x1b" not in terminal.painted


def test_a_stream_without_unicode_gets_ascii(tmp_path: Path, running: int) -> None:
    result = started("ps", directory=tmp_path, PYTHONIOENCODING="ascii")

    assert result.returncode == 0
    assert "####" in result.stdout


def test_watching_goes_on_until_interrupted(tmp_path: Path, running: int) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    command = [*TTMEM, "ps", "--json", "--watch", "0.05"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        documents = [json.loads(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate()

    assert (process.returncode, complaints) == (130, "")
    assert len({document["time_ns"] for document in documents}) == 3
    assert all(document["processes"][0]["pid"] == running for document in documents)


def test_watching_on_a_terminal_paints_over_and_gives_the_cursor_back(tmp_path: Path, running: int) -> None:
    environ = {**tracked(tmp_path), "TERM": "xterm-256color"}
    with a_terminal(["-m", "ttmem", "ps", "--watch", "0.05"], environ) as terminal:
        terminal.read_until("\x1b[J\x1b[H")
        terminal.press("\x03")
        assert terminal.end() == 130

    assert terminal.painted.index("\x1b[?25l") < terminal.painted.rindex("\x1b[?25h")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, running: int) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    with subprocess.Popen(
        [*TTMEM, "ps", "--json", "--watch", "0.05"], env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        complaints = process.stderr.read()

    assert (process.returncode, complaints) == (0, b"")


def test_the_table_can_be_written_as_a_picture(tmp_path: Path, running: int) -> None:
    file = tmp_path / "table.svg"

    assert ttmem("ps", "--picture", str(file), directory=tmp_path).returncode == 0
    assert "a job" in file.read_text(encoding="utf-8")


def test_help_and_version_load_no_library() -> None:
    for flag, words in (("--help", "Usage: ttmem"), ("-h", "ps "), ("--version", "ttmem 0."), ("-V", "ttmem 0.")):
        check = LOADED.replace(", click", "")
        result = subprocess.run([sys.executable, "-c", check, flag], capture_output=True, text=True, check=True)
        assert words in result.stdout
        assert "ttmem.cli" in result.stderr.split()
        assert not {"click", "typing"} & {*result.stderr.split()}


@pytest.mark.parametrize("verb", ["ps", "dump", "run", "serve", "demo"])
def test_every_verb_has_help(verb: str, tmp_path: Path) -> None:
    for flag in ("-h", "--help"):
        result = started(verb, flag, directory=tmp_path)
        assert result.returncode == 0
        assert result.stdout.startswith(f"Usage: ttmem {verb}")


# What a table needs nothing of, and what takes longer to load than it is worth to somebody who waits for one.
DEAR = {"asyncio", "prometheus_client", "rich", "starlette", "textual", "uvicorn", "ttmem.client", "ttmem.metal"}


@pytest.mark.parametrize("flag", ["ps", "-s"])
def test_a_table_loads_neither_a_server_nor_a_monitor(flag: str, tmp_path: Path, running: int) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path), "TTMEM_STOCK_SHM_DIR": str(tmp_path), "TTMEM": "0"}
    command = [sys.executable, "-c", LOADED, flag]
    result = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)

    assert "a job" in result.stdout
    assert not set(result.stderr.split()) & DEAR


def test_an_unknown_verb_is_a_bad_flag(tmp_path: Path) -> None:
    result = started("xyz", directory=tmp_path)

    assert (result.returncode, result.stderr) == (2, f"ttmem: no verb 'xyz'; known: {', '.join(VERBS)}\n")
