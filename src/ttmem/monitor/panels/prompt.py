"""A line to type into, at the foot of the screen."""

from collections.abc import Callable

from ttmem.monitor.panels.panel import Place
from ttmem.monitor.parts.drawing import DrawArea
from ttmem.view.table import Line, Role, Span, fitted, width_of

__all__ = ["Prompt"]


class Prompt:
    """What is typed takes effect at once; Enter leaves it so, Esc restores what was there before."""

    place: Place = "line"

    def __init__(
        self,
        title: str,
        changed: Callable[[str], None],
        *,
        text: str = "",
        hint: str = "",
        problem: Callable[[str], str] = lambda text: "",
    ) -> None:
        self.title = title
        self._changed = changed
        self._before = text
        self._text = text
        self._hint = hint
        self._problem = problem
        self._at = len(text)  # the cursor is before this character

    def draw(self, area: DrawArea) -> list[Line]:
        title = f" {self.title}: "
        room = max(1, area.width - width_of(title) - 1)
        first = max(0, self._at - room + 1)  # so that the cursor is to be seen
        text = self._text[first:]
        at = self._at - first
        line = [Span(title, Role.KEY), Span(text[:at]), Span(text[at : at + 1] or " ", Role.SELECTED)]
        line.append(Span(text[at + 1 : room]))
        said = Span(f"  {self._problem(self._text)}", Role.HIGH) if self._text else Span(f" {self._hint}", Role.DIM)
        left = area.width - sum(span.width for span in line)
        return [(*line, *fitted((said,), max(0, left)))]

    def press(self, key: str, area: DrawArea) -> bool:
        if key in ("escape", "f10"):
            self._set(self._before)
            return False
        if key in ("enter", "f3", "f4"):
            return False
        edited = self._edited(" " if key == "space" else key)
        self._at = max(0, min(self._at, len(edited)))
        self._set(edited)
        return True

    def _set(self, text: str) -> None:
        if text != self._text:
            self._text = text
            self._changed(text)

    def _edited(self, key: str) -> str:
        """The text after a key; the cursor goes along."""
        before, after = self._text[: self._at], self._text[self._at :]
        if len(key) == 1 and key.isprintable():
            self._at += 1
            return before + key + after
        if key == "backspace":
            self._at -= 1
            return before[:-1] + after
        if key == "ctrl+u":
            self._at = 0
            return after
        if key == "ctrl+w":
            rest = before.rstrip().rpartition(" ")
            self._at = len(rest[0] + rest[1])
            return rest[0] + rest[1] + after
        moves = {"left": -1, "right": 1, "home": -len(self._text), "end": len(self._text)}
        self._at += moves.get(key, 0)
        return before + after[1:] if key == "delete" else self._text
