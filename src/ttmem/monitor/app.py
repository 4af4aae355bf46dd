"""The monitor as a textual app: keys and the mouse go to the state, frames of the feed become the picture. Only public
names of textual are used, so that any release which keeps its documented interface will do.

Its one widget is a canvas of lines by textual's Line API; only rows that changed are painted again. It draws on
standard output, where textual would take standard error, and a terminal that has gone away is no error.

A signal ends it in order. While the process is stopped (Ctrl-Z) the terminal is the shell's; it is taken again once the
process is in the foreground, since in the background it must not touch it. SIGCONT without a stop of our own means that
a shell had the terminal, too.
"""

import asyncio
import io
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Literal

from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import App, ComposeResult, SuspendNotSupported
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from ttmem.monitor.feed import Feed, FigureQueries
from ttmem.monitor.parts.drawing import MonitorFrame
from ttmem.monitor.state import MonitorState
from ttmem.view.screen import BACKGROUNDS, PALETTE, SURFACES, Depth
from ttmem.view.table import Line, Role

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = [
    "DEMO_WANTED",
    "Canvas",
    "Monitor",
    "TerminalDriver",
    "Theme",
    "drawn_on_stdout",
    "has_hung_up",
    "stop_until_foreground",
    "theme",
    "wait_for_foreground",
]

Theme = dict[Role, Style]

_SYSTEMS: dict[Depth, Literal["standard", "256", "truecolor"]] = {
    Depth.NONE: "standard",
    Depth.SIXTEEN: "standard",
    Depth.INDEXED: "256",
    Depth.TRUE: "truecolor",
}
DEMO_WANTED = -1  # instead of an exit code: who started the monitor shows the demo
_INPUT, _OUTPUT = 0, 1
_KILLED_BY = 128
_CHECK_SECONDS = 1.0
_PATIENCE_SECONDS = 3.0  # beyond the interval: after that the figures count as lost
_PASTED_MOST = 200


def theme(*, is_light: bool, has_colour: bool) -> Theme:
    """The style of each role."""
    return {role: _style(role, is_light=is_light) if has_colour else _colourless(role) for role in Role}


def _style(role: Role, *, is_light: bool) -> Style:
    colour = PALETTE[role]
    background = SURFACES.get(role, BACKGROUNDS[False])
    return Style(
        color=colour.light if is_light else colour.rgb,
        bgcolor=background.light if is_light else background.rgb,
        bold=colour.is_bold or None,
    )


def _colourless(role: Role) -> Style:
    return Style(
        bold=PALETTE[role].is_bold or None,
        reverse=(role in (Role.SELECTED, Role.TAB_OPEN, Role.BADGE)) or None,
        dim=(role in (Role.DIM, Role.LOST, Role.BAR_REST, Role.FRAME)) or None,
    )


class Canvas(Widget):
    """Lines from the top; what is below them is blank."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; }"
    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[Line, ...] = ()
        # One for each line, in this theme and width. A cache for the row "monitor" of DESIGN 12: <= 1.5 % of a core.
        self._strips: tuple[Strip, ...] = ()
        self._theme: Theme = {}
        self._width = 0

    def show(self, lines: Sequence[Line], theme: Theme, width: int) -> None:
        """Takes a picture, and asks textual to paint the rows that differ from those shown now."""
        if theme is not self._theme or width != self._width:
            self._theme, self._width, self._lines = theme, width, ()
            self.refresh()
        before, strips, changed = self._lines, list(self._strips[: len(lines)]), []
        for row, line in enumerate(lines):
            if row >= len(before):
                strips[row:] = [strip_of(line, theme, width)]
                changed.append(row)
            elif line is not before[row] and line != before[row]:
                strips[row] = strip_of(line, theme, width)
                changed.append(row)
        changed += range(len(lines), len(before))
        self._lines, self._strips = tuple(lines), tuple(strips)
        if changed:
            self.refresh(*[Region(0, row, width, 1) for row in changed])

    def render_line(self, y: int) -> Strip:
        return self._strips[y] if y < len(self._strips) else strip_of((), self._theme, self._width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are: textual would give them a background, which terminals without colours must not get."""
        return [self.render_line(row).crop(crop.x, crop.right) for row in crop.line_range]


def strip_of(line: Line, theme: Theme, width: int) -> Strip:
    """A row of exactly this width."""
    segments = [Segment(text, theme[role]) for text, role in joined(line)]
    return Strip(segments).adjust_cell_length(width, theme[Role.PLAIN])


def joined(line: Iterable[tuple[str, Role]]) -> list[tuple[str, Role]]:
    """As few pieces as possible: a blank takes the role of the piece before it, if both stand on the page itself."""
    pieces: list[tuple[str, Role]] = []
    for text, role in line:
        before, shown = pieces[-1] if pieces else ("", None)
        is_blank = text.isspace() and role not in SURFACES and shown not in SURFACES
        if shown is not None and (role is shown or is_blank):
            pieces[-1] = (before + text, shown)
        elif text:
            pieces.append((text, role))
    return pieces


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
    """Stops again as long as the terminal is not ours to use (`bg`); one that is gone is not waited for."""
    with suppress(OSError):
        while os.tcgetpgrp(_INPUT) != os.getpgrp():
            os.kill(os.getpid(), signal.SIGSTOP)


def _console(depth: Depth) -> Console:
    """What textual writes colours with; nothing is printed on it."""
    return Console(
        color_system=_SYSTEMS[depth],
        no_color=False,
        file=io.StringIO(),
        force_terminal=True,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        safe_box=False,
    )


class Delivery(Message):
    """New figures, posted by the feed's thread."""

    def __init__(self, frame: MonitorFrame) -> None:
        super().__init__()
        self.frame = frame


class Monitor(App[None], inherit_bindings=False):
    """One canvas. `crash` is what broke, once the app has ended."""

    ENABLE_COMMAND_PALETTE = False
    AUTO_FOCUS = None
    ALLOW_SELECT = False

    def __init__(
        self,
        state: MonitorState,
        opened: Callable[[], AbstractContextManager[FigureQueries]],
        *,
        depth: Depth = Depth.TRUE,
        first: MonitorFrame | None = None,
        seconds: float | None = None,
    ) -> None:
        super().__init__(driver_class=TerminalDriver, ansi_color=True)
        self.console = _console(depth)
        self.animation_level = "none"
        self.monitor_state = state
        self.canvas = Canvas()
        self.crash: Exception | None = None
        has_colour = depth is not Depth.NONE
        self._themes = {is_light: theme(is_light=is_light, has_colour=has_colour) for is_light in (False, True)}
        self._shown_seconds = seconds
        self._feed = Feed(opened, self._deliver, interval_seconds=state.interval, wanted=state.wanted(), first=first)
        self._delivered_at = time.monotonic()
        self._is_leaving = False
        if first is not None:
            state.take(first)

    def compose(self) -> ComposeResult:
        yield self.canvas

    def on_load(self) -> None:
        """Before textual takes the terminal: from here on a signal ends it in order."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self._handle(number, partial(self._leave, 0 if number == signal.SIGINT else _KILLED_BY + number))

    def on_mount(self) -> None:
        """Textual's driver has set its own handlers of these two, which take the terminal also from the background."""
        self._handle(signal.SIGTSTP, partial(self._lend_terminal, stop_until_foreground))
        self._handle_continue()
        self._feed.start()
        self.set_interval(_CHECK_SECONDS, self._check)
        if self._shown_seconds is not None:
            self.set_timer(self._shown_seconds, self.exit)

    def on_unmount(self) -> None:
        with suppress(RuntimeError):  # textual failed before it was started
            self._feed.stop()

    def on_resize(self, event: events.Resize) -> None:
        self._change(lambda: self.monitor_state.resize(event.size.width, event.size.height))
        self.canvas.refresh()  # all of it: after `fg` the size is the same, and the terminal is empty

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        character = event.character
        is_text = character is not None and character.isprintable() and character != " "
        self._change(lambda: self.monitor_state.press(character if is_text and character else event.key))

    def on_paste(self, event: events.Paste) -> None:
        """Text that was pasted is typed, if there is a line to type into."""
        if self.monitor_state.is_typing:
            for character in event.text[:_PASTED_MOST]:
                name = "space" if character == " " else character if character.isprintable() else ""
                self._change(partial(self.monitor_state.press, name))

    def on_click(self, event: events.Click) -> None:
        self._change(lambda: self.monitor_state.click(event.screen_x, event.screen_y, count=event.chain))

    def on_mouse_scroll_down(self) -> None:
        self._change(lambda: self.monitor_state.wheel(1))

    def on_mouse_scroll_up(self) -> None:
        self._change(lambda: self.monitor_state.wheel(-1))

    def on_delivery(self, message: Delivery) -> None:
        self._delivered_at = time.monotonic()
        self._change(lambda: self.monitor_state.take(message.frame))

    def _deliver(self, frame: MonitorFrame) -> None:
        """In the feed's thread."""
        with suppress(RuntimeError):  # the loop has ended
            self.post_message(Delivery(frame))

    def _check(self) -> None:
        """A query that hangs and a terminal that is gone raise no event."""
        if not self.is_headless and has_hung_up():
            self._leave(_KILLED_BY + signal.SIGHUP)
        allowed = self.monitor_state.interval + _PATIENCE_SECONDS
        if time.monotonic() > self._delivered_at + allowed:
            self._change(lambda: self.monitor_state.miss(allowed))

    def _change(self, change: Callable[[], None]) -> None:
        """Changes the state, does what it asks for, and paints. An error ends the app: it is reported on a terminal
        that was given back."""
        try:
            change()
            self._settle()
        except Exception as error:  # noqa: BLE001 any error
            self.crash = error
            self._leave(1)

    def _settle(self) -> None:
        state = self.monitor_state
        if state.is_over:
            self._leave(DEMO_WANTED if state.has_asked_for_demo else 0)
            return
        self._feed.tune(state.wanted(), interval_seconds=state.interval, is_paused=state.is_paused)
        while state.requests:
            request = state.requests.pop(0)
            if request == "now":
                self._feed.query_now()
            elif request == "reset_peaks":
                self._feed.reset_peaks()
            elif request.startswith("copy:"):
                self.copy_to_clipboard(request.removeprefix("copy:"))
            else:
                self._lend_terminal(stop_until_foreground)
        self.canvas.show(state.picture(), self._themes[state.settings.theme == "light"], state.area.width)

    def _handle(self, number: int, do: Callable[[], None]) -> None:
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
            self._handle_continue()
        self.canvas.refresh()

    def _handle_continue(self) -> None:
        self._handle(signal.SIGCONT, partial(self._lend_terminal, wait_for_foreground))
