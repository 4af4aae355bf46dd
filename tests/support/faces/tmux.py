"""A terminal that understands what is painted: tmux, on a server of its own. What is on screen can be read as a user
sees it, also which screen it is and whether the cursor is to be seen."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.timing.waiting import wait_until

TMUX = shutil.which("tmux")
needs_tmux = pytest.mark.skipif(
    TMUX is None, reason="NO TMUX HERE: the real terminal is not tested (Debian, Ubuntu: apt-get install tmux)"
)


class Pane:
    """One program in one window."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def screen(self) -> str:
        """What is to be seen now."""
        return self._tmux("capture-pane", "-p")

    def colours(self) -> set[str]:
        """Numbers of all colours on it, of 256."""
        return set(re.findall(r"[34]8;5;(\d+)", self._tmux("capture-pane", "-p", "-e")))

    def shows(self, text: str) -> str:
        """The screen, as soon as it has the text."""
        try:
            return wait_until(lambda: screen if text in (screen := self.screen()) else "")
        except AssertionError:
            raise AssertionError(f"no {text!r} on the screen:\n{self.screen()}") from None

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: F1, Enter, C-c, Up; or text."""
        self._tmux("send-keys", *keys)

    def resize(self, columns: int, lines: int) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def told(self, variable: str) -> str:
        """What tmux knows of the terminal: alternate_on, cursor_flag, mouse_any_flag, pane_pid."""
        return self._tmux("display-message", "-p", f"#{{{variable}}}").strip()

    def is_as_before(self) -> bool:
        """The screen of before, with its cursor, and a mouse that selects text."""
        state = [self.told(name) for name in ("alternate_on", "cursor_flag", "mouse_any_flag", "wrap_flag")]
        return state == ["0", "1", "0", "1"]

    def _tmux(self, *words: str) -> str:
        return subprocess.run(
            [str(TMUX), "-S", str(self._socket), *words], capture_output=True, text=True, check=True
        ).stdout


@contextmanager
def a_pane(
    command: Sequence[str], directory: Path, environ: Mapping[str, str], *, columns: int = 100, lines: int = 30
) -> Iterator[Pane]:
    """A shell that says `before`, runs the command and says its exit code, in a window of that size.

    What `stty` says before and after is left in the directory.
    """
    socket = directory / "tmux"
    script = (
        f"echo before; stty -g > {directory}/before; {shlex.join(command)} 2> {directory}/errors; "
        f"echo code $?; stty -g > {directory}/after; exec cat"
    )
    clean = {name: value for name, value in environ.items() if name not in ("TMUX", "COLUMNS", "LINES")}
    size = ("-x", str(columns), "-y", str(lines))
    tmux = [str(TMUX), "-S", str(socket), "-f", os.devnull]
    subprocess.run([*tmux, "new-session", "-d", *size, "sh", "-c", script], env=clean, check=True)
    pane = Pane(socket)
    shell = int(pane.told("pane_pid"))
    try:
        yield pane
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True)
        wait_until(lambda: not _session(shell))  # a window that is closed ends all that is in it


def _session(leader: int) -> list[int]:
    """Who is still in the session of that process."""
    stats = (_stat(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [int(words[0]) for words in stats if words and int(words[4]) == leader and words[1] != "Z"]


def _stat(pid: str) -> list[str]:
    """Its number, state, parent, group, session."""
    try:
        return [pid, *Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:4]]
    except OSError:  # it has gone
        return []


def stty_changed(directory: Path) -> bool:
    """Whether the terminal's settings differ from before."""
    after = directory / "after"
    wait_until(lambda: after.exists() and after.read_text().strip())
    return after.read_text() != (directory / "before").read_text()
