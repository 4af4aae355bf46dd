"""A page to read and scroll: keys, an environment, alerts."""

from collections.abc import Callable, Sequence

from ttmem.monitor.keys import action_of
from ttmem.monitor.panels.panel import Place
from ttmem.monitor.screens.frame import Look
from ttmem.view.spans import Line, Role, Span, fitted

__all__ = ["Page"]

_LEAVING = ("quit", "close", "open", "help")


class Page:
    """Lines under a title; they are made anew for each picture, so that they stay true."""

    place: Place = "page"

    def __init__(self, title: str, lines: Callable[[Look], Sequence[Line]]) -> None:
        self.title = title
        self._lines = lines
        self._top = 0

    def draw(self, look: Look) -> list[Line]:
        lines = self._lines(look)
        room = max(1, look.height - 1)
        self._top = max(0, min(self._top, len(lines) - room))
        shown = lines[self._top : self._top + room]
        hidden = len(lines) - len(shown)
        where = f"  {self._top + 1}-{self._top + len(shown)} of {len(lines)}" if hidden else ""
        heading = (Span(f" {self.title}", Role.TITLE), Span(f"{where}  ", Role.DIM), *_LEAVE)
        return [fitted(line, look.width) for line in (heading, *shown)]

    def press(self, key: str, look: Look) -> bool:
        action = action_of(key)
        page = max(1, look.height - 2)
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "home": -self._top, "end": 1 << 30}
        self._top = max(0, self._top + steps.get(action, 0))
        return action not in _LEAVING


_LEAVE = (Span("Esc", Role.KEY), Span(" back", Role.DIM))
