"""`ttmem top`: the table of ps, live on a terminal and once in a pipe."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.processes.children import Actor
from tests.support.terminals import a_terminal

HOLDING = "import ttmem; chip = ttmem.open_device(5, index=0); ttmem.report_buffer_alloc(chip, 1, 4 << 20)"


def test_on_a_terminal_it_follows_what_happens_until_it_is_interrupted(tmp_path: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path), "TERM": "xterm"}
    with Actor(tmp_path) as actor, a_terminal(["-m", "ttmem", "top", "-d", "0.05"], environ, columns=120) as terminal:
        terminal.read_until("Nothing reports")
        actor.do(HOLDING)
        terminal.read_until("4.00 MiB")
        actor.do("ttmem.report_buffer_alloc(chip, 2, 1 << 20)")
        terminal.read_until("5.00 MiB")
        terminal.press("\x03")

        assert terminal.end() == 0
        assert terminal.painted.rstrip().endswith("\x1b[?25h")


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
