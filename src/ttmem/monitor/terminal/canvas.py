"""The one widget of the monitor: paints lines of spans, and of those only what has changed.

The toolkit paints the whole of it, when the terminal has another size or colours, by the Line API. Rows that changed
since are handed to the terminal as they are: to lay widgets over each other, of which there is one, and to wait for
the next tick of a timer takes longer than the rows.
"""

from collections.abc import Iterable, Iterator, Sequence

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ttmem.monitor.terminal.themes import Codes, Theme, codes
from ttmem.view.spans import Line, Role, width_of

__all__ = ["Canvas"]

Piece = tuple[str, Role]


class Canvas(Widget):
    """Lines from the top; what is below them is blank."""

    DEFAULT_CSS = "Canvas { width: 100%; height: 100%; }"
    ALLOW_SELECT = False

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._lines: tuple[Line, ...] = ()
        self._codes: Codes = {}  # of the theme, once they are needed
        self._width = 0  # what the toolkit says of it takes it some working out
        self._is_painted = False  # in this theme and width, by the toolkit

    def show(self, lines: Sequence[Line], theme: Theme, width: int) -> str:
        """What has to be written to the terminal: the rows that differ from those shown now. Nothing, if the toolkit
        is asked to paint all of them, as for another theme or width."""
        before, self._lines = self._lines, tuple(lines)
        if theme is not self._theme or width != self._width:
            self._theme, self._width, self._codes = theme, width, {}
            self._is_painted = False
        changed = _differing(before, self._lines) if self._is_painted else []
        if not self._is_painted:
            self.refresh()
        return "".join(map(self._written, changed))

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the canvas as they are: it has no border, padding or background that the toolkit had to add."""
        lines = [self.render_line(row) for row in crop.line_range]
        if crop.x == 0 and crop.width == self._width:
            self._is_painted = True
            return lines
        return [line.crop(crop.x, crop.right) for line in lines]

    def render_line(self, y: int) -> Strip:
        theme = self._theme
        return Strip([Segment(text, theme[role]) for text, role in self._pieces(y)], self._width)

    def _pieces(self, row: int) -> list[Piece]:
        return _fitting(self._lines[row] if row < len(self._lines) else (), self._width)

    def _written(self, row: int) -> str:
        """A row as the terminal takes it."""
        code = self._codes = self._codes or codes(self._theme, self.app.console)
        pieces = "".join([code[role] + text for text, role in self._pieces(row)])
        return f"\x1b[{row + 1};1H{pieces}"


def _fitting(line: Line, width: int) -> list[Piece]:
    """Exactly so many columns."""
    pieces = _joined(line)
    columns = sum([width_of(text) for text, _ in pieces])
    if columns < width:
        return _joined((*pieces, (" " * (width - columns), Role.PLAIN)))
    return pieces if columns == width else _cut(pieces, width)


def _cut(pieces: Iterable[Piece], width: int) -> list[Piece]:
    """Up to a column; of a wide character that stands across it a blank is left."""
    kept: list[Piece] = []
    left = width
    for text, role in pieces:
        shown = text if width_of(text) <= left else "".join(_leading(text, left))
        kept.append((shown, role))
        left -= width_of(shown)
    return kept


def _leading(text: str, width: int) -> Iterator[str]:
    for character in text:
        width -= width_of(character)
        if width < 0:
            yield " " * (width + width_of(character))
            return
        yield character


def _joined(line: Iterable[Piece]) -> list[Piece]:
    """As few pieces as look the same: a blank has the looks of whatever stands before it, but for the cursor's row."""
    pieces: list[Piece] = []
    before, looks = "", None
    for text, role in line:
        if looks is not None and (
            role is looks or (text.isspace() and role is not Role.SELECTED and looks is not Role.SELECTED)
        ):
            before += text
            continue
        if looks is not None:
            pieces.append((before, looks))
        before, looks = text, role
    if looks is not None:
        pieces.append((before, looks))
    return pieces


def _differing(before: tuple[Line, ...], after: tuple[Line, ...]) -> list[int]:
    """Rows in which two pictures differ."""
    rows = [row for row, (old, new) in enumerate(zip(before, after, strict=False)) if old is not new and old != new]
    fewer, more = sorted((len(before), len(after)))
    return [*rows, *range(fewer, more)]
