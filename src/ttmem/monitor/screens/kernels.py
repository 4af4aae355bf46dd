"""Kernels: those of one chip with their programs, and what its kernel ring and its caches have done."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ttmem.devices import BinaryStatus, Kind
from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame, Pen, Wanted, shown_name
from ttmem.monitor.screens.l1_map import beside, chip_word
from ttmem.snapshot import DeviceUsage
from ttmem.snapshot.kernel_table import KernelRow, KernelTable
from ttmem.view.pages.program_tables import cache_table, ring_table
from ttmem.view.table import Line, Role, Span, fitted, width_of
from ttmem.view.texts import UNKNOWN, count_text, device_word, packed_text, reason_text, tight_size_text

__all__ = ["COLUMNS", "INITIAL", "SORTS", "KernelColumn", "KernelsState", "acted", "draw", "pointed", "wanted"]

_TYPES = {
    Kind.KERNEL_APPLICATION: ("application", "app"),
    Kind.KERNEL_FABRIC: ("fabric", "fab"),
    Kind.KERNEL_DISPATCH: ("dispatch", "disp"),
    Kind.KERNEL_UNKNOWN: ("unknown", "?"),
}
_STATUSES = {
    BinaryStatus.NOT_SENT: ("not sent", "unsent"),
    BinaryStatus.IN_FLIGHT: ("in flight", "flight"),
    BinaryStatus.COMMITTED: ("committed", "sent"),
    BinaryStatus.UNKNOWN: (UNKNOWN, UNKNOWN),
}


class KernelColumn(NamedTuple):
    """A column: its name for sorting, its titles, the words of a cell in a long and a short form, and a key to sort by.
    Of those that do not fit, the ones with the highest rank are left out first."""

    name: str
    title: str
    short_title: str
    cell: Callable[[KernelRow], tuple[str, str]]
    key: Callable[[KernelRow], Any]
    rank: int = 0
    is_word: bool = False
    is_descending: bool = True  # the first time

    def words(self, row: KernelRow, is_short: bool) -> str:
        return self.cell(row)[is_short]

    def role(self, row: KernelRow) -> Role:
        return Role.DIM if self.cell(row)[0] == UNKNOWN else Role.PLAIN


def _size_cell(size_bytes: int | None) -> tuple[str, str]:
    text = tight_size_text(size_bytes)
    return text, text


def _count_cell(count: int | None) -> tuple[str, str]:
    text = count_text(count)
    return text, text


def _text_cell(text: str) -> tuple[str, str]:
    return text, text


def _exact(row: KernelRow) -> tuple[str, str]:
    return _size_cell(row.exact_bytes)


def _found_by(row: KernelRow) -> tuple[str, str]:
    word = row.found_by.word
    return word, {"argument": "arg", "unknown": "?"}.get(word, word)


def _known(value: int | None) -> int:
    return -1 if value is None else value


COLUMNS = (
    KernelColumn(
        "program", "PROGRAM", "PROG", lambda row: _count_cell(row.program), lambda row: _known(row.program), rank=1
    ),
    KernelColumn(
        "name",
        "NAME",
        "NAME",
        lambda row: _text_cell(row.name or UNKNOWN),
        lambda row: row.name,
        is_word=True,
        is_descending=False,
    ),
    KernelColumn(
        "type",
        "TYPE",
        "TYPE",
        lambda row: _TYPES[row.kind],
        lambda row: row.kind.word,
        is_word=True,
        is_descending=False,
    ),
    KernelColumn(
        "found", "FOUND BY", "BY", _found_by, lambda row: row.found_by, rank=4, is_word=True, is_descending=False
    ),
    KernelColumn(
        "core",
        "CORE TYPE",
        "ON",
        lambda row: _text_cell(row.core_type.word),
        lambda row: row.core_type,
        rank=9,
        is_word=True,
        is_descending=False,
    ),
    KernelColumn(
        "binary", "BINARY", "BIN", lambda row: _size_cell(row.binary_bytes), lambda row: _known(row.binary_bytes)
    ),
    KernelColumn(
        "packed",
        "PACKED",
        "PACKED",
        lambda row: _text_cell(packed_text(row.packed_bytes) or UNKNOWN),
        lambda row: row.packed_bytes,
        rank=10,
    ),
    KernelColumn(
        "cores", "CORES", "CORES", lambda row: _count_cell(row.core_count), lambda row: _known(row.core_count)
    ),
    KernelColumn("exact", "EXACT", "EXACT", _exact, lambda row: _known(row.charged_bytes)),
    KernelColumn(
        "size",
        "SIZE x CORES",
        "SxC",
        lambda row: _size_cell(row.binary_times_cores_bytes),
        lambda row: _known(row.binary_times_cores_bytes),
        rank=3,
    ),
    KernelColumn(
        "status",
        "BINARIES",
        "STATE",
        lambda row: (UNKNOWN, UNKNOWN) if row.status is None else _STATUSES[row.status],
        lambda row: _known(None if row.status is None else row.status.number),
        rank=2,
        is_word=True,
        is_descending=False,
    ),
    KernelColumn(
        "launches", "LAUNCHES", "RUNS", lambda row: _count_cell(row.launch_count), lambda row: _known(row.launch_count)
    ),
    KernelColumn(
        "hits",
        "CACHE HITS",
        "HITS",
        lambda row: _count_cell(row.cache_hit_count),
        lambda row: _known(row.cache_hit_count),
        rank=5,
    ),
    KernelColumn("pid", "PID", "PID", lambda row: _text_cell(str(row.pid)), lambda row: row.pid, rank=8),
)


SORTS = tuple(column.name for column in COLUMNS)
_OTHER_SORTS = {"memory": "exact", "total": "exact", "label": "name", "time": "launches", "kernel": "exact"}
_MOST = 500  # kernels that are asked for
_NAME_LEAST, _NAME_WISH, _NAME_MOST = 10, 18, 60
# Whether in short words, and how many columns are left out: what is tried, one after the other.
_CHOICES = [
    (False, 0),
    (False, 1),
    (False, 2),
    *((True, count) for count in range(1 + sum(1 for one in COLUMNS if one.rank))),
]
_NAME_AT = SORTS.index("name")
_LEAST_ROWS = 9  # that the list and its heads have


@dataclass(frozen=True, slots=True)
class KernelsState:
    """What the user chose."""

    device: str = ""  # word of a chip; empty: the first
    sort: str = "exact"
    is_inverted: bool = False
    first: int = 0  # row at the top of the list


INITIAL = KernelsState()


def draw(frame: MonitorFrame, area: DrawArea, state: KernelsState) -> Drawing:
    table = frame.kernels
    if table is None:
        text = frame.trouble or "No chip is known here yet: nothing reports, or its kernels are on their way."
        return Drawing((fitted((Span(f" {shown_name(text, area.is_ascii)}", Role.DIM),), area.width),)[: area.height])
    head, below = _title(table, area, state), _counters(table, area)
    room = max(1, area.height - len(head) - 1 - len(below))
    rows = in_order(table.rows, state)
    first = min(state.first, max(0, len(rows) - room))
    lines = [*head, *_table(rows, rows[first : first + room], area, state), *below]
    shown = tuple(fitted(line, area.width) for line in lines)[: max(0, area.height)]
    return Drawing(shown, hidden_count=max(0, len(rows) - room))


def acted(action: str, state: KernelsState, frame: MonitorFrame, area: DrawArea) -> KernelsState:
    word, _, value = action.partition(":")
    match word:
        case "left" | "right":
            device = beside(state.device, frame, -1 if word == "left" else 1)
            return state if device == state.device else replace(state, device=device, first=0)
        case "sort" if (column := _OTHER_SORTS.get(value, value)) in SORTS:
            return replace(state, sort=column, is_inverted=False, first=0) if column != state.sort else state
        case "sort_next" | "sort_previous":
            step = 1 if word == "sort_next" else -1
            column = SORTS[(SORTS.index(state.sort) + step) % len(SORTS)]
            return replace(state, sort=column, is_inverted=False, first=0)
        case "sort_invert":
            return replace(state, is_inverted=not state.is_inverted, first=0)
        case "up" | "down" | "page_up" | "page_down" | "home" | "end":
            return _scrolled(word, state, frame, area)
        case _:
            return state


def pointed(hit: int, state: KernelsState) -> KernelsState:
    return state


def wanted(frame: MonitorFrame, state: KernelsState) -> Wanted:
    return Wanted(kernels=chip_word(state.device, frame), kernel_most=_MOST)


def in_order(rows: Sequence[KernelRow], state: KernelsState) -> list[KernelRow]:
    """As the user chose; of equal ones the larger first."""
    column = COLUMNS[SORTS.index(state.sort)]
    return sorted(rows, key=column.key, reverse=column.is_descending is not state.is_inverted)


def _scrolled(word: str, state: KernelsState, frame: MonitorFrame, area: DrawArea) -> KernelsState:
    hidden = draw(frame, area, state).hidden_count
    page = max(1, area.height // 2)
    steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "home": -hidden, "end": hidden}
    first = max(0, min(hidden, min(state.first, hidden) + steps[word]))
    return state if first == state.first else replace(state, first=first)


def _title(table: KernelTable, area: DrawArea, state: KernelsState) -> list[Line]:
    """How many there are and in which order; why some are missing in a line of its own."""
    count = len(table.rows) + table.more_count
    programs = len({(row.pid, row.program) for row in table.rows})
    word = device_word(table.device)
    pen = Pen().put(" Chip ", Role.DIM).name(word, min(20, width_of(word)), Role.INDEX, is_ascii=area.is_ascii)
    parts = [Span(f"  {_many(count, 'kernel')} of {_many(programs, 'program')}")]
    if table.more_count:
        parts.append(Span(f", the {count_text(len(table.rows))} largest listed", Role.NOTICE))
    if table.launch_count is not None:
        parts.append(Span(f", {_many(table.launch_count, 'launch', 'es')}"))
    parts.append(Span(f", by {state.sort}{' turned round' if state.is_inverted else ''}", Role.DIM))
    for part in parts:
        if pen.at + part.width <= area.width:
            pen.line((part,))
    said = textwrap.wrap(f"incomplete: {reason_text(table.reason)}", max(1, area.width - 1)) if table.reason else []
    return [pen.done(), *((Span(f" {part}", Role.NOTICE),) for part in said)]


def _many(count: int, word: str, ending: str = "s") -> str:
    return f"{count_text(count)} {word}{'' if count == 1 else ending}"


def _table(rows: Sequence[KernelRow], shown: Sequence[KernelRow], area: DrawArea, state: KernelsState) -> list[Line]:
    """Titles and rows. Columns are as wide as what all rows have in them, so that nothing moves while one scrolls."""
    if not rows:
        return [(Span(" No kernels are loaded here.", Role.DIM),)]
    columns, widths, is_short = _laid_out(rows, area.width)
    chosen = COLUMNS[SORTS.index(state.sort)]
    pen = Pen()
    for column in columns:
        title = column.short_title if is_short else column.title
        role = Role.TITLE if column is chosen else Role.HEAD
        (pen.put(" ").left if column.is_word else pen.put(" ").right)(title, widths[column.name], role)
    return [pen.done(), *(_row(row, columns, widths, area, is_short) for row in shown)]


def _laid_out(rows: Sequence[KernelRow], width: int) -> tuple[list[KernelColumn], dict[str, int], bool]:
    """Which columns there is room for, how wide they are, and whether in short words. Names get what is left; before
    they become too short to distinguish kernels, columns give way that matter less."""
    longest = max(len(COLUMNS[_NAME_AT].title), *(len(row.name) for row in rows))
    least = min(_NAME_LEAST, longest)
    ranked = sorted((column for column in COLUMNS if column.rank), key=lambda column: -column.rank)
    found: tuple[list[KernelColumn], dict[str, int], bool] = ([], {}, True)
    for is_short, dropped_count in _CHOICES:
        columns = [column for column in COLUMNS if column not in ranked[:dropped_count]]
        if dropped_count == 0:
            widths = {column.name: _width(column, rows, is_short) for column in COLUMNS} | {"name": least}
        spare = width - _total(columns, widths)
        name = max(least, min(longest, _NAME_MOST, least + spare))
        found = columns, {**widths, "name": name}, is_short
        if least + spare >= min(_NAME_WISH, longest):
            break
    return found


def _width(column: KernelColumn, rows: Sequence[KernelRow], is_short: bool) -> int:
    title = column.short_title if is_short else column.title
    return max(len(title), *(len(column.words(row, is_short)) for row in rows))


def _total(columns: Sequence[KernelColumn], widths: dict[str, int]) -> int:
    return sum(widths[column.name] + 1 for column in columns)


def _row(
    row: KernelRow, columns: Sequence[KernelColumn], widths: dict[str, int], area: DrawArea, is_short: bool
) -> Line:
    pen = Pen()
    for column in columns:
        width = widths[column.name]
        words = column.words(row, is_short)
        if column.name == "name":
            pen.put(" ").name(_tail(words, width), width, column.role(row), is_ascii=area.is_ascii)
        elif column.is_word:
            pen.put(" ").left(words, width, column.role(row))
        else:
            pen.put(" ").right(words, width, column.role(row))
    return pen.done()


def _tail(name: str, width: int) -> str:
    """The end of a path says more than its beginning."""
    return name if len(name) <= width else name.rpartition("/")[2]


def _counters(table: KernelTable, area: DrawArea) -> list[Line]:
    """Ring and caches, as far as half of the screen takes them."""
    usage = DeviceUsage(table.device, (), (), table.launch_count, table.activity)
    tables = [ring_table([(usage,)], width=area.width), cache_table([(usage,)], width=area.width)]
    lines = [line for table_lines in tables if table_lines for line in ((), *table_lines)]
    most = max(area.height // 2, area.height - _LEAST_ROWS)
    return (lines if len(lines) <= most else [line for line in lines if line])[:most]
