"""`ttmem run`: the program is in charge, its end is ours, and we tell what it held."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.faces.terminals import a_terminal
from tests.support.processes.running import REPORTING, TTMEM, python, ttmem


def test_a_program_that_reports_leaves_its_peaks_behind(tmp_path: Path) -> None:
    result = ttmem("run", "--label", "a job", *python(REPORTING), directory=tmp_path)

    assert (result.returncode, result.stdout) == (0, "")
    assert "ttmem: peaks of" in result.stderr
    assert " a job " in result.stderr
    assert "4.00 MiB" in result.stderr


def test_the_summary_can_be_left_out(tmp_path: Path) -> None:
    result = ttmem("run", "--no-summary", *python(REPORTING), directory=tmp_path)

    assert (result.returncode, result.stderr) == (0, "")


def test_the_summary_reports_this_run_only(tmp_path: Path) -> None:
    ttmem("run", "--label", "before", *python(REPORTING), directory=tmp_path)

    assert "before" not in ttmem("run", "--label", "now", *python(REPORTING), directory=tmp_path).stderr


def test_a_program_that_never_reported_looks_as_without_us(tmp_path: Path) -> None:
    result = ttmem("run", "--", "sh", "-c", "echo out; echo err >&2; exit 7", directory=tmp_path)

    assert (result.returncode, result.stdout, result.stderr) == (7, "out\n", "err\n")


def test_a_requested_summary_says_in_one_line_that_there_is_none(tmp_path: Path) -> None:
    result = ttmem("run", "--summary", "--", "sh", "-c", "exit 7", directory=tmp_path)

    assert result.returncode == 7
    assert len(result.stderr.splitlines()) == 1
    assert "nothing in `sh -c 'exit 7'` reported device memory" in result.stderr


def test_a_terminal_shows_that_nothing_was_reported(tmp_path: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    with a_terminal(["-m", "ttmem", "run", "true"], environ) as terminal:
        terminal.read_until("nothing in `true` reported device memory")
        assert terminal.end() == 0


def test_what_is_left_is_shown_by_kind_and_chips_alike_share_a_row(tmp_path: Path) -> None:
    code = "; ".join(
        [
            "import ttmem",
            "chips = [ttmem.open_device(5 + index, index=index) for index in range(3)]",
            "[ttmem.report_buffer_alloc(chip, 1, 4 << 20) for chip in chips[:2]]",
            "ttmem.report_buffer_alloc(chips[2], 1, 1 << 20); ttmem.report_buffer_free(chips[2], 1)",
            "ttmem.report_out_of_memory(chips[2], 0, 7 << 20, 1 << 20, 1 << 10)",
        ]
    )

    told = ttmem("run", *python(code), directory=tmp_path).stderr

    assert re.search(r" 0-1 +dram +4\.00 MiB .*4\.00 MiB never freed", told)
    assert re.search(r" 2 +dram +1\.00 MiB", told)
    assert re.search(r" 0-1 +buffer +1 +4\.00 MiB", told)
    newest = "chip 2, DRAM: asked 7.00 MiB, free 1.00 MiB, largest block 1.00 KiB"
    assert f" out of memory, and went on; newest: {newest}" in told


def test_who_outlives_the_program_is_shown_with_what_it_holds_now(tmp_path: Path) -> None:
    code = f"{REPORTING}; print(flush=True); __import__('time').sleep(30)"
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    script = f'{shlex.quote(sys.executable)} -c "{code}" >{fifo} 2>&- & read line <{fifo}; echo $!'
    result = ttmem("run", "--", "sh", "-c", script, directory=tmp_path / "journals")
    os.kill(int(result.stdout), signal.SIGKILL)

    assert "4.00 MiB held now" in result.stderr
    assert f" pid {int(result.stdout)} (" in result.stderr
    assert "still runs; its figures are those of now" in result.stderr


def a_waiting_run(environ: dict[str, str]) -> "subprocess.Popen[str]":
    """A program under `ttmem run --summary` that has begun, reports nothing, and ends with the next line it reads."""
    command = [*TTMEM, "run", "--summary", *python("print('here', flush=True); input()")]
    run = subprocess.Popen(
        command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "here\n"
    return run


def test_journals_of_others_do_not_count_as_ours(tmp_path: Path) -> None:
    """Another program of the same user begins to report while ours runs."""
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    with a_waiting_run(environ) as run:
        other = subprocess.Popen(
            [sys.executable, "-c", f"{REPORTING}; print(flush=True); input()"],
            env={**environ, "TTMEM": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert other.stdout is not None
        other.stdout.readline()
        _, complaints = run.communicate("\n")
        other.communicate(b"\n")

    assert "reported device memory" in complaints
    assert "peaks" not in complaints


@pytest.mark.slow
def test_others_who_came_and_went_do_not_count_as_ours(tmp_path: Path) -> None:
    """Nobody can ask them any more; their journals say that they were started otherwise, or by another run."""
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    with a_waiting_run(environ) as run:
        for settings in ({}, {"TTMEM_RUN": "0123456789abcdef"}, {"TTMEM_RUN": "x" * 500}):
            subprocess.run([sys.executable, "-c", REPORTING], env={**environ, "TTMEM": "1", **settings}, check=True)
        _, complaints = run.communicate("\n")

    assert len(list(tmp_path.glob("*.journal"))) == 3
    assert "nothing in " in complaints
    assert "peaks" not in complaints


@pytest.mark.slow
def test_a_run_within_a_run_is_shown_by_both(tmp_path: Path) -> None:
    inner = shlex.join([*TTMEM, "run", "--label", "inner", "--", sys.executable, "-c", REPORTING])

    told = ttmem("run", "--label", "outer", "--", "sh", "-c", f"{inner}; true", directory=tmp_path).stderr

    assert told.count("ttmem: peaks of") == 2
    assert len(re.findall(r" inner +0 +dram +4\.00 MiB", told)) == 2


@pytest.mark.parametrize(
    "how",
    [
        "{python} -c '{code}'; exit 3",
        ": $( ({python} -c '{code}' &) ); exit 3",  # nobody's child any more; waited for by its output
    ],
)
def test_what_a_program_starts_in_turn_counts_as_ours(tmp_path: Path, how: str) -> None:
    script = how.format(python=shlex.quote(sys.executable), code=REPORTING)

    result = ttmem("run", "--", "sh", "-c", script, directory=tmp_path)

    assert result.returncode == 3
    assert "4.00 MiB" in result.stderr


# With the first one that fails a launcher ends all others: they wait until everybody has said what they have.
RANK = f"""
import os, pathlib, sys, time
rank, here = os.environ["OMPI_COMM_WORLD_RANK"], pathlib.Path(os.environ["TTMEM_DIR"])
{REPORTING.replace("4 << 20", "int(rank) + 1 << 20")}
ttmem.label("rank " + rank)
(here / ("said-" + rank)).touch()
while len(list(here.glob("said-*"))) < 3:
    time.sleep(0.01)
sys.exit(3)
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mpirun") is None, reason="NOT LAUNCHED BY MPI: no mpirun (Debian: openmpi-bin)")
def test_every_rank_of_a_launcher_is_shown_and_its_exit_code_is_ours(tmp_path: Path) -> None:
    settings = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "TMPDIR": str(tmp_path)}
    launch = ["mpirun", "--oversubscribe", "-n", "3", sys.executable, "-c", RANK]

    result = ttmem("run", "--", *launch, directory=tmp_path / "journals", **settings)

    assert result.returncode == 3
    for rank in range(3):
        assert re.search(rf" rank {rank} +0 +dram +{rank + 1}\.00 MiB .* {rank + 1}\.00 MiB never freed", result.stderr)


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["sh", "-c", "kill -9 $$"], 137, ""),
        (["sh", "-c", "kill -TERM $$"], 143, ""),
        (["./not-there"], 127, "ttmem: ./not-there: No such file or directory"),
        ([""], 127, "ttmem: '': No such file or directory"),
        (["/etc/passwd"], 126, "ttmem: /etc/passwd: Permission denied"),
    ],
)
def test_the_end_of_the_program_is_ours(tmp_path: Path, command: list[str], code: int, words: str) -> None:
    result = ttmem("run", "--", *command, directory=tmp_path)

    assert result.returncode == code
    assert result.stderr.strip() == words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        ("model.py", 127, "No such file or directory; try: ttmem run -- python model.py"),
        ("./model.py", 126, "Permission denied; try: ttmem run -- python ./model.py"),
        ("app", 127, "No such file or directory; try: ttmem run -- ./app"),
        ("other.py", 127, "No such file or directory"),
    ],
)
def test_a_file_that_is_no_command_is_told_how_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, code: int, words: str
) -> None:
    for name in ("model.py", "app"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)

    result = ttmem("run", command, directory=tmp_path / "journals")

    assert (result.returncode, result.stderr) == (code, f"ttmem: {command}: {words}\n")


@pytest.mark.slow
@pytest.mark.parametrize("said", [REPORTING, "import sys"])
@pytest.mark.parametrize("is_pipe", [True, False])
def test_messages_of_ours_without_a_reader_change_nothing_about_the_program(
    tmp_path: Path, said: str, is_pipe: bool
) -> None:
    """Its end is ours whether or not the summary, or a warning before it, could be written."""
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path), "TTMEM_HOOK": "/nowhere/hook.so"}
    reading, deaf = os.pipe() if is_pipe else (-1, os.open("/dev/full", os.O_WRONLY))
    if is_pipe:
        os.close(reading)
    command = [*TTMEM, "run", "--summary", *python(f"{said}; print('ran', flush=True); raise SystemExit(7)")]

    result = subprocess.run(command, env=environ, stdout=subprocess.PIPE, stderr=deaf, text=True)
    os.close(deaf)

    assert (result.returncode, result.stdout) == (7, "ran\n")


def test_flags_after_the_command_are_the_commands(tmp_path: Path) -> None:
    result = ttmem("run", "echo", "--label", "-h", directory=tmp_path)

    assert result.stdout == "--label -h\n"


def test_a_run_without_a_command_is_a_bad_flag(tmp_path: Path) -> None:
    result = ttmem("run", directory=tmp_path)

    assert (result.returncode, len(result.stderr.splitlines())) == (2, 1)


def test_the_program_sees_where_and_that_it_should_report(tmp_path: Path) -> None:
    code = "import os; print(os.environ['TTMEM'], os.environ['TTMEM_DIR'], os.environ['TTMEM_LABEL'])"

    result = ttmem("run", "--dir", "/elsewhere", "--label", "x y", *python(code), directory=tmp_path)

    assert result.stdout == "1 /elsewhere x y\n"
