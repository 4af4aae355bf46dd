"""The one widget of the monitor: paints lines of spans, and of those only what has changed."""

from collections.abc import Sequence

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ttmem.monitor.terminal.themes import Theme
from ttmem.view.spans import Line, Role, Span, width_of

__all__ = ["Canvas"]


class Canvas(Widget):
    """Lines from the top; what is below them is blank."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; }"
    ALLOW_SELECT = False

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._lines: tuple[Line, ...] = ()
        self._strips: dict[int, Strip] = {}
        self._width = 0  # what the toolkit says of it takes it some working out

    def show(self, lines: Sequence[Line], theme: Theme, width: int) -> None:
        """Paints the lines that differ from those shown now; all of them in another theme or width."""
        before, self._lines = self._lines, tuple(lines)
        if theme is not self._theme or width != self._width:
            self._theme, self._width = theme, width
            self._strips.clear()
            self.refresh()
            return
        changed = _differing(before, self._lines)
        for row in changed:
            self._strips.pop(row, None)
        if changed:
            self.refresh(*(Region(0, first, width, count) for first, count in _runs(changed)))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the canvas as they are: it has no border, padding or background that the toolkit had to add."""
        lines = [self.render_line(row) for row in crop.line_range]
        if crop.x == 0 and crop.width == self._width:
            return lines
        return [line.crop(crop.x, crop.right) for line in lines]

    def render_line(self, y: int) -> Strip:
        strip = self._strips.get(y)
        if strip is None:
            strip = self._strips[y] = self._strip(self._lines[y] if y < len(self._lines) else (), self._width)
        return strip

    def _strip(self, line: Line, width: int) -> Strip:
        theme = self._theme
        columns = sum(width_of(text) for text, _ in line)
        padded = (*line, Span(" " * (width - columns))) if columns < width else line
        strip = Strip([Segment(text, theme[role]) for text, role in _joined(padded)], max(columns, width))
        return strip.crop(0, width) if columns > width else strip


def _joined(line: Line) -> list[tuple[str, Role]]:
    """As few pieces as look the same: a blank has the looks of whatever stands before it, but for the cursor's row."""
    pieces: list[tuple[str, Role]] = []
    for text, role in line:
        if pieces:
            before, looks = pieces[-1]
            is_blank = text.isspace() and Role.SELECTED not in (role, looks)
            if is_blank or role is looks:
                pieces[-1] = (before + text, looks)
                continue
        pieces.append((text, role))
    return pieces


def _differing(before: tuple[Line, ...], after: tuple[Line, ...]) -> list[int]:
    """Rows in which two pictures differ."""
    rows = [row for row, (old, new) in enumerate(zip(before, after, strict=False)) if old is not new and old != new]
    fewer, more = sorted((len(before), len(after)))
    return [*rows, *range(fewer, more)]


def _runs(rows: list[int]) -> list[tuple[int, int]]:
    """First row and count of each run of neighbours."""
    runs: list[tuple[int, int]] = []
    for row in rows:
        if runs and row == sum(runs[-1]):
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((row, 1))
    return runs
