"""The toolkit's way to the terminal, but for what costs time while nothing happens.

It waits for keys without a clock: looking ten times a second whether it should end would be a tenth of all the monitor
costs. Only after a key it looks a few times more, since Esc is a key of its own if nothing follows it.
"""

import os
import select
import signal
import sys
from codecs import getincrementaldecoder
from contextlib import suppress
from threading import Event
from typing import Any

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from ttmem.monitor.terminal.stage import ENTER, LEAVE, STAGE

__all__ = ["Terminal"]

_TICK_MS = 50
_TICKS_AFTER_INPUT = 10  # longer than anybody has to wait for an Esc to be one
_READ_BYTES = 4096


class Ending(Event):
    """An event that whoever waits for a file hears of as well: `descriptor` can be read once it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def __del__(self) -> None:
        os.close(self.descriptor)

    def set(self) -> None:
        super().set()
        os.eventfd_write(self.descriptor, 1)

    def clear(self) -> None:
        super().clear()
        with suppress(BlockingIOError):  # it was not set
            os.eventfd_read(self.descriptor)


class Terminal(LinuxDriver):
    """Standard output, not standard error; and clicks and the wheel only: a mouse that moves costs nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file = sys.__stdout__
        self.exit_event: Ending = Ending()

    def write(self, data: str) -> None:
        if data == ENTER:
            if STAGE.is_entered:  # the first picture is there already: entering again would wipe it off
                return
            STAGE.is_entered = True
        elif data == LEAVE:
            STAGE.is_entered = False
        super().write(data)

    def _enable_mouse_support(self) -> None:
        if self._mouse:
            self.write("\x1b[?1000h\x1b[?1006h")
            self.flush()

    def run_input_thread(self) -> None:
        """Hands on what is typed until it is told to end."""
        parser = XTermParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        awaited = select.poll()
        awaited.register(self.fileno, select.POLLIN)
        awaited.register(self.exit_event.descriptor, select.POLLIN)
        ticks = 0
        while not self.exit_event.is_set():
            ready = awaited.poll(_TICK_MS if ticks else None)
            ticks = max(0, ticks - 1)
            if any(descriptor == self.fileno for descriptor, _ in ready):
                ticks = _TICKS_AFTER_INPUT
                data = self._typed()
                if not data:  # the terminal is gone, and will not come back
                    awaited.unregister(self.fileno)
                    os.kill(os.getpid(), signal.SIGHUP)
                elif text := decode(data):
                    self._hand_on(parser.feed(text))
            self._hand_on(parser.tick())

    def _typed(self) -> bytes:
        try:
            return os.read(self.fileno, _READ_BYTES)
        except OSError:
            return b""

    def _hand_on(self, messages: Any) -> None:
        for message in messages:
            self.process_message(message)
