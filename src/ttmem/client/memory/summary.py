"""`memory_summary`: a table for people, of what this process holds on each of its chips."""

from collections.abc import Iterator
from typing import Any

from ttmem import _native
from ttmem.client.memory.chips import OwnChip, chips, chips_meant, foreign_journal
from ttmem.client.memory.figures import circular_buffers
from ttmem.devices import PLANNED_POOLS, POOL_TOTALS, Pool

__all__ = ["memory_summary"]

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_OFF = (
    "ttmem: tracking is off in this process, so nothing is known of its memory.\n"
    "Start it with `ttmem run -- python ...`, which also sees what ttnn allocates. TTMEM=1 in the environment, or\n"
    "ttmem.enable(), count only what the program reports itself.\n"
)
_QUIET = "ttmem: tracking is on; no device has been opened{} yet.\n"
_DEAF = "What ttnn does is not seen here: the hook is not loaded. `ttmem run -- python ...` loads it.\n"
_HOOK = b"/libttmem_hook"
_COLUMNS = ("pool", "used", "peak", "alive", "free", "total", *(total.word for total in POOL_TOTALS))


def memory_summary(device: Any = None) -> str:
    """What is held of each pool, its peak, and what is free: of one device, or of all that were opened."""
    if not _native.client.is_enabled():
        return _OFF
    found = chips() if device is None else chips_meant(device)
    if not found and (reason := foreign_journal()):
        return f"ttmem: {reason}.\n"
    if not found:
        return _QUIET.format("" if device is None else f" as {device}") + ("" if _has_hook() else _DEAF)
    tables: dict[str, list[OwnChip]] = {}
    for chip in found:  # chips of a mesh hold the same
        tables.setdefault(_table(chip), []).append(chip)
    return "\n".join(f"{_title(alike)}\n{table}" for table, alike in tables.items())


def _has_hook() -> bool:
    try:
        with open("/proc/self/maps", "rb") as maps:
            return any(_HOOK in line for line in maps)
    except OSError:
        return True  # nobody knows


def _title(alike: list[OwnChip]) -> str:
    names = [f"{chip.index}" if chip.index >= 0 else f"0x{chip.unique_id:016x}" for chip in alike]
    word = " ".join(filter(None, (alike[0].board, alike[0].arch)))
    each = ", on each of them" if len(alike) > 1 else ""
    return f"ttmem: device {', '.join(names)}{f' ({word})' if word else ''}, this process{each}"


def _table(chip: OwnChip) -> str:
    rows = [_COLUMNS, *_rows(chip)]
    if len(rows) == 1:
        return "  nothing was allocated\n"
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    ruled = ([cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)] for row in rows)
    lines = ("  ".join([row[0].ljust(widths[0]), *cells]) for row, cells in zip(rows, ruled, strict=True))
    note = _note(chip) if any("*" in row[0] for row in rows) else ""
    return "".join(f"  {line.rstrip()}\n" for line in lines) + note


def _note(chip: OwnChip) -> str:
    """What a star says, and which part of circular buffers is in use."""
    planned, resident = circular_buffers(chip)
    now = f"; cb resident now: {_size(resident)}" if planned else ""
    return f"  * planned: of all loaded programs, which share that memory{now}\n"


def _rows(chip: OwnChip) -> Iterator[tuple[str, ...]]:
    for pool in Pool:
        used, peak, count, *totals = _native.own.pool(chip.targets, pool.number)
        total = chip.capacity_bytes(pool)
        if not (used or peak or count):
            continue
        is_planned = pool in PLANNED_POOLS
        room = (_size(max(0, total - used)), _size(total)) if total and not is_planned else ("", "")
        grown = ["" if pool is Pool.CB else _size(size_bytes) for size_bytes in totals]
        figures = (_size(circular_buffers(chip)[0]), "") if pool is Pool.CB else (_size(used), _size(peak))
        yield (f"{pool.word}{'*' if is_planned else ''}", *figures, f"{count:,}", *room, *grown)


def _size(size_bytes: int | None) -> str:
    if size_bytes is None:
        return "[N/A]"
    amount, unit = float(size_bytes), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{size_bytes} B" if unit == 0 else f"{amount:.2f} {_UNITS[unit]}"
