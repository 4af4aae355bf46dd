"""The one table engine: cells of spans under their titles, in as much width as there is.

    columns = [Column("PID", is_right=True), Column("LABEL", least=8, most=40), Column("AGE", is_right=True, rank=1)]
    lines = table(columns, rows, width=80)          # titles, then a line for each row

A row has a cell for every column, also for those that may be left out. A cell is a line of spans; a function from the
width it gets to such a line (bars, names that are cut); or `Forms`, a long and a short form. Where there is too little
width, in this order:

1. columns whose `wide_from` is above the width are left out;
2. gaps shrink to one blank;
3. cells and titles take their short forms (`Forms`, `short_title`);
4. columns with a `rank` are left out, the highest first; those of rank 0 stay;
5. columns that stretch (`most`) give way, then the widest of words; a number is never cut.

What is left goes to columns that stretch. Lists that scroll ask for a `Layout` of all rows once, so that widths stay
the same whatever is to be seen, and then for the lines of the rows on screen:

    layout = laid_out(columns, all_rows, width=80)
    lines = [layout.titles(roles={2: Role.KEY}), *(layout.line(row) for row in all_rows[first:last])]

`layout.shown` has the numbers of the columns that are there, `layout.is_short` whether forms are short.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ttmem.view.spans import Line, Role, Span, fitted

__all__ = ["Cell", "Column", "Forms", "Layout", "cell", "fitting_count", "laid_out", "table"]

_WORD_LEAST = 8  # what is left of a name that gives way
_NO_ROLES: Mapping[int, Role] = MappingProxyType({})


class Forms(NamedTuple):
    """A cell that is written at length, or short where room is scarce."""

    long: Line
    short: Line


Cell = Line | Forms | Callable[[int], Line]


class Column(NamedTuple):
    """A title, and how its cells lie. A column that stretches takes what is left, within bounds."""

    title: str
    is_right: bool = False
    least: int = 0
    most: int | None = None  # not None: the column stretches
    wide_from: int = 0  # columns of the screen from which on there is room for it
    rank: int = 0  # above 0 it may be left out, the highest first
    short_title: str = ""  # where forms are short; empty: the same


class Layout(NamedTuple):
    """Which columns are shown, and how wide."""

    columns: Sequence[Column]
    shown: tuple[int, ...]
    widths: tuple[int, ...]  # of those that are shown
    gap: int
    is_short: bool

    def titles(self, roles: Mapping[int, Role] = _NO_ROLES) -> Line:
        """The first line; `roles`: those of single columns, by number."""
        return self.line([cell(self._title(one), roles.get(at, Role.HEAD)) for at, one in enumerate(self.columns)])

    def line(self, row: Sequence[Cell]) -> Line:
        """One row: a cell for each column, shown or not."""
        spans: list[Span] = []
        for at, width in zip(self.shown, self.widths, strict=True):
            column, given = self.columns[at], _formed(row[at], self.is_short)
            inside = given(width) if callable(given) else given if column.is_right else fitted(given, width)
            spans.append(Span(" " * self.gap if spans else " "))
            padding = Span(" " * (width - sum(span.width for span in inside)))
            spans += [padding, *inside] if column.is_right else [*inside, padding]
        while spans and not spans[-1].text.strip():
            spans.pop()
        return tuple(span for span in spans if span.text)

    def _title(self, column: Column) -> str:
        return column.short_title or column.title if self.is_short else column.title


def cell(text: str, role: Role = Role.PLAIN) -> Line:
    return (Span(text, role),)


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, width: int | None, gap: int = 2) -> list[Line]:
    """The lines of a table: titles, then rows, one blank before each. `width` None: as wide as it likes."""
    layout = laid_out(columns, rows, width=width, gap=gap)
    return [layout.titles(), *map(layout.line, rows)]


def laid_out(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, width: int | None, gap: int = 2) -> Layout:
    """What fits of the columns, for these rows."""
    shown = [at for at, column in enumerate(columns) if width is None or width >= column.wide_from]
    widths = _least_widths(columns, rows, is_short=False)
    is_short = False
    if width is not None and _total(shown, widths, gap) > width:
        gap = 1
        if _has_short_forms(columns, rows) and _total(shown, widths, gap) > width:
            is_short, widths = True, _least_widths(columns, rows, is_short=True)
        for at in sorted((at for at in shown if columns[at].rank), key=lambda at: -columns[at].rank):
            if _total(shown, widths, gap) > width:
                shown.remove(at)
        _shrink(columns, shown, widths, _total(shown, widths, gap) - width)
    _stretch(columns, shown, widths, width, gap)
    return Layout(columns, tuple(shown), tuple(widths[at] for at in shown), gap, is_short)


def fitting_count(columns: Sequence[Column], first_count: int, width: int | None, gap: int = 2) -> int:
    """How many columns fit beside the first few, by what they need at least; one of them always goes with those."""
    taken = 1 - gap
    for at, column in enumerate(columns):
        taken += max(column.least, len(column.title)) + gap
        if width is not None and taken > width and at > first_count:
            return at - first_count
    return len(columns) - first_count


def _formed(given: Cell, is_short: bool) -> Line | Callable[[int], Line]:
    return given if not isinstance(given, Forms) else given.short if is_short else given.long


def _has_short_forms(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> bool:
    return any(column.short_title for column in columns) or any(isinstance(one, Forms) for row in rows for one in row)


def _least_widths(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *, is_short: bool) -> list[int]:
    return [
        max(
            [
                column.least,
                len(column.short_title or column.title if is_short else column.title),
                *(_fixed_width(_formed(row[at], is_short)) for row in rows),
            ]
        )
        for at, column in enumerate(columns)
    ]


def _total(shown: Sequence[int], widths: Sequence[int], gap: int) -> int:
    return 1 + sum(widths[at] for at in shown) + gap * (len(shown) - 1)


def _shrink(columns: Sequence[Column], shown: Sequence[int], widths: list[int], excess: int) -> None:
    """Takes what is too much from columns that stretch, then from the widest of words."""
    words = [at for at in shown if not columns[at].is_right]
    stretching = [at for at in words if columns[at].most is not None]
    for at in (*stretching, *sorted(words, key=lambda at: -widths[at])):
        given = max(0, min(excess, widths[at] - max(_WORD_LEAST, len(columns[at].title))))
        widths[at] -= given
        excess -= given


def _stretch(columns: Sequence[Column], shown: Sequence[int], widths: list[int], width: int | None, gap: int) -> None:
    """Gives what is left to columns that stretch."""
    for at in shown:
        most = columns[at].most
        if most is not None:
            room = most if width is None else widths[at] + max(0, width - _total(shown, widths, gap))
            widths[at] = max(widths[at], min(most, room))


def _fixed_width(given: Line | Callable[[int], Line]) -> int:
    """What a cell needs; one that takes any width needs nothing."""
    return 0 if callable(given) else sum(span.width for span in given)
