"""Columns: cells of spans laid out under their titles, with the room that is left given to the cells that stretch.

Where there is too little of it, gaps give way first, then cells that stretch, then words; a number is never cut.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ttmem.view.spans import Line, Role, Span, fitted

_WORD_LEAST = 8  # what is left of a name that gives way

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
    widths = _least_widths(columns, rows)
    if width is not None and _total(widths, gap) > width:
        gap = 1
        _shrink(columns, widths, _total(widths, gap) - width)
    _stretch(columns, widths, width, gap)
    titles = [cell(column.title, Role.HEAD) for column in columns]
    return [_line(columns, row, widths, gap) for row in (titles, *rows)]


def _least_widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[int]:
    return [
        max([column.least, len(column.title), *(_fixed_width(row[at]) for row in rows)])
        for at, column in enumerate(columns)
    ]


def _total(widths: Sequence[int], gap: int) -> int:
    return 1 + sum(widths) + gap * (len(widths) - 1)


def _shrink(columns: Sequence[Column], widths: list[int], excess: int) -> None:
    """Takes what is too much from columns that stretch, then from the widest of words."""
    words = [at for at, column in enumerate(columns) if not column.is_right]
    stretching = [at for at in words if columns[at].most is not None]
    for at in (*stretching, *sorted(words, key=lambda at: -widths[at])):
        given = max(0, min(excess, widths[at] - max(_WORD_LEAST, len(columns[at].title))))
        widths[at] -= given
        excess -= given


def _stretch(columns: Sequence[Column], widths: list[int], width: int | None, gap: int) -> None:
    """Gives what is left to columns that stretch."""
    for at, column in enumerate(columns):
        if column.most is not None:
            room = column.most if width is None else widths[at] + max(0, width - _total(widths, gap))
            widths[at] = max(widths[at], min(column.most, room))


def _line(columns: Sequence[Column], row: Sequence[Cell], widths: Sequence[int], gap: int) -> Line:
    spans: list[Span] = []
    for column, given, width in zip(columns, row, widths, strict=True):
        inside = given(width) if callable(given) else given if column.is_right else fitted(given, width)
        spans.append(Span(" " * gap if spans else " "))
        padding = Span(" " * (width - sum(span.width for span in inside)))
        spans += [padding, *inside] if column.is_right else [*inside, padding]
    while spans and not spans[-1].text.strip():
        spans.pop()
    return tuple(span for span in spans if span.text)


def _fixed_width(given: Cell) -> int:
    """What a cell needs; one that takes any width needs nothing."""
    return 0 if callable(given) else sum(span.width for span in given)
