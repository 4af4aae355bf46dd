"""The list as lines: the columns that fit, their titles, and one line per entry that is to be seen."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.monitor.screens.listing.columns import COLUMNS, SIZES, Column, Sizes, chips_text
from ttmem.monitor.screens.listing.entries import Entry
from ttmem.monitor.screens.pen import Pen
from ttmem.view.spans import Line, Role, Span, width_of

__all__ = ["Shown", "Table", "table_for"]

_STRETCHING = ("label", "command")
_DROPPED_FIRST = ("via", "alive", "launches", "kernel", "cb", "age", "user", "peak", "chips", "l1")
_LABEL_LEAST, _LABEL_ROOMY, _LABEL_MOST = 9, 16, 32
_COMMAND_LEAST = 16
_PID_LEAST = 5


class Shown(NamedTuple):
    """An entry on the screen: where it hangs in a tree, and what the user did to it."""

    entry: Entry
    branch: str = ""
    is_selected: bool = False
    is_tagged: bool = False


class Table(NamedTuple):
    """Columns and their widths, for one picture."""

    columns: tuple[tuple[Column, int], ...]
    sort: str
    sizes: Sizes
    width: int

    @property
    def has_sort(self) -> bool:
        """Whether the column that is sorted by is to be seen."""
        return any(column.word == self.sort for column, _ in self.columns)

    def titles(self, *, is_inverted: bool) -> Line:
        """What the columns are, and which one the list is sorted by."""
        pen = Pen().put(" ")
        for column, width in self.columns:
            title, role = column.title, Role.HEAD
            if column.word == self.sort:
                title, role = self._pointed(column, is_inverted), Role.KEY
            if column.is_right:
                pen.right(title, width, role)
            else:
                pen.put(" ").left(title, width, role)
        return pen.done()

    def _pointed(self, column: Column, is_inverted: bool) -> str:
        is_falling = column.is_falling != is_inverted
        arrow = ("v" if is_falling else "^") if self.sizes.is_ascii else ("▼" if is_falling else "▲")
        return column.title + arrow

    def line(self, shown: Shown) -> Line:
        entry = shown.entry
        pen = Pen()
        mark = Role.HIGH if entry.is_doubted and entry.refused is not Role.FULL else entry.refused
        pen.put(
            "*" if shown.is_tagged else " " if mark is None else "!",
            Role.TAGGED if shown.is_tagged else mark or Role.PLAIN,
        )
        for column, width in self.columns:
            text, role = column.cell(entry, self.sizes)
            if column.is_right:
                pen.right(text, width, role)
                continue
            if column.word == "label":
                text = shown.branch + text
            elif column.word == "chips":
                text = chips_text(entry, width)
            pen.name(" " + text, width + 1, role, is_ascii=self.sizes.is_ascii)
        line = pen.to(self.width).done()
        if shown.is_selected:
            return (Span("".join(span.text for span in line), Role.SELECTED),)
        if shown.is_tagged:
            return tuple(Span(span.text, Role.TAGGED) for span in line)
        return line


def table_for(entries: Sequence[Entry], sort: str, width: int, *, is_ascii: bool) -> Table:
    """The columns that fit beside a label one can read, for entries that are to be seen."""
    wanted = [column for column in COLUMNS if width >= column.wide_from]
    has_samples = any(entry.is_sample(*Pool) for entry in entries)  # marked, one column more
    has_unknown_age = any(entry.age_ns is None and entry.pid is not None for entry in entries)  # longer than any age
    for is_tight in (False, True):
        sizes = Sizes(is_tight, is_ascii)
        widths = {column.word: _width(column, entries, sizes, sort) for column in wanted}
        widths |= {word: widths[word] + has_samples for word in SIZES} | {"age": widths["age"] + has_unknown_age}
        label = width - _taken(wanted, widths)
        if label >= (_LABEL_LEAST if is_tight else _LABEL_ROOMY):
            break
    for word in _DROPPED_FIRST:
        if label >= _LABEL_LEAST:
            break
        wanted = [column for column in wanted if column.word != word]
        label = width - _taken(wanted, widths)
    widths["label"] = max(0, label)
    command = label - _LABEL_MOST - 1
    if command >= _COMMAND_LEAST and any(column.word == "command" for column in wanted):
        widths |= {"label": _LABEL_MOST, "command": command}
    else:
        wanted = [column for column in wanted if column.word != "command"]
    return Table(tuple((column, widths[column.word]) for column in wanted), sort, sizes, width)


def _taken(columns: Sequence[Column], widths: Mapping[str, int]) -> int:
    """By the mark, and by everything but the label."""
    return 2 + sum(widths[column.word] + (not column.is_right) for column in columns if column.word not in _STRETCHING)


def _width(column: Column, entries: Sequence[Entry], sizes: Sizes, sort: str) -> int:
    """As wide as it is; columns of short words only as wide as the longest. The one sorted by has an arrow."""
    title = len(column.title) + (1 + column.is_right if column.word == sort else 0)
    most = max(title, column.tight_width if sizes.is_tight else column.width)
    if column.word not in ("pid", "user", "state"):
        return most
    longest = max((width_of(column.cell(entry, sizes)[0]) for entry in entries), default=0)
    if column.word == "pid":
        return max(_PID_LEAST, title, longest + 1)
    return max(title, min(most, longest))
