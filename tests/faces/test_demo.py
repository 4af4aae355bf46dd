"""`ttmem demo`: three made-up programs come, are shown, and go without a trace."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.terminals import a_terminal
from ttmem.sources.procfs import stat_of

TTMEM = [sys.executable, "-m", "ttmem"]
FAREWELL = "The 3 programs have ended; 0 B of theirs is left on the devices."


def test_in_a_pipe_the_demo_prints_one_table_and_ends(tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    command = [*TTMEM, "demo", "--seconds", "0.5", "--picture", str(picture)]

    result = subprocess.run(command, capture_output=True, text=True)

    assert (result.returncode, result.stderr) == (0, "")
    assert "3 processes on 4 devices · complete" in result.stdout
    assert "demo: made-up chips" in result.stdout
    for word in ("llama-70b server", "resnet-50 train", "whisper", "APPLICATION", "FABRIC", "DISPATCH", "planned"):
        assert word in result.stdout
    assert result.stdout.endswith(f"{FAREWELL}\n")
    assert "llama-70b server" in picture.read_text(encoding="utf-8")


def test_the_mesh_shows_on_all_four_chips(tmp_path: Path) -> None:
    text = subprocess.run([*TTMEM, "demo", "--seconds", "0.2"], capture_output=True, text=True).stdout

    assert re.search(r"llama-70b server +0-3 ", text)
    assert all(f"0x010001451170306{chip}" in text for chip in range(4))


def test_on_a_terminal_the_demo_is_live() -> None:
    environ = {**os.environ, "TERM": "xterm-256color"}
    with a_terminal(["-m", "ttmem", "demo", "--seconds", "0.8"], environ, columns=120, lines=50) as terminal:
        assert terminal.end() == 0

    assert terminal.painted.count("\x1b[H") >= 2
    assert FAREWELL in terminal.painted


def test_on_a_small_terminal_a_frame_is_cut_and_says_so() -> None:
    environ = {**os.environ, "TERM": "xterm-256color"}
    with a_terminal(["-m", "ttmem", "demo", "--seconds", "0"], environ, columns=80, lines=12) as terminal:
        assert terminal.end() == 0

    [frame] = re.findall(r"\x1b\[H(.*?)\x1b\[J", terminal.painted, flags=re.DOTALL)
    assert frame.count("\n") == 11
    assert re.search(r"\.\.\. \d+ more lines", frame)


@pytest.mark.parametrize(("how", "code"), [("key", 130), ("signal", 143)])
def test_a_demo_cut_short_leaves_nothing_behind(how: str, code: int) -> None:
    environ = {**os.environ, "TERM": "xterm-256color"}
    with a_terminal(["-m", "ttmem", "demo", "--seconds", "60"], environ, columns=120, lines=50) as terminal:
        painted = re.sub(r"\x1b\[[0-9;]*m", "", terminal.read_until("\x1b[J\x1b[H"))
        [directory] = set(re.findall(r"reading (/\S+/ttmem-demo-\w+)", painted))
        pids = {int(pid) for pid in re.findall(r"(\d+) +\S+ +(?:llama|resnet|whisper)", painted)}
        if how == "key":
            terminal.press("\x03")
        else:
            terminal.process.terminate()
        assert terminal.end() == code

    assert not os.path.exists(directory)
    assert len(pids) == 3
    assert all(stat_of(pid) is None for pid in pids)
