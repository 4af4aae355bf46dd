"""The monitor as a textual app: keys and the mouse go to the desk, frames of the feed become the picture. Only public
names of textual are used, so that any release which keeps its documented interface will do.

A signal ends it in order. While the process is stopped (Ctrl-Z) the terminal is the shell's; it is taken again once the
process is in the foreground. SIGCONT without a stop of our own means that a shell had the terminal, too.
"""

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial

from textual import events
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.message import Message

from ttmem.monitor.desk.desk import Desk
from ttmem.monitor.feed import Feed, Sights
from ttmem.monitor.screens.frame import Frame
from ttmem.monitor.terminal.canvas import Canvas
from ttmem.monitor.terminal.driver import TerminalDriver, has_hung_up, stop_until_foreground, wait_for_foreground
from ttmem.monitor.terminal.themes import theme

__all__ = ["Monitor"]

_KILLED_BY = 128
_CHECK_SECONDS = 1.0
_PATIENCE_SECONDS = 3.0  # beyond the interval: after that the figures count as lost
_PASTED_MOST = 200


class Delivery(Message):
    """New figures, posted by the feed's thread."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame


class Monitor(App[None], inherit_bindings=False):
    """One canvas. `crash` is what broke, once the app has ended."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    ALLOW_SELECT = False

    def __init__(
        self,
        desk: Desk,
        opened: Callable[[], AbstractContextManager[Sights]],
        *,
        has_colour: bool = True,
        first: Frame | None = None,
        seconds: float | None = None,
    ) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.desk = desk
        self.canvas = Canvas()
        self.crash: Exception | None = None
        self._has_colour = has_colour
        self._shown_seconds = seconds
        self._feed = Feed(
            opened, self._deliver, interval_seconds=desk.settings.interval, wanted=desk.wanted(), first=first
        )
        self._delivered_at = time.monotonic()
        self._is_leaving = False
        if first is not None:
            desk.take(first)

    def compose(self) -> ComposeResult:
        yield self.canvas

    def on_load(self) -> None:
        """Before textual takes the terminal: from here on a signal ends it in order."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self._heed(number, partial(self._leave, 0 if number == signal.SIGINT else _KILLED_BY + number))

    def on_mount(self) -> None:
        """Textual's driver has set its own handlers of these two, which take the terminal also from the background."""
        self._heed(signal.SIGTSTP, partial(self._lend_terminal, stop_until_foreground))
        self._heed_continue()
        self._feed.start()
        self.set_interval(_CHECK_SECONDS, self._check)
        if self._shown_seconds is not None:
            self.set_timer(self._shown_seconds, self.exit)

    def on_unmount(self) -> None:
        with suppress(RuntimeError):  # textual failed before it was started
            self._feed.stop()

    def on_resize(self, event: events.Resize) -> None:
        self._change(lambda: self.desk.resize(event.size.width, event.size.height))
        self.canvas.refresh()  # all of it: after `fg` the size is the same, and the terminal is empty

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        character = event.character
        is_text = character is not None and character.isprintable() and character != " "
        self._change(lambda: self.desk.press(character if is_text and character else event.key))

    def on_paste(self, event: events.Paste) -> None:
        """Text that was pasted is typed, if there is a line to type into."""
        if self.desk.is_typing:
            for character in event.text[:_PASTED_MOST]:
                name = "space" if character == " " else character if character.isprintable() else ""
                self._change(partial(self.desk.press, name))

    def on_click(self, event: events.Click) -> None:
        self._change(lambda: self.desk.click(event.screen_x, event.screen_y, count=event.chain))

    def on_mouse_scroll_down(self) -> None:
        self._change(lambda: self.desk.wheel(1))

    def on_mouse_scroll_up(self) -> None:
        self._change(lambda: self.desk.wheel(-1))

    def on_delivery(self, message: Delivery) -> None:
        self._delivered_at = time.monotonic()
        self._change(lambda: self.desk.take(message.frame))

    def _deliver(self, frame: Frame) -> None:
        """In the feed's thread."""
        with suppress(RuntimeError):  # the loop has ended
            self.post_message(Delivery(frame))

    def _check(self) -> None:
        """A question that hangs and a terminal that is gone say nothing by themselves."""
        if not self.is_headless and has_hung_up():
            self._leave(_KILLED_BY + signal.SIGHUP)
        allowed = self.desk.settings.interval + _PATIENCE_SECONDS
        if time.monotonic() > self._delivered_at + allowed:
            self._change(lambda: self.desk.miss(allowed))

    def _change(self, change: Callable[[], None]) -> None:
        """Changes the desk, does what it asks for, and paints. A fault ends the app: it is reported on a terminal that
        was given back."""
        try:
            change()
            self._settle()
        except Exception as error:  # noqa: BLE001 whatever it is
            self.crash = error
            self._leave(1)

    def _settle(self) -> None:
        desk = self.desk
        if desk.is_over:
            self._leave(0)
            return
        self._feed.tune(desk.wanted(), interval_seconds=desk.settings.interval, is_paused=desk.is_paused)
        while desk.errands:
            errand = desk.errands.pop(0)
            if errand == "now":
                self._feed.ask_now()
            elif errand == "reset_peaks":
                self._feed.reset_peaks()
            else:
                self._lend_terminal(stop_until_foreground)
        styles = theme(is_light=desk.settings.theme == "light", has_colour=self._has_colour)
        self.canvas.show(desk.picture(), styles, desk.look.width)

    def _heed(self, number: int, do: Callable[[], None]) -> None:
        """Between two steps of the loop."""
        with suppress(RuntimeError, ValueError):  # not in the main thread: signals go to whatever runs us there
            asyncio.get_running_loop().add_signal_handler(number, do)

    def _leave(self, code: int) -> None:
        self._is_leaving = True
        self.exit(return_code=code)

    def _lend_terminal(self, wait: Callable[[], None]) -> None:
        """To the shell, as long as the call takes. Not when we leave: textual would never give it back."""
        if self._is_leaving:
            return
        with suppress(SuspendNotSupported), self.suspend():
            asyncio.get_running_loop().remove_signal_handler(signal.SIGCONT)  # it ends the wait, and says nothing new
            wait()
            self._heed_continue()
        self.canvas.refresh()

    def _heed_continue(self) -> None:
        self._heed(signal.SIGCONT, partial(self._lend_terminal, wait_for_foreground))
