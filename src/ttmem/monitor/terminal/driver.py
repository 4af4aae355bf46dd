"""The toolkit's way to the terminal, but for what costs time while nothing happens, and for how it ends.

It waits for keys without a clock: looking ten times a second whether it should end would be a tenth of all the monitor
costs. Only after a key it looks a few times more, since Esc is a key of its own if nothing follows it.

Signals that stop us and let us go on are heeded between two steps of the loop, and the terminal is taken only by who
has not taken it yet: a terminal that goes away sends a hang-up and, right behind it, a signal to go on, and a second
thread for keys would keep us alive for good.
"""

import os
import select
import signal
from codecs import getincrementaldecoder
from collections.abc import Callable
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
_OUTPUT = 1


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


class Paper:
    """Standard output, for the toolkit's thread that writes: a terminal that is gone must not end that thread, whom
    everybody else would wait for."""

    def write(self, text: str) -> None:
        rest = text.encode(errors="replace")
        with suppress(OSError):
            while rest:
                rest = rest[self._write(rest) :]

    @staticmethod
    def _write(data: bytes) -> int:
        """How much was taken; somebody who shares the terminal may have told it not to make anybody wait."""
        try:
            return os.write(_OUTPUT, data)
        except BlockingIOError:
            select.select((), (_OUTPUT,), ())
            return 0

    def flush(self) -> None:
        """Nothing is kept back."""

    def fileno(self) -> int:
        return _OUTPUT


class Terminal(LinuxDriver):
    """Standard output, not standard error; and clicks and the wheel only: a mouse that moves costs nothing."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._file: Any = Paper()
        self.exit_event: Ending = Ending()
        self._has_terminal = False

    @property
    def _is_written_to(self) -> bool:
        return self._writer_thread is not None and self._writer_thread.is_alive()

    def start_application_mode(self) -> None:
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._has_terminal = self._is_written_to
        self._must_signal_resume |= not self._has_terminal  # we are in the background: the next time, perhaps

    def stop_application_mode(self) -> None:
        self._has_terminal = False
        super().stop_application_mode()

    def _sigtstp_application(self, *_: object) -> None:
        self._soon(self._pause)

    def _sigcont_application(self, *_: object) -> None:
        self._soon(self._go_on)

    def _soon(self, do: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(do)

    def _pause(self) -> None:
        if self._has_terminal:
            self.suspend_application_mode()
            self._must_signal_resume = True
        os.kill(os.getpid(), signal.SIGSTOP)

    def _go_on(self) -> None:
        """After a stop we had no say in, a shell has had the terminal meanwhile."""
        if self._has_terminal:
            self.suspend_application_mode()
        elif not self._must_signal_resume:  # we are about to end
            return
        self.resume_application_mode()

    def write(self, data: str) -> None:
        if not self._is_written_to:  # whoever reads what waits to be written has gone: it would wait for ever
            return
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
