"""The way to the terminal: all is written, to standard output, and a terminal that is gone is no fault."""

import os
import pty
import sys
import threading

import pytest

from ttmem.monitor import app as driver
from ttmem.monitor.app import TerminalOutput, drawn_on_stdout, has_hung_up


def test_all_is_written_to_a_non_blocking_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that another program made non-blocking takes a part of a frame, and the rest when it has room."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    monkeypatch.setattr(driver, "_OUTPUT", writing)
    frame = "".join(f"row {number} │\n" for number in range(20_000))

    writer = threading.Thread(target=TerminalOutput().write, args=(frame.encode(),))
    writer.start()
    read = b""
    while len(read) < len(frame.encode()):
        read += os.read(reading, 1 << 16)
    writer.join()
    os.close(reading)
    os.close(writing)

    assert read.decode() == frame


def test_a_terminal_that_is_gone_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(driver, "_OUTPUT", writing)

    assert TerminalOutput().write(b"a frame") == 7
    os.close(writing)


def test_standard_error_is_as_before_when_the_monitor_has_ended() -> None:
    before = sys.__stderr__

    with drawn_on_stdout():
        assert sys.__stderr__ is not None
        assert sys.__stderr__.fileno() == 1

    assert sys.__stderr__ is before


def test_a_terminal_has_hung_up_when_its_other_end_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, line = pty.openpty()
    monkeypatch.setattr(driver, "_INPUT", line)

    assert not has_hung_up()
    os.write(keyboard, b"x\n")
    assert not has_hung_up()
    os.close(keyboard)
    assert has_hung_up()
    os.close(line)
