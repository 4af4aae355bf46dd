"""The table of processes: what each holds in every pool of every device.

Devices on which a process holds exactly the same (a mesh) share a row. Pools that find no column go on a line of their
own below; nothing is left out and nothing is added up.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from ttmem.devices import PLANNED_POOLS, Pool
from ttmem.snapshot import ProcessDevice, ProcessUsage
from ttmem.view.device_tables import device_word
from ttmem.view.grid import Cell, Column, cell, grid
from ttmem.view.spans import Line, Role, Span, clean, clipped, width_of
from ttmem.view.units import count_text, ranges_text, size_text

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


class _Row(NamedTuple):
    """One process on some devices that it uses alike."""

    process: ProcessUsage
    devices: str
    held: dict[Pool, int]
    launch_count: int
    is_first: bool


def process_table(
    processes: Sequence[ProcessUsage], *, width: int | None, is_ascii: bool, has_state: bool
) -> list[Line]:
    """Process x device x pool."""
    rows = [row for process in processes for row in _rows_of(process)]
    pools = [pool for pool in _POOLS if any(pool in row.held for row in rows)]
    head = _head_columns(rows, has_state=has_state, width=width)
    taken = 1 + sum(max(column.least, len(column.title)) + _GAP for column in head)
    room = len(pools) if width is None else max(1, (width - taken + _GAP) // (_POOL_WIDTH + _GAP))
    shown, rest = pools[:room], pools[room:]
    has_launches = len(shown) < room or width is None
    columns = [*head, *(Column(_title(pool), is_right=True, least=_POOL_WIDTH) for pool in shown)]
    if has_launches:
        columns.append(Column("LAUNCHES", is_right=True))
    lines = [[*_head_cells(row, has_state, is_ascii), *_pool_cells(row, shown)] for row in rows]
    if has_launches:
        for line, row in zip(lines, rows, strict=True):
            line.append(cell(count_text(row.launch_count)))
    return _with_rest(grid(columns, lines, width=width, gap=_GAP), rows, rest, is_ascii)


def _rows_of(process: ProcessUsage) -> list[_Row]:
    alike: dict[tuple[object, ...], list[ProcessDevice]] = {}
    for held in process.devices:
        figures = tuple((usage.pool, usage.used_bytes) for usage in held.pools)
        alike.setdefault((figures, held.launch_count), []).append(held)
    rows: list[_Row] = []
    for group in alike.values():
        pools = {usage.pool: usage.used_bytes for usage in group[0].pools}
        rows.append(_Row(process, _devices_text(group), pools, group[0].launch_count, is_first=not rows))
    return rows or [_Row(process, "", {}, 0, is_first=True)]


def _devices_text(group: Sequence[ProcessDevice]) -> str:
    indexes = [held.device.index for held in group if held.device.index is not None]
    others = [device_word(held.device) for held in group if held.device.index is None]
    return ",".join(filter(None, [ranges_text(indexes), *others]))


def _title(pool: Pool) -> str:
    return pool.word.upper() + ("*" if pool in PLANNED_POOLS else "")


def _head_columns(rows: Sequence[_Row], *, has_state: bool, width: int | None) -> list[Column]:
    users = max((width_of(clean(row.process.user)) for row in rows), default=4)
    pids = max((len(str(row.process.pid)) for row in rows), default=3)
    devices = max((width_of(row.devices) for row in rows), default=6)
    label = max((width_of(clean(row.process.label)) for row in rows), default=5)
    label_most = label if width is None else min(label, _LABEL_MOST)
    columns = [
        Column("", least=1),
        Column("PID", is_right=True, least=pids),
        Column("USER", least=users if width is None else min(users, 8)),
        Column("LABEL", least=min(label, _LABEL_LEAST), most=label_most),
        Column("DEV", least=devices),
    ]
    if has_state:
        columns.insert(4, Column("STATE", least=5))
    return columns


def _head_cells(row: _Row, has_state: bool, is_ascii: bool) -> list[Cell]:
    process = row.process
    cells: list[Cell] = [()] * (5 if has_state else 4)
    if row.is_first:
        is_doubted = bool(process.reason or process.findings)
        role = Role.PLAIN if process.is_live else Role.DIM
        cells = [
            cell("!", Role.HIGH) if is_doubted else (),
            cell(str(process.pid) if process.is_visible else f"{process.pid}?", role),
            partial(_clipped_cell, clean(process.user), role, is_ascii),
            partial(_clipped_cell, clean(process.label), role, is_ascii),
        ]
        if has_state:
            cells.append(cell(process.state, Role.GOOD if process.is_live else Role.DIM))
    return [*cells, cell(row.devices, Role.INDEX)]


def _clipped_cell(text: str, role: Role, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii), role)


def _pool_cells(row: _Row, shown: Sequence[Pool]) -> list[Cell]:
    return [cell(size_text(row.held[pool])) if pool in row.held else cell("-", Role.DIM) for pool in shown]


def _with_rest(lines: list[Line], rows: Sequence[_Row], rest: Sequence[Pool], is_ascii: bool) -> list[Line]:
    """Below each row, the pools that found no column."""
    title, *body = lines
    result = [title]
    for line, row in zip(body, rows, strict=True):
        result.append(line)
        texts = [f"{_title(pool).lower()} {size_text(row.held[pool])}" for pool in rest if row.held.get(pool)]
        if texts:
            corner, dot = ("`-", ", ") if is_ascii else ("└", " · ")
            result.append((Span(" " * 4), Span(f"{corner} {dot.join(texts)}", Role.DIM)))
    return result
