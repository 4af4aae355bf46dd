"""`ttmem top`: the monitor on a terminal, the table of ps in a pipe."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faces.terminals import Terminal, a_terminal
from tests.support.processes.children import Actor
from tests.support.timing.waiting import wait_until
from ttmem.cli.common import KILLED_BY

HOLDING = "import ttmem; chip = ttmem.open_device(5, index=0); ttmem.report_buffer_alloc(chip, 1, 4 << 20)"


def test_on_a_terminal_it_follows_what_happens_until_it_is_left(tmp_path: Path) -> None:
    places = {"TTMEM_DIR": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environ = {**os.environ, **places, "TERM": "xterm-256color"}
    with Actor(tmp_path) as actor, a_terminal(["-m", "ttmem", "--interval", "0.1"], environ, columns=120) as terminal:
        terminal.read_until("none reports")
        actor.do(HOLDING)
        terminal.read_until("4.00 MiB")
        actor.do("ttmem.report_buffer_alloc(chip, 2, 1 << 20)")
        terminal.read_until("5.00 MiB")
        terminal.press("\x1b[<0;24;1M\x1b[<0;24;1m")  # a click on the second view
        terminal.read_until("All columns")
        terminal.press("\x03")

        assert terminal.end() == 0
        assert "\x1b[?1049l" in terminal.painted
        assert "\x1b[?25h" in terminal.painted


@pytest.mark.slow
def test_d_on_the_empty_screen_starts_the_demo(tmp_path: Path) -> None:
    places = {"TTMEM_DIR": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environ = {**os.environ, **places, "TERM": "xterm-256color"}
    with a_terminal(["-m", "ttmem", "--no-daemon", "--interval", "0.1"], environ, columns=120) as terminal:
        terminal.read_until("Start the demo")
        terminal.press("d")
        terminal.read_until("demo: simulated chips")
        terminal.press("q")

        assert terminal.end() == 0


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    places = {"TTMEM_DIR": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    return {**os.environ, **places, "TERM": "xterm-256color"}


@pytest.fixture
def monitor(environ: dict[str, str]) -> Iterator[Terminal]:
    """One that the toolkit has taken over."""
    with a_terminal(["-m", "ttmem", "--no-daemon", "--interval", "0.1"], environ, columns=120) as terminal:
        terminal.read_until(_TAKEN)
        yield terminal


_TAKEN, _LEFT, _ENTERED = "\x1b[?2004h", "\x1b[?1049l", "\x1b[?1049h"


def thread_count(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.parametrize("is_told_to_go_on", [False, True])
def test_it_ends_with_its_terminal(monitor: Terminal, is_told_to_go_on: bool) -> None:
    if is_told_to_go_on:  # as some kernels do, once more
        monitor.process.send_signal(signal.SIGCONT)
    monitor.hang_up()

    assert monitor.process.wait() == KILLED_BY + signal.SIGHUP


# A session of which nobody is told that its terminal is gone: the leader ignores it, and waits for the monitor.
DEAF = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
sys.exit(os.waitstatus_to_exitcode(os.waitpid(job, 0)[1]))
"""


@pytest.mark.slow
def test_it_ends_with_its_terminal_also_if_no_signal_says_so(environ: dict[str, str]) -> None:
    command = ["-c", DEAF, "-m", "ttmem", "--no-daemon", "--interval", "60"]
    with a_terminal(command, environ, columns=120) as terminal:
        terminal.read_until(_TAKEN)
        terminal.hang_up()

        assert terminal.process.wait() == KILLED_BY + signal.SIGHUP


def test_continued_it_has_the_threads_it_had(monitor: Terminal) -> None:
    pid = monitor.process.pid
    wait_until(lambda: thread_count(pid) == 5)  # its own, collector, feed, keys, what is written
    for _ in range(3):
        monitor.painted = ""
        monitor.process.send_signal(signal.SIGCONT)
        monitor.read_until(_TAKEN)
    wait_until(lambda: thread_count(pid) == 5)
    monitor.press("q")

    assert monitor.end() == 0


@pytest.mark.slow
def test_stopped_it_gives_the_terminal_back_and_takes_it_again(monitor: Terminal) -> None:
    monitor.painted = ""
    monitor.press("\x1a")
    monitor.read_until(_LEFT)
    wait_until(lambda: is_stopped(monitor.process.pid))
    assert _ENTERED not in monitor.painted
    monitor.process.send_signal(signal.SIGCONT)
    monitor.read_until(_ENTERED)
    monitor.press("2")
    monitor.read_until("All columns")
    monitor.press("q")

    assert monitor.end() == 0


JOBS = Path(__file__).parents[1] / "programs" / "processes" / "job_shell.py"


@pytest.mark.slow
def test_sent_to_the_background_repeatedly_it_comes_back(environ: dict[str, str]) -> None:
    command = [str(JOBS), "20", "-m", "ttmem", "--no-daemon", "--interval", "0.1"]
    with a_terminal(command, environ, columns=120) as terminal:
        terminal.read_until(_TAKEN)
        terminal.painted = ""
        terminal.press("\x1a")
        terminal.read_until(_ENTERED)
        terminal.press("2")
        terminal.read_until("All columns")
        terminal.press("q")

        assert terminal.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "more"), [(["-C", "-U"], {}), (["-U"], {"NO_COLOR": "1"}), ([], {"LC_ALL": "C"})])
def test_without_colours_and_in_ascii_nothing_else_is_painted(
    tmp_path: Path, flags: list[str], more: dict[str, str]
) -> None:
    places = {"TTMEM_DIR": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environ = {**os.environ, **places, "TERM": "xterm-256color", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", **more}
    with Actor(tmp_path) as actor, a_terminal(["-m", "ttmem", *flags], environ, columns=120) as terminal:
        actor.do(HOLDING)
        terminal.read_until("4.00 MiB")
        terminal.read_until("\x1b[?1006h")  # the toolkit has taken over
        for key in "2345":
            terminal.press(key)
        terminal.read_until("highest of every")
        terminal.press("q")
        assert terminal.end() == 0

    assert terminal.painted.isascii()
    codes = {number for code in re.findall(r"\x1b\[([0-9;]*)m", terminal.painted) for number in code.split(";")}
    assert codes <= {"", "0", "1", "2", "7"} or not ({"-C"} & set(flags) or more.get("NO_COLOR"))


def test_without_keys_it_is_the_table(tmp_path: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path), "TERM": "xterm-256color"}
    script = "import os, sys; os.dup2(os.open('/dev/null', 0), 0); os.execv(sys.executable, sys.argv[1:])"
    with Actor(tmp_path) as actor:
        actor.do(HOLDING)
        command = ["-c", script, sys.executable, "-m", "ttmem", "top"]
        with a_terminal(command, environ, columns=120) as terminal:
            assert terminal.end() == 0

    assert "4.00 MiB" in terminal.painted
    assert "\x1b[?1049h" not in terminal.painted


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["-i", "9"], "no device 9 here; no device is known now"),
        (["--sort", "colour"], "'colour' is no column"),
        (["--interval", "0"], "'--interval'"),
        (["-m", "huge"], "'huge' is not one of 'auto', 'full', 'compact'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_before_anything_is_painted(
    tmp_path: Path, flags: list[str], words: str
) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path), "TERM": "xterm-256color"}
    with a_terminal(["-m", "ttmem", "top", *flags], environ, columns=200) as terminal:
        assert terminal.end() == 2

    assert words in terminal.painted
    assert terminal.painted.count("\n") == 1
    assert "\x1b" not in terminal.painted


def test_in_a_pipe_it_is_the_table_of_ps_once(tmp_path: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path)}
    with Actor(tmp_path) as actor:
        actor.do(HOLDING)
        top, ps = (
            subprocess.run(
                [sys.executable, "-m", "ttmem", verb, "-i", "0"], env=environ, capture_output=True, text=True
            )
            for verb in ("top", "ps")
        )

    assert (top.returncode, top.stderr) == (0, "")
    assert top.stdout.splitlines()[1:] == ps.stdout.splitlines()[1:]  # the first tells the time
    assert "4.00 MiB" in top.stdout
