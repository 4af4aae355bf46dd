"""The table of processes: which columns there are, what they show, and which of them fit."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.monitor.parts.process_entries import HELD_POOLS, ProcessEntry
from ttmem.snapshot.history import ProcessRates
from ttmem.view.table import Cell, Column, Layout, Line, Role, Span, cell, clean, clipped, laid_out
from ttmem.view.texts import (
    UNKNOWN,
    count_text,
    devices_word,
    label_text,
    pid_text,
    plural,
    signed_text,
    size_text,
    tight_count_text,
    whole_age_text,
)

__all__ = [
    "COLUMNS",
    "SORTS",
    "ListedEntry",
    "ProcessColumn",
    "ProcessTable",
    "chips_text",
    "in_order",
    "table_for",
    "tight_age_text",
]

SortKey = int | float | str
Text = tuple[str, Role]


class ProcessColumn(NamedTuple):
    """One column: what it shows, and by what it is sorted."""

    word: str
    title: str
    key: Callable[[ProcessEntry], SortKey]
    text: Callable[[ProcessEntry], Text]
    is_right: bool = True
    is_falling: bool = False  # the largest first, unless inverted
    rank: int = 0  # where room is scarce the highest is left out first; 0 stays
    wide_from: int = 0  # columns of the screen from which on there is room for it
    is_expert: bool = False  # only where all columns are wanted
    least: int = 0
    short: str = ""  # its title where room is scarce


def _size_column(
    word: str,
    title: str,
    value: Callable[[ProcessEntry], int | None],
    *pools: Pool,
    rank: int = 0,
    is_expert: bool = False,
) -> ProcessColumn:
    def text(entry: ProcessEntry) -> Text:
        return _size_text(entry, value(entry), "~" if entry.is_sample(*pools) else "")

    return ProcessColumn(
        word, title, lambda entry: _or_least(value(entry)), text, True, True, rank, is_expert=is_expert, least=8
    )


def _size_text(entry: ProcessEntry, size_bytes: int | None, mark: str) -> Text:
    if size_bytes is None:
        return UNKNOWN, Role.DIM
    role = Role.DIM if entry.is_dead or not size_bytes else Role.NOTICE if entry.is_read else Role.PLAIN
    return mark + size_text(size_bytes), role


def _peak_text(entry: ProcessEntry) -> Text:
    return _size_text(entry, entry.peak_bytes, "≥" if entry.is_peak_lower_bound else "")


def _or_least(value: float | None) -> float:
    """Unknown sorts below nothing."""
    return -1 if value is None else value


def _pid_text(entry: ProcessEntry) -> Text:
    if entry.pid is None:
        return "-", Role.DIM
    is_hidden = entry.row is not None and not entry.row.is_visible
    return pid_text(entry.pid, is_visible=not is_hidden), Role.DIM if entry.is_dead else Role.PLAIN


def _age_text(entry: ProcessEntry) -> Text:
    if entry.age_ns is None:
        return UNKNOWN if entry.pid is not None else "-", Role.DIM
    return whole_age_text(entry.age_ns), Role.DIM


def _core_text(entry: ProcessEntry) -> Text:
    if entry.core_bytes is None:
        is_shared = entry.row is not None and entry.row.is_live and bool(entry.numbers)
        return ("shared" if is_shared else "-"), Role.DIM
    return size_text(entry.core_bytes), Role.PLAIN


def _rate_text(entry: ProcessEntry) -> Text:
    rate = entry.rates.launches_per_second if entry.rates else None
    return ("-" if rate is None else tight_count_text(rate)), Role.PLAIN if rate else Role.DIM


def _cpu_text(entry: ProcessEntry) -> Text:
    share = entry.rates.host_cpu_share if entry.rates else None
    return ("-" if share is None else f"{share * 100:.0f}%"), Role.PLAIN if share else Role.DIM


def _host_memory_text(entry: ProcessEntry) -> Text:
    held = entry.rates.host_memory_bytes if entry.rates else None
    return ("-" if held is None else size_text(held)), Role.PLAIN if held else Role.DIM


def _growth_text(entry: ProcessEntry) -> Text:
    grown = entry.rates.growth_bytes if entry.rates else None
    if not grown:
        return ("-" if grown is None else "0"), Role.DIM
    return f"{'+' if grown > 0 else ''}{signed_text(grown)}", Role.PLAIN


def _state_text(entry: ProcessEntry) -> Text:
    """Running or idle where launches are known; else what is known of the process."""
    rates = entry.rates
    if entry.state != "live" or rates is None or rates.launches_per_second is None:
        return entry.state, Role.NOTICE if entry.state in ("stale", "foreign") else Role.DIM
    if rates.launches_per_second:
        return "running", Role.PLAIN
    if rates.launched_time_ns is None:
        return "idle", Role.DIM
    return f"idle {whole_age_text(entry.time_ns - rates.launched_time_ns)}", Role.DIM


def _rated(value: Callable[[ProcessRates], float | None]) -> Callable[[ProcessEntry], float]:
    return lambda entry: _or_least(value(entry.rates) if entry.rates else None)


def _growth_key(entry: ProcessEntry) -> float:
    grown = entry.rates.growth_bytes if entry.rates else None
    return float("-inf") if grown is None else grown


def _counted(value: Callable[[ProcessEntry], int | None]) -> Callable[[ProcessEntry], Text]:
    def text(entry: ProcessEntry) -> Text:
        count = value(entry)
        return "-" if count is None else count_text(count), Role.DIM

    return text


def _launches(entry: ProcessEntry) -> int | None:
    return entry.row.launch_count if entry.row else None


def _alive(entry: ProcessEntry) -> int | None:
    return entry.row.live_count if entry.row else None


def _word(text: Callable[[ProcessEntry], str], role: Role = Role.PLAIN) -> Callable[[ProcessEntry], Text]:
    return lambda entry: (text(entry), Role.DIM if entry.is_dead else role)


def _number_key(entry: ProcessEntry) -> int:
    return entry.numbers[0] if entry.numbers else 1 << 30


# In the order in which they stand.
COLUMNS: tuple[ProcessColumn, ...] = (
    ProcessColumn("pid", "PID", lambda entry: _or_least(entry.pid), _pid_text, least=5),
    ProcessColumn("user", "USER", lambda e: e.user, _word(lambda e: e.user), is_right=False, rank=3),
    ProcessColumn("label", "PROGRAM", lambda e: e.label.lower(), _word(lambda e: e.label), is_right=False),
    ProcessColumn("chips", "CHIPS", _number_key, _word(lambda e: chips_text(e, 16)), is_right=False, rank=2),
    _size_column("dram", "DRAM", lambda entry: entry.used(Pool.DRAM), Pool.DRAM),
    ProcessColumn("peak", "PEAK", lambda e: _or_least(e.peak_bytes), _peak_text, True, True, 11, least=8),
    ProcessColumn("core", "L1 CORE", lambda e: _or_least(e.core_bytes), _core_text, True, True, 4, least=8),
    _size_column("l1", "L1 BUFFERS", lambda entry: entry.used(Pool.L1), Pool.L1, rank=13, is_expert=True),
    _size_column("cb", "CIRCULAR", lambda entry: entry.cb_bytes, Pool.CB, rank=14, is_expert=True),
    _size_column("kernel", "KERNELS", lambda entry: entry.kernel_bytes, rank=15, is_expert=True),
    _size_column("total", "ALL MEMORY", lambda e: e.total_bytes, *HELD_POOLS, rank=12, is_expert=True),
    ProcessColumn(
        "rate",
        "LAUNCHES/s",
        _rated(lambda rates: rates.launches_per_second),
        _rate_text,
        is_falling=True,
        rank=1,
        short="LAUNCH/s",
    ),
    ProcessColumn(
        "host_cpu",
        "HOST CPU",
        _rated(lambda rates: rates.host_cpu_share),
        _cpu_text,
        True,
        True,
        6,
        short="CPU",
        least=4,
    ),
    ProcessColumn(
        "host_memory",
        "HOST MEM",
        _rated(lambda rates: rates.host_memory_bytes),
        _host_memory_text,
        is_falling=True,
        rank=7,
        least=8,
    ),
    ProcessColumn("growth", "GROWTH 60 s", _growth_key, _growth_text, is_falling=True, rank=10, least=6),
    ProcessColumn("age", "AGE", lambda e: _or_least(e.age_ns), _age_text, is_falling=True, rank=9),
    ProcessColumn("state", "STATE", lambda e: e.state, _state_text, is_right=False, rank=8),
    ProcessColumn(
        "launches", "ALL LAUNCHES", lambda e: _or_least(_launches(e)), _counted(_launches), True, True, 16, 0, True
    ),
    ProcessColumn("alive", "ALIVE", lambda e: _or_least(_alive(e)), _counted(_alive), True, True, 17, 0, True),
    ProcessColumn("via", "VIA", lambda e: e.via, _word(lambda e: e.via, Role.DIM), False, False, 18, 0, True),
    ProcessColumn(
        "command", "COMMAND", lambda e: e.command, _word(lambda e: e.command, Role.DIM), False, False, 19, wide_from=140
    ),
)
_BY_WORD = {column.word: column for column in COLUMNS}
SORTS: tuple[str, ...] = tuple(column.word for column in COLUMNS)
_LABEL_LEAST, _LABEL_MOST, _USER_MOST = 13, 40, 12
_COMMAND_LEAST = 16


def chips_text(entry: ProcessEntry, width: int) -> str:
    """Which chips: their indexes as ranges; how many, where that is too long."""
    text = devices_word(entry.devices)
    return text if len(text) <= width else f"{len(entry.numbers)}x"


def tight_age_text(age_ns: int) -> str:
    """At most 4 characters: 59s, 12m, 23h, 364d, 12y."""
    seconds = age_ns // 1_000_000_000
    for unit, letter in ((365 * 86_400, "y"), (86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= unit:
            return f"{seconds // unit}{letter}"
    return f"{seconds}s"


def in_order(entries: Sequence[ProcessEntry], word: str, *, is_inverted: bool) -> list[ProcessEntry]:
    """By a column; of equal ones the smaller pid first, so that rows do not move. Ended ones stand last."""
    column = _BY_WORD[word]
    ordered = sorted(entries, key=lambda entry: (entry.pid or 0, entry.stamp))
    ordered.sort(key=column.key, reverse=column.is_falling != is_inverted)
    ordered.sort(key=lambda entry: entry.is_dead)
    return ordered


class ListedEntry(NamedTuple):
    """An entry on the screen: where it hangs in a tree, and what the user did to it."""

    entry: ProcessEntry
    branch: str = ""
    is_selected: bool = False
    is_tagged: bool = False


class ProcessTable(NamedTuple):
    """Columns and their widths, for one picture."""

    columns: tuple[ProcessColumn, ...]
    layout: Layout
    sort: str
    width: int
    is_ascii: bool

    @property
    def has_sort(self) -> bool:
        """Whether the column that is sorted by is to be seen."""
        return any(self.columns[at].word == self.sort for at in self.layout.shown)

    def titles(self) -> Line:
        """What the columns are, and which one the list is sorted by."""
        sorted_by = [at for at, column in enumerate(self.columns) if column.word == self.sort]
        return self.layout.titles(dict.fromkeys(sorted_by, Role.KEY))

    def line(self, shown: ListedEntry) -> Line:
        line = self.layout.line([_cell_of(column, shown, self.is_ascii) for column in self.columns])
        taken = sum(span.width for span in line)
        line = (*line, Span(" " * max(0, self.width - taken)))
        if shown.is_selected:
            return (Span("".join(span.text for span in line), Role.SELECTED),)
        if shown.is_tagged:
            return tuple(Span(span.text, Role.TAGGED) for span in line)
        return line

    def total(self, entries: Sequence[ProcessEntry]) -> Line:
        """The sums of those that live."""
        living = [entry for entry in entries if not entry.is_dead]
        words = {
            "label": f"  {plural(len(living), 'process', 'es')}",
            **{word: _sum_text(living, word) for word in ("dram", "rate", "host_cpu", "host_memory")},
        }
        return self.layout.line([cell(words.get(column.word, ""), Role.TITLE) for column in self.columns])


def _sum_text(entries: Sequence[ProcessEntry], word: str) -> str:
    """A sum of what is known; empty if nothing is."""
    rates = [entry.rates for entry in entries if entry.rates]
    if word == "dram":
        return size_text(sum(entry.used(Pool.DRAM) or 0 for entry in entries))
    if word == "rate":
        launches = [one.launches_per_second for one in rates if one.launches_per_second is not None]
        return tight_count_text(sum(launches)) if launches else ""
    if word == "host_cpu":
        shares = [one.host_cpu_share for one in rates if one.host_cpu_share is not None]
        return f"{sum(shares) * 100:.0f}%" if shares else ""
    held = [one.host_memory_bytes for one in rates if one.host_memory_bytes is not None]
    return size_text(sum(held)) if held else ""


def _cell_of(column: ProcessColumn, shown: ListedEntry, is_ascii: bool) -> Cell:
    entry = shown.entry
    text, role = column.text(entry)
    if column.word == "pid":
        return cell(("*" if shown.is_tagged else "") + text, role)
    if column.word == "label":
        mark, mark_role = _mark(entry, is_ascii)
        name = shown.branch + clean(label_text(text))
        is_red = entry.refused is Role.FULL
        return lambda width: (
            Span(f"{mark} ", mark_role),
            Span(_safe(name, width - 2, is_ascii), Role.FULL if is_red else role),
        )
    if column.word in ("user", "command"):
        return lambda width: cell(_safe(clean(text), width, is_ascii), role)
    return cell(text.replace("≥", ">=") if is_ascii else text, role)


def _safe(text: str, width: int, is_ascii: bool) -> str:
    shown = "".join(one if one.isascii() else "?" for one in text) if is_ascii and not text.isascii() else text
    return clipped(shown, max(0, width), is_ascii=is_ascii)


def _mark(entry: ProcessEntry, is_ascii: bool) -> Text:
    """What is wrong: an incident goes before a doubt, and an old one after it."""
    if entry.refused is Role.FULL:
        return "!" if is_ascii else "✖", Role.FULL
    if entry.is_doubted:
        return "?", Role.NOTICE
    return ("!" if is_ascii else "✖", Role.DIM) if entry.refused else (" ", Role.PLAIN)


def table_for(
    entries: Sequence[ProcessEntry],
    sort: str,
    width: int,
    *,
    is_ascii: bool,
    is_inverted: bool = False,
    is_full: bool = False,
    has_branches: bool = False,
) -> ProcessTable:
    """The columns that fit beside a name one can read, for entries that are to be seen; `is_full`: also those for
    experts."""
    wanted = tuple(column for column in COLUMNS if is_full or not column.is_expert or column.word == sort)
    longest = max((len(label_text(entry.label)) for entry in entries), default=0)
    columns = [
        _measured(_column(column, sort, is_inverted=is_inverted, is_ascii=is_ascii), column.word, entries, longest)
        for column in wanted
    ]
    rows = [[_cell_of(column, ListedEntry(entry), is_ascii) for column in wanted] for entry in entries]
    layout = laid_out(columns, rows, width=width)
    return ProcessTable(wanted, layout, sort, width, is_ascii)


def _column(column: ProcessColumn, sort: str, *, is_inverted: bool, is_ascii: bool) -> Column:
    title, short = column.title, column.short
    rank = column.rank
    if column.word == sort:
        is_falling = column.is_falling != is_inverted
        arrow = ("v" if is_falling else "^") if is_ascii else ("▼" if is_falling else "▲")
        title, short, rank = title + arrow, short and short + arrow, 0
    return Column(title, column.is_right, column.least, None, column.wide_from, rank, short)


def _measured(column: Column, word: str, entries: Sequence[ProcessEntry], longest: int) -> Column:
    """Columns of words take what they need, and some of them what is left."""
    if word == "label":
        return column._replace(least=_LABEL_LEAST, most=max(_LABEL_LEAST, min(_LABEL_MOST, longest + 2)))
    if word == "user":
        return column._replace(least=min(_USER_MOST, max((len(entry.user) for entry in entries), default=4)))
    return column._replace(least=_COMMAND_LEAST, most=400) if word == "command" else column
