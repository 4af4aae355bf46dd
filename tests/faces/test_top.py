"""`ttmem top`: the monitor on a terminal, the table of ps in a pipe."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes.children import Actor
from tests.support.terminals import a_terminal

HOLDING = "import ttmem; chip = ttmem.open_device(5, index=0); ttmem.report_buffer_alloc(chip, 1, 4 << 20)"


def test_on_a_terminal_it_follows_what_happens_until_it_is_left(tmp_path: Path) -> None:
    places = {"TTMEM_DIR": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    environ = {**os.environ, **places, "TERM": "xterm-256color"}
    with Actor(tmp_path) as actor, a_terminal(["-m", "ttmem", "--interval", "0.1"], environ, columns=120) as terminal:
        terminal.read_until("nobody reports")
        actor.do(HOLDING)
        terminal.read_until("4.00 MiB")
        actor.do("ttmem.report_buffer_alloc(chip, 2, 1 << 20)")
        terminal.read_until("5.00 MiB")
        terminal.press("\x1b[<0;15;1M\x1b[<0;15;1m")  # a click on the second view
        terminal.read_until("LABEL")
        terminal.press("\x03")

        assert terminal.end() == 0
        assert "\x1b[?1049l" in terminal.painted
        assert "\x1b[?25h" in terminal.painted


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
