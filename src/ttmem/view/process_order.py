"""In which order processes stand in a table: by a column, or children below the process that started them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ttmem.devices import Pool
from ttmem.snapshot import ProcessUsage

__all__ = ["COLUMNS", "Branches", "ordered", "tree"]

_EXCLUSIVE = (Pool.DRAM, Pool.TRACE, Pool.L1, Pool.L1_SMALL)
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
    shown = 0
    for held in process.devices:
        sums = sum(usage.used_bytes for usage in held.pools if usage.pool is Pool.CB)
        shown += held.activity.footprint.planned_bytes if held.activity.footprint else sums
    return -shown


def _peak(process: ProcessUsage) -> int:
    return -sum(usage.peak_bytes for held in process.devices for usage in held.pools if usage.pool in _EXCLUSIVE)


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
    "total": _used(*_EXCLUSIVE),
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
