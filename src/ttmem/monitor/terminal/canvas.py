"""The one widget of the monitor: lines of spans by textual's Line API. Only rows that changed are painted again."""

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ttmem.monitor.terminal.themes import Theme
from ttmem.view.spans import Line, Role

__all__ = ["Canvas"]


class Canvas(Widget):
    """Lines from the top; what is below them is blank."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; }"
    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__()
        self._lines: tuple[Line, ...] = ()
        self._strips: tuple[Strip, ...] = ()  # one for each line, in this theme and width:
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
    """As few pieces as look the same: a blank takes the looks of the piece before it, but for the cursor's row."""
    pieces: list[tuple[str, Role]] = []
    for text, role in line:
        before, looks = pieces[-1] if pieces else ("", None)
        is_blank = text.isspace() and Role.SELECTED not in (role, looks)
        if looks is not None and (role is looks or is_blank):
            pieces[-1] = (before + text, looks)
        elif text:
            pieces.append((text, role))
    return pieces
