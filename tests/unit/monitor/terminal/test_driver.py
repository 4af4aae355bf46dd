"""The way to the terminal: keys arrive at once, Esc is one of them, and while nobody types nothing happens."""

import os
import pty
import signal
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events

from tests.support.timing.waiting import wait_until
from ttmem.monitor.terminal import driver
from ttmem.monitor.terminal.driver import Ending, Terminal


class Typing:
    """A terminal of which somebody has the other end."""

    def __init__(self) -> None:
        self.keyboard, self.line = pty.openpty()
        self.arrived: list[str] = []
        terminal: Any = object.__new__(Terminal)  # not the whole driver, which wants a whole app
        self.terminal = terminal
        self.terminal.fileno, self.terminal._debug, self.terminal.exit_event = self.line, False, Ending()
        self.terminal.process_message = self._hear
        self.thread = threading.Thread(target=self.terminal.run_input_thread)
        os.set_blocking(self.keyboard, False)

    def _hear(self, message: object) -> None:
        assert isinstance(message, events.Key)
        self.arrived.append(message.key)

    def press(self, text: str) -> None:
        os.write(self.keyboard, text.encode())


@pytest.fixture
def typing() -> Iterator[Typing]:
    typing = Typing()
    tty.setraw(typing.line)
    typing.thread.start()
    yield typing
    typing.terminal.exit_event.set()
    typing.thread.join()
    os.close(typing.keyboard)
    os.close(typing.line)


def test_keys_arrive_and_esc_is_one_if_nothing_follows_it(typing: Typing) -> None:
    typing.press("q\x1b[A")
    wait_until(lambda: typing.arrived == ["q", "up"])

    typing.press("\x1b")
    wait_until(lambda: typing.arrived == ["q", "up", "escape"])

    typing.press("ü")
    wait_until(lambda: len(typing.arrived) == 4)


def test_it_ends_at_once_when_it_is_told_to(typing: Typing) -> None:
    began = time.monotonic()
    typing.terminal.exit_event.set()
    typing.thread.join(5)

    assert not typing.thread.is_alive()
    assert time.monotonic() - began < 1

    typing.terminal.exit_event.clear()
    assert not typing.terminal.exit_event.is_set()
    again = threading.Thread(target=typing.terminal.run_input_thread)
    again.start()
    typing.press("x")
    wait_until(lambda: typing.arrived == ["x"])
    typing.terminal.exit_event.set()
    again.join(5)
    assert not again.is_alive()


def test_while_nobody_types_it_is_not_woken_up(typing: Typing) -> None:
    typing.press("a")
    wait_until(lambda: typing.arrived == ["a"])
    wait_until(lambda: is_asleep_for_good(typing.thread))


def is_asleep_for_good(thread: threading.Thread) -> bool:
    """Whether it waits in a call without a time at which it would come back."""
    call = Path(f"/proc/self/task/{thread.native_id}/syscall").read_text().split()
    return len(call) > 3 and int(call[3], 16) & 0xFFFFFFFF == 0xFFFFFFFF  # poll(files, count, -1)


def test_a_terminal_that_is_gone_ends_it_as_a_hangup_does(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append(number))
    typing = Typing()
    typing.thread.start()
    os.close(typing.keyboard)

    wait_until(lambda: sent == [signal.SIGHUP])
    typing.terminal.exit_event.set()
    typing.thread.join(5)

    assert not typing.thread.is_alive()
    assert sent == [signal.SIGHUP]  # once, and it did not turn in circles
    os.close(typing.line)


def test_all_is_written_to_a_terminal_that_makes_nobody_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """What shares it with a program that made it so takes a part of a frame, and the rest when it has room."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    monkeypatch.setattr(driver, "_OUTPUT", writing)
    frame = "".join(f"row {number} │\n" for number in range(20_000))

    writer = threading.Thread(target=driver.Paper().write, args=(frame,))
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

    driver.Paper().write("a frame")
    os.close(writing)
