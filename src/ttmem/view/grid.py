"""Columns: cells of spans laid out under their titles, with the room that is left given to the cells that stretch."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ttmem.view.spans import Line, Role, Span

# A cell is spans, or a function from the width it gets to its spans.
Cell = Line | Callable[[int], Line]


class Column(NamedTuple):
    """A title, and how its cells lie. A column that stretches takes what is left, within bounds."""

    title: str
    is_right: bool = False
    least: int = 0
    most: int | None = None  # not None: the column stretches


def cell(text: str, role: Role = Role.PLAIN) -> Line:
    return (Span(text, role),)


def grid(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, width: int | None, gap: int = 2) -> list[Line]:
    """The lines of a table: titles, then rows, one blank before each. `width` None: as wide as it likes."""
    widths = _widths(columns, rows, width, gap)
    titles = [cell(column.title, Role.HEAD) for column in columns]
    return [_line(columns, row, widths, gap) for row in (titles, *rows)]


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int | None, gap: int) -> list[int]:
    widths = []
    for at, column in enumerate(columns):
        fixed = (_fixed_width(row[at]) for row in rows)
        widths.append(max([column.least, len(column.title), *fixed]))
    stretching = [at for at, column in enumerate(columns) if column.most is not None]
    taken = 1 + sum(widths) + gap * (len(columns) - 1)
    for at in stretching:
        most = columns[at].most or 0
        room = most if width is None else widths[at] + max(0, width - taken)
        stretched = max(widths[at], min(most, room))
        taken += stretched - widths[at]
        widths[at] = stretched
    return widths


def _line(columns: Sequence[Column], row: Sequence[Cell], widths: Sequence[int], gap: int) -> Line:
    spans: list[Span] = []
    for column, given, width in zip(columns, row, widths, strict=True):
        inside = given(width) if callable(given) else given
        spans.append(Span(" " * gap if spans else " "))
        padding = Span(" " * (width - sum(span.width for span in inside)))
        spans += [padding, *inside] if column.is_right else [*inside, padding]
    while spans and not spans[-1].text.strip():
        spans.pop()
    return tuple(span for span in spans if span.text)


def _fixed_width(given: Cell) -> int:
    """What a cell needs; one that takes any width needs nothing."""
    return 0 if callable(given) else sum(span.width for span in given)
