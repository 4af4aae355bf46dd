"""What is listed: processes that report or were read, directories of others that may not be read, and processes of
which only the driver knows that they have a chip open.

An entry is known by its `stamp`, which stays the same when rows move, and when a daemon comes or goes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple
from zlib import crc32

from ttmem.devices import PLANNED_POOLS, Pool
from ttmem.monitor.parts.drawing import MonitorFrame, Pen
from ttmem.snapshot.host import Foreign
from ttmem.snapshot.usage import PoolUsage, ProcessUsage, Snapshot
from ttmem.snapshot.values import Device
from ttmem.view.device_tables import devices_word
from ttmem.view.incidents.lines import is_fresh
from ttmem.view.table import Line, Role, Span, width_of
from ttmem.view.texts import UNKNOWN, age_text, count_text, pid_text, size_text, tight_size_text

__all__ = [
    "COLUMNS",
    "HELD_POOLS",
    "SIZES",
    "SORTS",
    "Cell",
    "ListedEntry",
    "ProcessColumn",
    "ProcessEntry",
    "ProcessTable",
    "Sizes",
    "chips_text",
    "entries_of",
    "in_order",
    "stamp_of",
    "table_for",
    "tight_age_text",
]

_KERNEL_POOLS = (Pool.KERNEL, Pool.ETH, Pool.DISPATCH)
HELD_POOLS = tuple(pool for pool in Pool if pool not in PLANNED_POOLS and pool is not Pool.HOST)
_SECOND_NS = 1_000_000_000
_NONE: Mapping[int, Device] = MappingProxyType({})
_NOTHING: Mapping[Pool, PoolUsage] = MappingProxyType({})


class ProcessEntry(NamedTuple):
    """One line of the list; `row` is None where no process reports."""

    stamp: int
    pid: int | None
    user: str
    label: str
    command: str
    state: str
    via: str
    row: ProcessUsage | None = None
    parent_pid: int | None = None
    age_ns: int | None = None
    chips: Mapping[int, Device] = _NONE  # all there are, by number
    numbers: tuple[int, ...] = ()  # of those it is on
    pools: Mapping[Pool, PoolUsage] = _NOTHING
    refused: Role | None = None  # red while an incident of it is news, then quiet; None: nothing was refused to it

    @property
    def devices(self) -> list[Device]:
        return [self.chips[number] for number in self.numbers if number in self.chips]

    @property
    def is_doubted(self) -> bool:
        return self.row is not None and bool(self.row.reason or self.row.finding_count)

    @property
    def is_dead(self) -> bool:
        return self.state == "ended"

    def used(self, pool: Pool) -> int | None:
        """What it holds of a pool; unknown, if nothing is known of it at all."""
        found = self.pools.get(pool)
        return found.used_bytes if found else self._nothing

    @property
    def cb_bytes(self) -> int | None:
        """What cores give up for its circular buffers; those of several programs lie on top of each other."""
        if self.row is None or Pool.CB not in self.pools:
            return self._nothing
        return self.used(Pool.CB) if self.is_read else self.row.cb_planned_bytes

    @property
    def kernel_bytes(self) -> int | None:
        """Code of its loaded kernels on all kinds of cores: an inventory."""
        found = [self.pools[pool].used_bytes for pool in _KERNEL_POOLS if pool in self.pools]
        return sum(found) if found else self._nothing

    @property
    def total_bytes(self) -> int | None:
        """What it holds of device memory: DRAM, trace, L1, L1_SMALL; no inventories, which take no room."""
        found = [self.pools[pool].used_bytes for pool in HELD_POOLS if pool in self.pools]
        return sum(found) if found else self._nothing

    @property
    def peak_bytes(self) -> int | None:
        """The sum of the peaks of the same pools."""
        found = [self.pools[pool].peak_bytes for pool in HELD_POOLS if pool in self.pools]
        return sum(found) if found else self._nothing

    @property
    def is_peak_lower_bound(self) -> bool:
        return any(pool.is_lower_bound or pool.is_read for pool in self.pools.values() if pool.pool in HELD_POOLS)

    def is_sample(self, *pools: Pool) -> bool:
        """Whether what was read of one of these pools is a sample."""
        return self.is_read and any(self.pools[pool].origin == "sample" for pool in pools if pool in self.pools)

    @property
    def is_read(self) -> bool:
        return self.via == "read"

    @property
    def _nothing(self) -> int | None:
        """0 for a process of which all is known; None for one of which something or all is not."""
        is_whole = self.row is not None and not self.row.reason
        return 0 if self.row and is_whole and self.row.origin not in ("unknown", "read", "sample") else None


def stamp_of(row: ProcessUsage) -> int:
    """A number that no other process of this machine has, whichever source counts."""
    if not row.pid:
        return 1 << 70 | row.key  # no process is known: the reader's own number has to do
    began = (row.start_time_ns or 0) // _SECOND_NS
    return (row.pid << 32 | began & 0xFFFF_FFFF) + 1


def entries_of(frame: MonitorFrame) -> list[ProcessEntry]:
    """All of them, as they come."""
    overview = frame.overview
    if overview is None:
        return []
    chips = {usage.device.number: usage.device for usage in overview.devices}
    listed = [_entry_of(row, overview.time_ns, chips) for row in overview.processes]
    listed += [_foreign(directory) for directory in overview.foreign]
    return [*listed, *_silent(frame, overview)]


def _entry_of(row: ProcessUsage, time_ns: int, chips: Mapping[int, Device]) -> ProcessEntry:
    return ProcessEntry(
        stamp=stamp_of(row),
        pid=row.pid,
        user=row.user,
        label=row.label or row.command,
        command=row.command,
        state=row.state,
        via="read" if row.source == "runtime" else row.source,
        row=row,
        parent_pid=row.parent_pid,
        age_ns=None if row.start_time_ns is None else max(0, time_ns - row.start_time_ns),
        chips=chips,
        numbers=row.chips,
        pools={usage.pool: usage for usage in row.pools},
        refused=_refused(row, time_ns) if row.was_refused else None,
    )


def _refused(row: ProcessUsage, time_ns: int) -> Role:
    is_ended = row.state == "ended"
    return Role.FULL if any(is_fresh(one, time_ns, is_ended=is_ended) for one in row.incidents) else Role.DIM


def _foreign(directory: Foreign) -> ProcessEntry:
    stamp = -(1 << 40) - crc32(f"{directory.what} {directory.path}".encode(errors="replace"))
    return ProcessEntry(stamp, None, directory.user, f"{directory.what} in {directory.path}", "", "foreign", "")


def _silent(frame: MonitorFrame, overview: Snapshot) -> Iterator[ProcessEntry]:
    """Processes that have a chip open, as the driver says, and report nothing."""
    known = {row.pid for row in overview.processes if row.is_visible}
    chips: dict[int, list[str]] = {}
    commands: dict[int, str] = {}
    for chip in frame.telemetry or ():
        for pid, command in zip(chip.pids or (), (*chip.commands, *[""] * len(chip.pids or ())), strict=False):
            if pid not in known:
                chips.setdefault(pid, []).append(chip.dev_node)
                commands[pid] = command
    for pid, nodes in sorted(chips.items()):
        command = commands[pid]
        label = command or f"has {', '.join(nodes)} open"
        yield ProcessEntry(-pid, pid, "", label, command, "live", "driver")


SortKey = int | str
Cell = tuple[str, Role]


class Sizes(NamedTuple):
    """How sizes and ages are written."""

    is_tight: bool
    is_ascii: bool


class ProcessColumn(NamedTuple):
    """One column. Numbers end at its right edge, names begin at its left."""

    word: str
    title: str
    tight_width: int
    width: int
    key: Callable[[ProcessEntry], SortKey]
    cell: Callable[[ProcessEntry, Sizes], Cell]
    is_right: bool = True
    is_falling: bool = False  # the largest first, unless inverted
    wide_from: int = 0  # columns of the screen from which on there is room for it


def _size_column(word: str, title: str, value: Callable[[ProcessEntry], int | None], *pools: Pool) -> ProcessColumn:
    def cell(entry: ProcessEntry, sizes: Sizes) -> Cell:
        return _size_cell(entry, value(entry), sizes, "~" if entry.is_sample(*pools) else "")

    return ProcessColumn(word, title, 6, 9, lambda entry: _or_least(value(entry)), cell, is_falling=True)


def _size_cell(entry: ProcessEntry, size_bytes: int | None, sizes: Sizes, mark: str) -> Cell:
    if size_bytes is None:
        return UNKNOWN, Role.DIM
    text = mark + (tight_size_text if sizes.is_tight else size_text)(size_bytes)
    role = Role.DIM if entry.is_dead or not size_bytes else Role.NOTICE if entry.is_read else Role.PLAIN
    return text, role


def _peak_cell(entry: ProcessEntry, sizes: Sizes) -> Cell:
    at_least = (">" if sizes.is_ascii else "≥") if entry.is_peak_lower_bound else ""
    return _size_cell(entry, entry.peak_bytes, sizes, at_least)


def _or_least(value: int | None) -> int:
    """Unknown sorts below nothing."""
    return -1 if value is None else value


def _pid_cell(entry: ProcessEntry, sizes: Sizes) -> Cell:
    if entry.pid is None:
        return "-", Role.DIM
    is_hidden = entry.row is not None and not entry.row.is_visible
    return pid_text(entry.pid, is_visible=not is_hidden), Role.DIM if entry.is_dead else Role.PLAIN


def _age_cell(entry: ProcessEntry, sizes: Sizes) -> Cell:
    if entry.age_ns is None:
        return UNKNOWN if entry.pid is not None else "-", Role.DIM
    return tight_age_text(entry.age_ns) if sizes.is_tight else age_text(entry.age_ns), Role.DIM


_STATE_ROLES = {"live": Role.GOOD, "stale": Role.HIGH, "foreign": Role.NOTICE, "ended": Role.DIM}


def _state_cell(entry: ProcessEntry, sizes: Sizes) -> Cell:
    return entry.state, _STATE_ROLES[entry.state]


def _counted(value: Callable[[ProcessEntry], int | None]) -> Callable[[ProcessEntry, Sizes], Cell]:
    def cell(entry: ProcessEntry, sizes: Sizes) -> Cell:
        count = value(entry)
        return "-" if count is None else count_text(count), Role.DIM

    return cell


def _launches(entry: ProcessEntry) -> int | None:
    return entry.row.launch_count if entry.row else None


def _alive(entry: ProcessEntry) -> int | None:
    return entry.row.live_count if entry.row else None


def _word_cell(text: Callable[[ProcessEntry], str], role: Role = Role.PLAIN) -> Callable[[ProcessEntry, Sizes], Cell]:
    return lambda entry, sizes: (text(entry), Role.DIM if entry.is_dead else role)


def _number_key(entry: ProcessEntry) -> int:
    return entry.numbers[0] if entry.numbers else 1 << 30


# In the order in which they stand.
COLUMNS: tuple[ProcessColumn, ...] = (
    ProcessColumn("pid", "PID", 7, 8, lambda entry: _or_least(entry.pid), _pid_cell),
    ProcessColumn(
        "user", "USER", 8, 12, lambda entry: entry.user, _word_cell(lambda entry: entry.user), is_right=False
    ),
    ProcessColumn(
        "label", "LABEL", 10, 16, lambda entry: entry.label.lower(), _word_cell(lambda e: e.label), is_right=False
    ),
    ProcessColumn("chips", "DEV", 4, 8, _number_key, _word_cell(lambda entry: "", Role.INDEX), is_right=False),
    _size_column("dram", "DRAM", lambda entry: entry.used(Pool.DRAM), Pool.DRAM),
    _size_column("l1", "L1", lambda entry: entry.used(Pool.L1), Pool.L1),
    _size_column("cb", "CB", lambda entry: entry.cb_bytes, Pool.CB),
    _size_column("kernel", "KERN", lambda entry: entry.kernel_bytes),
    _size_column("total", "TOTAL", lambda entry: entry.total_bytes, *HELD_POOLS),
    ProcessColumn("peak", "PEAK", 7, 10, lambda entry: _or_least(entry.peak_bytes), _peak_cell, is_falling=True),
    ProcessColumn("age", "AGE", 5, 11, lambda entry: _or_least(entry.age_ns), _age_cell, is_falling=True),
    ProcessColumn("state", "STATE", 7, 7, lambda entry: entry.state, _state_cell, is_right=False),
    ProcessColumn(
        "launches", "LAUNCHES", 9, 11, lambda e: _or_least(_launches(e)), _counted(_launches), True, True, wide_from=150
    ),
    ProcessColumn("alive", "ALIVE", 9, 9, lambda e: _or_least(_alive(e)), _counted(_alive), True, True, wide_from=150),
    ProcessColumn(
        "via", "VIA", 7, 7, lambda e: e.via, _word_cell(lambda e: e.via, Role.DIM), is_right=False, wide_from=130
    ),
    ProcessColumn(
        "command", "COMMAND", 0, 0, lambda e: e.command, _word_cell(lambda e: e.command, Role.DIM), False, wide_from=170
    ),
)
SIZES = ("dram", "l1", "cb", "kernel", "total")
_BY_WORD = {column.word: column for column in COLUMNS}
SORTS: tuple[str, ...] = tuple(column.word for column in COLUMNS)


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


_STRETCHING = ("label", "command")
_DROPPED_FIRST = ("via", "alive", "launches", "kernel", "cb", "age", "user", "peak", "chips", "l1")
_LABEL_LEAST, _LABEL_ROOMY, _LABEL_MOST = 9, 16, 32
_COMMAND_LEAST = 16
_PID_LEAST = 5


class ListedEntry(NamedTuple):
    """An entry on the screen: where it hangs in a tree, and what the user did to it."""

    entry: ProcessEntry
    branch: str = ""
    is_selected: bool = False
    is_tagged: bool = False


class ProcessTable(NamedTuple):
    """Columns and their widths, for one picture."""

    columns: tuple[tuple[ProcessColumn, int], ...]
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

    def _pointed(self, column: ProcessColumn, is_inverted: bool) -> str:
        is_falling = column.is_falling != is_inverted
        arrow = ("v" if is_falling else "^") if self.sizes.is_ascii else ("▼" if is_falling else "▲")
        return column.title + arrow

    def line(self, shown: ListedEntry) -> Line:
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


def table_for(entries: Sequence[ProcessEntry], sort: str, width: int, *, is_ascii: bool) -> ProcessTable:
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
    return ProcessTable(tuple((column, widths[column.word]) for column in wanted), sort, sizes, width)


def _taken(columns: Sequence[ProcessColumn], widths: Mapping[str, int]) -> int:
    """By the mark, and by everything but the label."""
    return 2 + sum(widths[column.word] + (not column.is_right) for column in columns if column.word not in _STRETCHING)


def _width(column: ProcessColumn, entries: Sequence[ProcessEntry], sizes: Sizes, sort: str) -> int:
    """As wide as it is; columns of short words only as wide as the longest. The one sorted by has an arrow."""
    title = len(column.title) + (1 + column.is_right if column.word == sort else 0)
    most = max(title, column.tight_width if sizes.is_tight else column.width)
    if column.word not in ("pid", "user", "state"):
        return most
    longest = max((width_of(column.cell(entry, sizes)[0]) for entry in entries), default=0)
    if column.word == "pid":
        return max(_PID_LEAST, title, longest + 1)
    return max(title, min(most, longest))
