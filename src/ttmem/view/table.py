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

`layout.shown` has the numbers of the columns that are there, `layout.is_short` whether forms are short."""

import re
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

__all__ = ["Cell", "Column", "Forms", "Layout", "cell", "fitting_count", "laid_out", "table"]


class Role(Enum):
    """What a piece of text is."""

    PLAIN = "plain"
    TITLE = "title"
    HEAD = "head"  # of a column
    DIM = "dim"  # units of no interest, unknowns
    INDEX = "index"
    NOTICE = "notice"
    GOOD = "good"
    BUSY = "busy"
    HIGH = "high"
    FULL = "full"
    BAR_GOOD = "bar_good"
    BAR_BUSY = "bar_busy"
    BAR_HIGH = "bar_high"
    BAR_FULL = "bar_full"
    BAR_PEAK = "bar_peak"  # above what is used, up to the peak
    BAR_REST = "bar_rest"
    BAR_DRAM = "bar_dram"
    BAR_BUFFER = "bar_buffer"  # what lies in L1 or DRAM, where that is told apart
    BAR_CB = "bar_cb"
    BAR_PLANNED = "bar_planned"  # circular buffers that are laid out and not in use now
    BAR_RING = "bar_ring"
    BAR_RETIRED = "bar_retired"
    BAR_SMALL = "bar_small"
    BAR_TRACE = "bar_trace"
    BAR_RESERVED = "bar_reserved"
    SELECTED = "selected"  # the row the cursor is on
    TAGGED = "tagged"
    KEY = "key"  # one that can be pressed
    COURSE = "course"  # what a figure was over time: launches
    COURSE_DRAM = "course_dram"
    MARK_PEAK = "mark_peak"  # on a bar: the highest value
    MARK_PLANNED = "mark_planned"  # on a bar: with the circular buffers of all loaded programs
    MARK_LIMIT = "mark_limit"  # on a bar: what the user wants to be told of
    FRAME = "frame"
    TAB = "tab"  # of the first and the last line
    TAB_KEY = "tab_key"
    TAB_OPEN = "tab_open"  # the view that is shown
    BADGE = "badge"  # an incident that is news
    LOST = "lost"  # figures that are no longer renewed

    @property
    def is_bar(self) -> bool:
        return self.value.startswith("bar_")


class Span(NamedTuple):
    """A piece of text and what it is."""

    text: str
    role: Role = Role.PLAIN

    @property
    def width(self) -> int:
        return width_of(self.text)


Line = tuple[Span, ...]

# Selectors of variants, keycaps, skin colours, parts of Hangul syllables: terminals do not agree on their width.
_UNSTEADY = "[\u115f-\u11ff\u20e3\u3164\ud7b0-\ud7ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"


def width_of(text: str) -> int:
    """How many columns a terminal gives the text."""
    return len(text) if text.isascii() else _width_of(text)


@lru_cache(maxsize=1 << 14)  # DESIGN 12, "monitor <= 1.5 %": bars and curves are drawn every second, in few shapes
def _width_of(text: str) -> int:
    return sum(map(_columns, text))


@lru_cache(maxsize=1 << 12)  # DESIGN 12, "monitor <= 1.5 %": the same texts are measured every second
def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clean(text: str) -> str:
    """The text with everything replaced that a terminal would obey, or that would change how wide its neighbour is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one.isprintable() and not _is_unsteady(one) else "?" for one in text)


@lru_cache(maxsize=1 << 12)  # DESIGN 12, "monitor <= 1.5 %": the same texts are measured every second
def _is_unsteady(character: str) -> bool:
    return re.match(_UNSTEADY, character) is not None


def clipped(text: str, width: int, *, is_ascii: bool = False) -> str:
    """The text, cut to a width; a cut shows."""
    if width_of(text) <= width:
        return text
    mark = "~" if is_ascii else "…"
    kept = ""
    for character in text:
        if width_of(kept + character) > width - 1:
            break
        kept += character
    return kept + mark if width > 0 else ""


def broken(text: str, width: int | None) -> list[str]:
    """A sentence in lines of a width; None: in one."""
    if text.isprintable() and (width is None or len(text) <= width):
        return [text.rstrip()] if text.strip() else []
    return textwrap.wrap(text, width or sys.maxsize)


def wrapped(texts: Iterable[str], role: Role, mark: str, width: int | None) -> list[Line]:
    """Sentences below a table, each behind a mark, broken where the line ends."""
    lines: list[Line] = []
    for text in texts:
        first = True
        for part in broken(text, max(1, width - len(mark) - 2) if width else None):
            lines.append((Span(f" {mark if first else ' ' * len(mark)}", role), Span(part, Role.DIM)))
            first = False
    return lines


def fitted(line: Line, width: int) -> Line:
    """The line, cut to a width; a cut shows."""
    if sum(span.width for span in line) <= width:
        return line
    mark = "..."[: max(0, width)]
    left = width - len(mark)
    kept: list[Span] = []
    for span in line:
        text = ""
        for character in span.text:
            if width_of(text + character) > left:
                return (*kept, Span(text + mark, span.role))
            text += character
        kept.append(span)
        left -= span.width
    return tuple(kept)


def plain(lines: list[Line]) -> str:
    """The lines as bare text, without blanks at their ends."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)


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
