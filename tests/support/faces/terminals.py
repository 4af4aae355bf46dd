"""A terminal for a program under test: what it paints can be read, and keys can be pressed."""

import codecs
import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Terminal:
    """A program whose input and output are a terminal of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", descriptor: int) -> None:
        self.process = process
        self._descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end within a character
        self.painted = ""

    def press(self, keys: str) -> None:
        os.write(self._descriptor, keys.encode())

    def read_until(self, text: str) -> str:
        """Everything painted so far, as soon as it holds the text."""
        while text not in self.painted:
            if not self._read():
                raise AssertionError(f"the program ended without painting {text!r}: {self.painted!r}")
        return self.painted

    def read_more(self) -> str:
        """Everything painted so far, after another piece of it."""
        if not self._read():
            raise AssertionError(f"the program ended: {self.painted!r}")
        return self.painted

    def hang_up(self) -> None:
        """The window is closed."""
        os.close(self._descriptor)
        self._descriptor = -1

    def close(self) -> None:
        if self._descriptor >= 0:
            self.hang_up()

    def end(self) -> int:
        """Reads to the end of the program; its exit code."""
        while self._read():
            pass
        return self.process.wait()

    def _read(self) -> bool:
        try:
            painted = os.read(self._descriptor, 1 << 16)
        except OSError:  # Linux tells the end of a terminal's program as an error
            return False
        self.painted += self._decoder.decode(painted)
        return bool(painted)


def _session_of(leader: int) -> Iterator[int]:
    """Whoever was started at that terminal, jobs of a shell included."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            session = path.read_text(errors="replace").rpartition(")")[2].split()[3]
            if int(session) == leader:
                yield int(path.parent.name)


@contextmanager
def a_terminal(
    arguments: list[str], environ: dict[str, str], *, columns: int = 80, lines: int = 24
) -> Iterator[Terminal]:
    """`python ARGUMENTS` on a terminal of that size; killed at the end with all it started there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", _TAKE_TERMINAL, *arguments],
        env={name: value for name, value in environ.items() if name not in ("COLUMNS", "LINES")},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    terminal = Terminal(process, ours)
    try:
        yield terminal
    finally:
        for pid in _session_of(process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        terminal.close()


# Makes the terminal the one whose keys send signals, then becomes the program.
_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
