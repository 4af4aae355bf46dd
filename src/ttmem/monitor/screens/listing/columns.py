"""The columns of the list: what each shows, how wide it is where room is scarce and where it is not, and its order.

In 80 columns all of them but the last few stand side by side, with short sizes; those go first where even that is too
much, the least wanted before the others.
"""

from collections.abc import Callable
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.monitor.screens.listing.entries import HELD_POOLS, Entry
from ttmem.view.device_tables import devices_word
from ttmem.view.spans import Role
from ttmem.view.units import UNKNOWN, age_text, count_text, size_text, tight_size_text
from ttmem.view.words import pid_text

__all__ = ["COLUMNS", "SIZES", "SORTS", "Cell", "Column", "Sizes", "chips_text", "tight_age_text"]

SortKey = int | str
Cell = tuple[str, Role]


class Sizes(NamedTuple):
    """How sizes and ages are written."""

    is_tight: bool
    is_ascii: bool


class Column(NamedTuple):
    """One column. Numbers end at its right edge, names begin at its left."""

    word: str
    title: str
    tight_width: int
    width: int
    key: Callable[[Entry], SortKey]
    cell: Callable[[Entry, Sizes], Cell]
    is_right: bool = True
    is_falling: bool = False  # the largest first, unless inverted
    wide_from: int = 0  # columns of the screen from which on there is room for it


def _size_column(word: str, title: str, value: Callable[[Entry], int | None], *pools: Pool) -> Column:
    def cell(entry: Entry, sizes: Sizes) -> Cell:
        return _size_cell(entry, value(entry), sizes, "~" if entry.is_sample(*pools) else "")

    return Column(word, title, 6, 9, lambda entry: _or_least(value(entry)), cell, is_falling=True)


def _size_cell(entry: Entry, size_bytes: int | None, sizes: Sizes, mark: str) -> Cell:
    if size_bytes is None:
        return UNKNOWN, Role.DIM
    text = mark + (tight_size_text if sizes.is_tight else size_text)(size_bytes)
    role = Role.DIM if entry.is_dead or not size_bytes else Role.NOTICE if entry.is_read else Role.PLAIN
    return text, role


def _peak_cell(entry: Entry, sizes: Sizes) -> Cell:
    at_least = (">" if sizes.is_ascii else "≥") if entry.is_peak_lower_bound else ""
    return _size_cell(entry, entry.peak_bytes, sizes, at_least)


def _or_least(value: int | None) -> int:
    """Unknown sorts below nothing."""
    return -1 if value is None else value


def _pid_cell(entry: Entry, sizes: Sizes) -> Cell:
    if entry.pid is None:
        return "-", Role.DIM
    is_hidden = entry.row is not None and not entry.row.is_visible
    return pid_text(entry.pid, is_visible=not is_hidden), Role.DIM if entry.is_dead else Role.PLAIN


def _age_cell(entry: Entry, sizes: Sizes) -> Cell:
    if entry.age_ns is None:
        return UNKNOWN if entry.pid is not None else "-", Role.DIM
    return tight_age_text(entry.age_ns) if sizes.is_tight else age_text(entry.age_ns), Role.DIM


_STATE_ROLES = {"live": Role.GOOD, "stale": Role.HIGH, "foreign": Role.NOTICE, "ended": Role.DIM}


def _state_cell(entry: Entry, sizes: Sizes) -> Cell:
    return entry.state, _STATE_ROLES[entry.state]


def _counted(value: Callable[[Entry], int | None]) -> Callable[[Entry, Sizes], Cell]:
    def cell(entry: Entry, sizes: Sizes) -> Cell:
        count = value(entry)
        return "-" if count is None else count_text(count), Role.DIM

    return cell


def _launches(entry: Entry) -> int | None:
    return entry.row.launch_count if entry.row else None


def _alive(entry: Entry) -> int | None:
    return entry.row.live_count if entry.row else None


def _word_cell(text: Callable[[Entry], str], role: Role = Role.PLAIN) -> Callable[[Entry, Sizes], Cell]:
    return lambda entry, sizes: (text(entry), Role.DIM if entry.is_dead else role)


def _number_key(entry: Entry) -> int:
    return entry.numbers[0] if entry.numbers else 1 << 30


# In the order in which they stand.
COLUMNS: tuple[Column, ...] = (
    Column("pid", "PID", 7, 8, lambda entry: _or_least(entry.pid), _pid_cell),
    Column("user", "USER", 8, 12, lambda entry: entry.user, _word_cell(lambda entry: entry.user), is_right=False),
    Column("label", "LABEL", 10, 16, lambda entry: entry.label.lower(), _word_cell(lambda e: e.label), is_right=False),
    Column("chips", "DEV", 4, 8, _number_key, _word_cell(lambda entry: "", Role.INDEX), is_right=False),
    _size_column("dram", "DRAM", lambda entry: entry.used(Pool.DRAM), Pool.DRAM),
    _size_column("l1", "L1", lambda entry: entry.used(Pool.L1), Pool.L1),
    _size_column("cb", "CB", lambda entry: entry.cb_bytes, Pool.CB),
    _size_column("kernel", "KERN", lambda entry: entry.kernel_bytes),
    _size_column("total", "TOTAL", lambda entry: entry.total_bytes, *HELD_POOLS),
    Column("peak", "PEAK", 7, 10, lambda entry: _or_least(entry.peak_bytes), _peak_cell, is_falling=True),
    Column("age", "AGE", 5, 11, lambda entry: _or_least(entry.age_ns), _age_cell, is_falling=True),
    Column("state", "STATE", 7, 7, lambda entry: entry.state, _state_cell, is_right=False),
    Column(
        "launches", "LAUNCHES", 9, 11, lambda e: _or_least(_launches(e)), _counted(_launches), True, True, wide_from=150
    ),
    Column("alive", "ALIVE", 9, 9, lambda e: _or_least(_alive(e)), _counted(_alive), True, True, wide_from=150),
    Column("via", "VIA", 7, 7, lambda e: e.via, _word_cell(lambda e: e.via, Role.DIM), is_right=False, wide_from=130),
    Column(
        "command", "COMMAND", 0, 0, lambda e: e.command, _word_cell(lambda e: e.command, Role.DIM), False, wide_from=170
    ),
)
SIZES = ("dram", "l1", "cb", "kernel", "total")
SORTS: tuple[str, ...] = tuple(column.word for column in COLUMNS)


def chips_text(entry: Entry, width: int) -> str:
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
