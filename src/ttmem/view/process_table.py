"""The table of processes: what each holds in every pool of every device.

Devices on which a process holds exactly the same (a mesh) share a row. Pools that find no column go on a line of their
own below, as do kernels of other types than the application's, a pid that a process claims and does not have, and what
its other source tells; nothing is left out and nothing is added up.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from ttmem.devices import BANKED_POOLS, PLANNED_POOLS, Kind, Pool
from ttmem.snapshot import KindUsage, PoolUsage, ProcessDevice, ProcessUsage
from ttmem.snapshot.values import replace
from ttmem.view.table import Cell, Column, Line, Role, Span, cell, clean, clipped, fitting_count, table, width_of
from ttmem.view.texts import UNKNOWN, count_text, device_word, devices_word, label_text, pid_text, size_text

# The order in which pools get a column of their own.
_POOLS = (
    Pool.DRAM,
    Pool.L1,
    Pool.CB,
    Pool.KERNEL,
    Pool.L1_SMALL,
    Pool.TRACE,
    Pool.DISPATCH,
    Pool.ETH,
    Pool.HOST,
    Pool.UNKNOWN,
)
_POOL_WIDTH = 8
_GAP = 2
_LABEL_LEAST = 12
_LABEL_MOST = 28
_INDENT = 4
_NONE = size_text(0)
_VIA = {"journal": "journal", "socket": "socket", "runtime": "read"}


_UNKNOWN_LAST = -1  # below every size, which are shown largest first

Branches = Mapping[int, str]  # key of a process -> what is drawn before its label


def _used(*pools: Pool) -> Callable[[ProcessUsage], int]:
    def key(process: ProcessUsage) -> int:
        if process.origin == "unknown":
            return -_UNKNOWN_LAST
        return -sum(usage.used_bytes for held in process.devices for usage in held.pools if usage.pool in pools)

    return key


def _circular_buffers(process: ProcessUsage) -> int:
    """As the table shows them: what cores give up, where that is known."""
    return -sum(usage.used_bytes for held in process.devices for usage in held.shown_pools if usage.pool is Pool.CB)


def _peak(process: ProcessUsage) -> int:
    return -sum(usage.peak_bytes for held in process.devices for usage in held.pools if usage.pool in BANKED_POOLS)


def _launches(process: ProcessUsage) -> int:
    return -sum(held.launch_count or 0 for held in process.devices)


# Texts from a to z, sizes largest first, ages oldest first.
COLUMNS: Mapping[str, Callable[[ProcessUsage], Any]] = {
    "pid": lambda process: process.pid,
    "user": lambda process: process.user,
    "label": lambda process: process.label,
    "age": lambda process: process.start_time_ns or 0,
    **{pool.word: _used(pool) for pool in Pool},
    "cb": _circular_buffers,
    "total": _used(*BANKED_POOLS),
    "peak": _peak,
    "launches": _launches,
}


def ordered(processes: Sequence[ProcessUsage], column: str = "") -> list[ProcessUsage]:
    """The living first; without a column the oldest first, so that a row keeps its place while others come and go."""
    key = COLUMNS[column or "age"]
    return sorted(
        processes, key=lambda process: (not process.is_live, key(process), process.start_time_ns or 0, process.pid)
    )


def tree(
    processes: Sequence[ProcessUsage], parents: Mapping[int, int], *, is_ascii: bool = False
) -> tuple[list[ProcessUsage], Branches]:
    """Children below their parents, in the order given, and what is drawn before their labels. `parents`: pid of a
    process -> pid of the nearest one above it that is shown, too."""
    shown = {process.pid: process.key for process in processes}
    children: dict[int, list[ProcessUsage]] = {}
    for process in processes:
        parent = parents.get(process.pid, 0)
        is_child = parent in shown and shown[parent] != process.key and process.is_live
        children.setdefault(shown[parent] if is_child else 0, []).append(process)
    bend, line = ("`- ", "|  ") if is_ascii else ("└ ", "│ ")
    fork = "|- " if is_ascii else "├ "
    rows: list[ProcessUsage] = []
    branches: dict[int, str] = {}

    def grow(key: int, before: str) -> None:
        for process in children.pop(key, []):
            is_last = process.key == last_of[key]
            branches[process.key] = before + (bend if is_last else fork) if key else ""
            rows.append(process)
            grow(process.key, before + (" " * len(line) if is_last else line) if key else "")

    last_of = {key: group[-1].key for key, group in children.items()}
    grow(0, "")
    rows += [process for group in children.values() for process in group]  # of a circle nobody can have made
    return rows, branches


class _Row(NamedTuple):
    """One process on some devices that it uses alike."""

    process: ProcessUsage
    devices: str
    held: dict[Pool, str]
    kernels: tuple[KindUsage, ...]
    launch_count: int | None
    is_first: bool
    is_last: bool


def process_table(
    processes: Sequence[ProcessUsage],
    *,
    width: int | None,
    is_ascii: bool,
    has_state: bool,
    branches: Branches = MappingProxyType({}),
    refused: Mapping[int, Role] = MappingProxyType({}),
) -> list[Line]:
    """Process x device x pool; `branches` go before the labels of a tree; `refused`: who had incidents, by key."""
    name = (lambda label: label) if width is None else label_text  # what is cut keeps what matters
    processes = [replace(process, label=branches.get(process.key, "") + name(process.label)) for process in processes]
    rows = [row for process in processes for row in _rows_of(process)]
    pools = [pool for pool in _POOLS if any(pool in row.held for row in rows)]
    if not pools and any(process.origin == "unknown" for process in processes):
        pools = [Pool.DRAM, Pool.L1]  # to say that they are not known
    has_source = any(process.source != "journal" for process in processes)
    head = _head_columns(rows, has_state=has_state, has_source=has_source, width=width)
    figures = [Column(_title(pool), is_right=True, least=_POOL_WIDTH) for pool in pools]
    launches = max((len(count_text(row.launch_count)) for row in rows if row.launch_count is not None), default=0)
    figures.append(Column("LAUNCHES", is_right=True, least=launches))
    room = fitting_count([*head, *figures], len(head), width, _GAP)
    shown, rest = pools[:room], pools[room:]
    has_launches = room > len(pools)
    columns = [*head, *figures[:room]]
    lines = [[*_head_cells(row, has_state, has_source, is_ascii, refused), *_pool_cells(row, shown)] for row in rows]
    if has_launches:
        for line, row in zip(lines, rows, strict=True):
            line.append(cell("-", Role.DIM) if row.launch_count is None else cell(count_text(row.launch_count)))
    title, *body = table(columns, lines, width=width, gap=_GAP)
    below = [_below(row, rest, is_ascii) for row in rows]
    return [title, *(line for first, more in zip(body, below, strict=True) for line in (first, *_fitting(more, width)))]


def _rows_of(process: ProcessUsage) -> list[_Row]:
    alike: dict[tuple[object, ...], list[ProcessDevice]] = {}
    for held in process.devices:
        figures = tuple((usage.pool, usage.used_bytes) for usage in held.pools)
        alike.setdefault((figures, held.kernels, held.launch_count, held.activity.footprint), []).append(held)
    rows: list[_Row] = []
    for number, group in enumerate(alike.values(), start=1):
        first, devices = group[0], devices_word(held.device for held in group)
        pools = {usage.pool: _shown_size(usage) for usage in first.shown_pools}
        is_last = number == len(alike)
        rows.append(_Row(process, devices, pools, first.kernels, first.launch_count, not rows, is_last))
    return rows or [_Row(process, "", {}, (), 0, is_first=True, is_last=True)]


def _shown_size(usage: PoolUsage) -> str:
    return ("~" if usage.origin == "sample" else "") + size_text(usage.used_bytes)


def _title(pool: Pool) -> str:
    return pool.word.upper() + ("*" if pool in PLANNED_POOLS else "")


def _head_columns(rows: Sequence[_Row], *, has_state: bool, has_source: bool, width: int | None) -> list[Column]:
    users = max((width_of(clean(row.process.user)) for row in rows), default=4)
    pids = max((len(_pid_text(row.process)) for row in rows), default=3)
    devices = max((width_of(row.devices) for row in rows), default=6)
    label = max((width_of(clean(row.process.label)) for row in rows), default=5)
    label_most = label if width is None else min(label, _LABEL_MOST)
    columns = [
        Column("", least=1),
        Column("PID", is_right=True, least=pids),
        Column("USER", least=users if width is None else min(users, 8)),
        Column("LABEL", least=min(label, _LABEL_LEAST), most=label_most),
    ]
    if has_state:
        columns.append(Column("STATE", least=5))
    if has_source:
        columns.append(Column("VIA", least=7))
    return [*columns, Column("DEV", least=devices)]


def _head_cells(
    row: _Row, has_state: bool, has_source: bool, is_ascii: bool, refused: Mapping[int, Role]
) -> list[Cell]:
    process = row.process
    if not row.is_first:
        return [*([()] * (4 + has_state + has_source)), cell(row.devices, Role.INDEX)]
    mark = refused.get(process.key)
    if mark is not Role.FULL and (process.reason or process.findings):
        mark = Role.HIGH
    role = Role.PLAIN if process.is_live else Role.DIM
    cells: list[Cell] = [
        () if mark is None else cell("!", mark),
        cell(_pid_text(process), role),
        partial(_clipped_cell, clean(process.user), role, is_ascii),
        partial(_clipped_cell, clean(process.label), role, is_ascii),
    ]
    if has_state:
        cells.append(cell("live" if process.is_live else process.state, Role.GOOD if process.is_live else Role.DIM))
    if has_source:
        cells.append(cell(_VIA[process.source], Role.DIM if process.source == "journal" else Role.NOTICE))
    return [*cells, cell(row.devices, Role.INDEX)]


def _pid_text(process: ProcessUsage) -> str:
    return pid_text(process.pid, is_visible=process.is_visible)


def _clipped_cell(text: str, role: Role, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii), role)


def _pool_cells(row: _Row, shown: Sequence[Pool]) -> list[Cell]:
    unknown = UNKNOWN if row.process.origin == "unknown" else "-"
    return [cell(row.held[pool]) if pool in row.held else cell(unknown, Role.DIM) for pool in shown]


def _below(row: _Row, rest: Sequence[Pool], is_ascii: bool) -> list[list[str]]:
    """What goes below a row, as lines of parts: pools without a column, kernels by type, then what is odd."""
    lines = [[f"{_title(pool).lower()} {row.held[pool]}" for pool in rest if row.held.get(pool, _NONE) != _NONE]]
    if any(kernel.kind is not Kind.KERNEL_APPLICATION for kernel in row.kernels):
        lines.append(_kernel_words(row.kernels))
    process = row.process
    if row.is_last and process.claimed_pid is not None:
        lines.append([f"says pid {process.claimed_pid}"])
    if row.is_last:
        lines += [_other_words(held) for held in process.other_devices]
    corner, dot = ("`- ", ", ") if is_ascii else ("└ ", " · ")
    return [[corner + parts[0], *(dot + part for part in parts[1:])] for parts in lines if parts]


def _kernel_words(kernels: Sequence[KindUsage]) -> list[str]:
    """kernels: 3 application 8.00 MiB, 1 fabric ~896 KiB."""
    words = [
        f"{count_text(kernel.count)} {kernel.kind.kernel_word} "
        f"{'~' if kernel.is_estimated else ''}{size_text(kernel.used_bytes)}"
        for kernel in kernels
    ]
    return [f"kernels: {words[0]}", *words[1:]] if words else []


def _other_words(held: ProcessDevice) -> list[str]:
    """What the other source of a process says, of one device."""
    told = PLANNED_POOLS - {Pool.CB} if held.kernels else frozenset()
    pools = [
        f"{_title(usage.pool).lower()} {size_text(usage.used_bytes)}" for usage in held.pools if usage.pool not in told
    ]
    first, *others = [*pools, *_kernel_words(held.kernels)] or ["nothing"]
    who = "the runtime's counter says" if any(usage.is_read for usage in held.pools) else "its socket says"
    return [f"not added: {who} of {device_word(held.device)}: {first}", *others]


def _fitting(lines: Sequence[Sequence[str]], width: int | None) -> list[Line]:
    """Lines of parts, broken between parts where they are too long."""
    fitting: list[Line] = []
    for parts in lines:
        text = ""
        for part in parts:
            if text and width and width_of(text + part) > width - _INDENT:
                fitting.append(_dim(text))
                text = " " * 2
                part = part.lstrip(" ·,")
            text += part
        fitting.append(_dim(text))
    return fitting


def _dim(text: str) -> Line:
    return (Span(" " * _INDENT), Span(text, Role.DIM))
