"""A question with two answers, of which the harmless one is meant unless said otherwise."""

from collections.abc import Callable, Sequence

from ttmem.monitor.panels.panel import Place, boxed
from ttmem.monitor.screens.frame import Look
from ttmem.view.spans import Line, Role, Span

__all__ = ["Question"]


class Question:
    """y says yes, n or Esc says no; arrows move between the two, Enter takes the marked one."""

    place: Place = "box"

    def __init__(
        self, title: str, lines: Sequence[Line], then: Callable[[], None], otherwise: Callable[[], None]
    ) -> None:
        self.title = title
        self._lines = lines
        self._then = then
        self._otherwise = otherwise
        self._is_yes = False

    def draw(self, look: Look) -> list[Line]:
        answers = (
            Span(" no (n) ", Role.PLAIN if self._is_yes else Role.SELECTED),
            Span("   "),
            Span(" yes (y) ", Role.SELECTED if self._is_yes else Role.PLAIN),
        )
        room = max(0, look.height - 4)
        shown = list(self._lines[:room])
        if len(self._lines) > room > 0:
            shown[-1] = (Span(f"... and {len(self._lines) - room + 1} more", Role.DIM),)
        return boxed(self.title, [*shown, (), answers], look)

    def press(self, key: str, look: Look) -> bool:
        if key in ("left", "right", "tab", "shift+tab", "up", "down"):
            self._is_yes = not self._is_yes
            return True
        if key in ("y", "Y") or (key == "enter" and self._is_yes):
            self._then()
            return False
        if key in ("n", "N", "q", "escape", "enter", "f10"):
            self._otherwise()
            return False
        return True
