"""A list of which one is chosen: a column to sort by, a user, a signal."""

from collections.abc import Callable, Sequence

from ttmem.monitor.panels.keys import action_of
from ttmem.monitor.panels.panel import Place, boxed
from ttmem.monitor.parts.drawing import DrawArea
from ttmem.view.table import Line, Role, Span, fitted

__all__ = ["Menu", "SortLetter"]


class Menu:
    """Values and their words; Enter takes the one under the cursor, a letter goes to what begins with it."""

    place: Place = "box"

    def __init__(
        self, title: str, choices: Sequence[tuple[str, str]], then: Callable[[str], None], *, chosen: str = ""
    ) -> None:
        self.title = title
        self._choices = choices
        self._then = then
        self._at = next((at for at, (value, _) in enumerate(choices) if value == chosen), 0)

    def draw(self, area: DrawArea) -> list[Line]:
        room = max(1, area.height - 3)
        top = max(0, min(self._at - room // 2, len(self._choices) - room))
        width = max([24, *(len(text) for _, text in self._choices)])
        lines: list[Line] = [
            (Span(f" {text:{width}} ", Role.SELECTED if at == self._at else Role.PLAIN),)
            for at, (_, text) in enumerate(self._choices)
        ]
        foot = (Span(" Enter", Role.KEY), Span(" takes it  "), Span("Esc", Role.KEY), Span(" leaves"))
        return boxed(self.title, [*lines[top : top + room], foot], area)

    def press(self, key: str, area: DrawArea) -> bool:
        steps = {"up": -1, "down": 1, "pageup": -10, "pagedown": 10, "home": -len(self._choices), "end": 1 << 30}
        if key in steps:
            self._at = max(0, min(len(self._choices) - 1, self._at + steps[key]))
            return True
        if key == "enter":
            self._then(self._choices[self._at][0])
            return False
        if len(key) == 1:
            self._seek(key)
            return True
        return action_of(key) not in ("close", "quit")

    def _seek(self, letter: str) -> None:
        """To the next one that begins so."""
        count = len(self._choices)
        for step in range(1, count + 1):
            at = (self._at + step) % count
            if self._choices[at][1].lstrip().lower().startswith(letter.lower()):
                self._at = at
                return


class SortLetter:
    """Waits for the letter that names a column; where several begin with it, the one after the present."""

    place: Place = "line"
    title = "Sort by"

    def __init__(self, columns: Sequence[str], then: Callable[[str], None], *, chosen: str) -> None:
        self._columns = columns
        self._then = then
        self._chosen = chosen

    def draw(self, area: DrawArea) -> list[Line]:
        spans = [Span(" Sort by: ", Role.TITLE)]
        for column in self._columns:
            spans += [Span(column[0], Role.KEY), Span(column[1:] + "  ", Role.PLAIN)]
        return [fitted(tuple(spans), area.width)]

    def press(self, key: str, area: DrawArea) -> bool:
        fitting = [column for column in self._columns if column[0] == key.lower()]
        if fitting:
            at = fitting.index(self._chosen) + 1 if self._chosen in fitting else 0
            self._then(fitting[at % len(fitting)])
        return False
