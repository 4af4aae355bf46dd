"""The terminal as textual's driver sees it, where we differ: standard output instead of standard error, and a terminal
that has gone away is no fault.

Who is in the background must not touch the terminal: such a process stops until it is brought back.
"""

import io
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["TerminalDriver", "drawn_on_stdout", "has_hung_up", "stop_until_foreground", "wait_for_foreground"]

_INPUT, _OUTPUT = 0, 1


class TerminalDriver(LinuxDriver):
    """Textual's own, but for the end of its input: SIGHUP ends us in order, and textual would print a traceback."""

    def run_input_thread(self) -> None:
        with suppress(OSError):
            super().run_input_thread()


class TerminalOutput(io.RawIOBase):
    """Standard output. A terminal that is gone must not end textual's thread that writes, since every other waits for
    it then."""

    def write(self, data: "Buffer", /) -> int:
        rest = memoryview(data)
        with suppress(OSError):
            while rest:
                rest = rest[_written(rest) :]
        return len(memoryview(data))

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return _OUTPUT


def _written(data: memoryview) -> int:
    """How many bytes were taken. Another program may have made the terminal non-blocking."""
    try:
        return os.write(_OUTPUT, data)
    except BlockingIOError:
        select.select((), (_OUTPUT,), ())
        return 0


@contextmanager
def drawn_on_stdout() -> Iterator[None]:
    """Textual draws on `sys.__stderr__` and has no setting for it; `ttmem top 2> errors` must draw all the same."""
    output = io.TextIOWrapper(io.BufferedWriter(TerminalOutput()), "utf-8", "replace", newline="")
    before, sys.__stderr__ = sys.__stderr__, output  # type: ignore[misc]
    try:
        yield
    finally:
        sys.__stderr__ = before  # type: ignore[misc]


def has_hung_up() -> bool:
    """Whether the terminal is gone. No signal says so if the shell between ignores its own."""
    terminal = select.poll()
    terminal.register(_INPUT, 0)
    return bool(terminal.poll(0))


def stop_until_foreground() -> None:
    """Stops this process, as Ctrl-Z does."""
    os.kill(os.getpid(), signal.SIGSTOP)
    wait_for_foreground()


def wait_for_foreground() -> None:
    """Stops again as long as the terminal is not ours to use (`bg`); one that is gone keeps us from nothing."""
    with suppress(OSError):
        while os.tcgetpgrp(_INPUT) != os.getpgrp():
            os.kill(os.getpid(), signal.SIGSTOP)
