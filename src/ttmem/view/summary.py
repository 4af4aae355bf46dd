"""What a finished run held at its highest: the few lines `ttmem run` leaves behind."""

from collections.abc import Sequence

from ttmem.snapshot import PoolUsage, ProcessUsage
from ttmem.view.device_tables import device_word
from ttmem.view.grid import Column, cell, grid
from ttmem.view.spans import Line, Role, clean
from ttmem.view.units import clock_text, count_text, size_text


def summary(processes: Sequence[ProcessUsage]) -> list[Line]:
    """One line per process, device and pool: its peak and when that was; then the peaks of every phase."""
    rows = []
    for process in processes:
        name = clean(process.label)
        for held in process.devices:
            for usage in held.pools:
                where = cell(device_word(held.device), Role.INDEX)
                rows.append([_pid(process), cell(name), where, cell(usage.pool.word), *_peak(usage)])
        for phase in process.phases:
            where = cell(device_word(phase.device), Role.INDEX)
            in_phase = cell(f"phase {clean(phase.name)}", Role.NOTICE)
            figures = (cell(size_text(phase.peak_bytes)), cell(clock_text(phase.time_ns), Role.DIM))
            runs = cell(f"{count_text(phase.run_count)} run{'' if phase.run_count == 1 else 's'}", Role.DIM)
            rows.append([_pid(process), in_phase, where, cell(phase.pool.word), *figures, runs])
    columns = [
        Column("PID", is_right=True),
        Column("LABEL"),
        Column("DEV"),
        Column("POOL"),
        Column("PEAK", is_right=True),
        Column("AT"),
        Column(""),
    ]
    return grid(columns, rows, width=None) if rows else []


def _pid(process: ProcessUsage) -> Line:
    return cell(str(process.pid))


def _peak(usage: PoolUsage) -> tuple[Line, ...]:
    left = f"{size_text(usage.used_bytes)} never freed" if usage.used_bytes else ""
    mark = "planned" if usage.is_planned else left
    return cell(size_text(usage.peak_bytes)), cell(clock_text(usage.peak_time_ns), Role.DIM), cell(mark, Role.DIM)
