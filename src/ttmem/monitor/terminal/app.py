"""The monitor in its toolkit: one canvas, keys and mouse to the desk, frames from the feed to the picture."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

from textual import events
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from ttmem.monitor.desk.desk import Desk
from ttmem.monitor.feed import Feed, Sights
from ttmem.monitor.screens.frame import Frame
from ttmem.monitor.terminal.canvas import Canvas
from ttmem.monitor.terminal.driver import Terminal
from ttmem.monitor.terminal.stage import STAGE
from ttmem.monitor.terminal.themes import Theme, theme

__all__ = ["Monitor"]

_KILLED_BY = 128
_PATIENCE_SECONDS = 3.0  # beyond the interval: after that the figures count as lost


class _Sheet(Screen[None], inherit_bindings=False):
    """The screen the canvas is on."""

    DEFAULT_CSS = "_Sheet { layout: vertical; background: transparent; overflow: hidden; }"

    def render_lines(self, crop: Region) -> list[Strip]:
        """Nothing: the canvas covers all of it."""
        return [Strip.blank(crop.width)] * crop.height


class Monitor(App[None], inherit_bindings=False):
    """Keys go to the desk, and the desk's picture to the canvas."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    ALLOW_SELECT = False
    CSS = ""

    def __init__(
        self,
        desk: Desk,
        opened: Callable[[], AbstractContextManager[Sights]],
        *,
        has_colour: bool = True,
        first: Frame | None = None,
        seconds: float | None = None,
    ) -> None:
        super().__init__(driver_class=Terminal, ansi_color=True)
        self.desk = desk
        self._has_colour = has_colour
        self._canvas = Canvas(self._theme)
        self._feed = Feed(
            opened, self._delivered, interval_seconds=desk.settings.interval, wanted=desk.wanted(), first=first
        )
        self._seconds = seconds
        self._loop: asyncio.AbstractEventLoop | None = None
        self._overdue: asyncio.TimerHandle | None = None
        if first is not None:
            desk.take(first)

    @property
    def _theme(self) -> Theme:
        return theme(is_light=self.desk.settings.theme == "light", has_colour=self._has_colour)

    def get_default_screen(self) -> Screen[None]:
        return _Sheet()

    def compose(self) -> ComposeResult:
        yield self._canvas

    def on_load(self) -> None:
        """Before the toolkit touches the terminal and starts its threads: from here on a signal ends it in order."""
        self._loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with suppress(RuntimeError, ValueError):  # not in the main thread: whoever runs us there hears signals
                self._loop.add_signal_handler(number, self._signalled, number)

    def on_mount(self) -> None:
        assert self._loop is not None
        if self._seconds is not None:
            self._loop.call_later(self._seconds, self.exit)
        self._feed.start()
        self._watch_out()

    def on_unmount(self) -> None:
        self._feed.stop()

    def on_resize(self, event: events.Resize) -> None:
        self.desk.resize(event.size.width, event.size.height)
        self._paint()
        self._canvas.refresh()  # all of it: after `fg` the size is the same, and nothing is there any more

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        character = event.character
        is_text = character is not None and character.isprintable() and character != " "
        self.desk.press(character if is_text and character else event.key)
        self._settle()

    def on_paste(self, event: events.Paste) -> None:
        """Text that was pasted is typed, if there is a line to type into."""
        if self.desk.is_typing:
            for character in event.text[:200]:
                self.desk.press("space" if character == " " else character if character.isprintable() else "")
            self._settle()

    def on_click(self, event: events.Click) -> None:
        self.desk.click(event.screen_x, event.screen_y, count=event.chain)
        self._settle()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.desk.wheel(1)
        self._settle()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.desk.wheel(-1)
        self._settle()

    def _settle(self) -> None:
        """After every key: does what the desk asks for, and paints."""
        if self.desk.is_over:
            self.exit()
            return
        desk = self.desk
        self._feed.tune(desk.wanted(), interval_seconds=desk.settings.interval, is_paused=desk.is_paused)
        while desk.errands:
            errand = desk.errands.pop(0)
            if errand == "now":
                self._feed.ask_now()
            elif errand == "reset_peaks":
                self._feed.reset_peaks()
            else:
                self.action_suspend_process()
        self._paint()

    def _delivered(self, frame: Frame) -> None:
        """In the feed's thread."""
        with suppress(RuntimeError):  # the loop has ended: nobody looks any more
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._take, frame)

    def _take(self, frame: Frame) -> None:
        self.desk.take(frame)
        self._watch_out()
        self._settle()

    def _watch_out(self) -> None:
        """Notices when nothing comes any more: a question that hangs tells nothing by itself."""
        assert self._loop is not None
        if self._overdue is not None:
            self._overdue.cancel()
        self._overdue = self._loop.call_later(self.desk.settings.interval + _PATIENCE_SECONDS, self._is_late)

    def _is_late(self) -> None:
        self.desk.miss(self.desk.settings.interval + _PATIENCE_SECONDS)
        self._paint()

    def _paint(self) -> None:
        """What changed goes straight to the terminal; the toolkit paints whatever is new to it."""
        changed = self._canvas.show(self.desk.picture(), self._theme, self.desk.look.width)
        if changed and self._driver is not None and STAGE.is_entered:
            self._begin_update()
            self._driver.write(changed)
            self._end_update()

    def _fatal_error(self) -> None:
        """A crash: the terminal is given back first, and one line says it then."""
        self._close_messages_no_wait()

    @property
    def crash(self) -> Exception | None:
        return self._exception

    def _signalled(self, number: int) -> None:
        self.exit(return_code=0 if number == signal.SIGINT else _KILLED_BY + number)
