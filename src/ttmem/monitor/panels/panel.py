"""What every panel is, and how a box is laid over lines."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from ttmem.monitor.parts.drawing import DrawArea
from ttmem.view.table import Line, Role, Span, fitted, width_of

__all__ = ["Panel", "Place", "Question", "boxed", "overlaid"]

# page: all of the body. box: in its middle, as large as it has to be. line: the last line of the screen.
Place = Literal["page", "box", "line"]


class Panel(Protocol):
    """Something that is open over a view."""

    @property
    def place(self) -> Place: ...

    @property
    def title(self) -> str: ...

    def draw(self, area: DrawArea) -> list[Line]:
        """Its lines, within the size."""

    def press(self, key: str, area: DrawArea) -> bool:
        """Takes a key; False when that closes it."""


def boxed(title: str, lines: Sequence[Line], area: DrawArea) -> list[Line]:
    """The lines in a frame, as wide as they need."""
    dash, bar, corners = ("-", "|", "++++") if area.is_ascii else ("─", "│", "┌┐└┘")
    most = max(1, area.width - 4)
    inside = max([width_of(title) + 2, *(_width(line) for line in lines)])
    width = min(most, inside)
    heading = fitted((Span(f" {title} ", Role.TITLE),), width)
    rest = dash * (width + 2 - _width(heading))
    framed: list[Line] = [(Span(corners[0], Role.DIM), *heading, Span(rest + corners[1], Role.DIM))]
    for line in lines:
        shown = fitted(line, width)
        padding = Span(" " * (width - _width(shown)), shown[-1].role if shown and _is_bar(shown) else Role.PLAIN)
        framed.append((Span(f"{bar} ", Role.DIM), *shown, padding, Span(f" {bar}", Role.DIM)))
    framed.append((Span(corners[2] + dash * (width + 2) + corners[3], Role.DIM),))
    return framed


def overlaid(lines: Sequence[Line], box: Sequence[Line], area: DrawArea) -> list[Line]:
    """Lines with a box laid over their middle; what is beside it stays to be seen."""
    box = box[: area.height]
    width = max((_width(line) for line in box), default=0)
    top, left = max(0, (area.height - len(box)) // 3), max(0, (area.width - width) // 2)
    whole = [*lines, *([()] * max(0, area.height - len(lines)))]
    for row, over in enumerate(box, top):
        whole[row] = (*_cut(whole[row], 0, left), *over, *_cut(whole[row], left + width, area.width))
    return whole


def _is_bar(line: Line) -> bool:
    return line[-1].role is Role.SELECTED


def _width(line: Line) -> int:
    return sum(span.width for span in line)


def _cut(line: Line, first: int, last: int) -> Line:
    """The columns from `first` up to `last`, exactly so many if more follow."""
    shown: list[Span] = []
    at = 0
    for span in line:
        text = ""
        for character in span.text:
            end = at + width_of(character)
            if first <= at and end <= last:
                text += character
            elif at < last and end > first:  # one of two columns: half a character cannot be shown
                text += " "
            at = end
        if text:
            shown.append(Span(text, span.role))
    missing = last - first - _width(tuple(shown))
    return (*shown, Span(" " * missing)) if missing > 0 else tuple(shown)


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

    def draw(self, area: DrawArea) -> list[Line]:
        answers = (
            Span(" no (n) ", Role.PLAIN if self._is_yes else Role.SELECTED),
            Span("   "),
            Span(" yes (y) ", Role.SELECTED if self._is_yes else Role.PLAIN),
        )
        room = max(0, area.height - 4)
        shown = list(self._lines[:room])
        if len(self._lines) > room > 0:
            shown[-1] = (Span(f"... and {len(self._lines) - room + 1} more", Role.DIM),)
        return boxed(self.title, [*shown, (), answers], area)

    def press(self, key: str, area: DrawArea) -> bool:
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
