"""The table of workloads: what the processes of each job, pod, unit or run hold together.

Sums are of DRAM, traces and L1 only: circular buffers and kernels of several processes are not added up. What was read
from the runtime's own counters has a row of its own, since it is never added to what was counted.
"""

from collections.abc import Sequence
from functools import partial

from ttmem.devices import BANKED_POOLS
from ttmem.snapshot import DeviceUsage, ProcessUsage
from ttmem.snapshot.workload import NamedBy
from ttmem.view.table import Cell, Column, Line, Role, cell, clean, clipped, table
from ttmem.view.texts import UNKNOWN, count_text, devices_word, size_text

_WORDS: dict[NamedBy, str] = {
    "workload": "TTMEM_WORKLOAD",
    "slurm": "Slurm job",
    "pod": "pod",
    "unit": "systemd unit",
    "label": "label",
    "user": "label and user",
}
_Group = list[ProcessUsage]


def workload_table(
    processes: Sequence[ProcessUsage], devices: Sequence[DeviceUsage], *, width: int | None, is_ascii: bool
) -> list[Line]:
    """A row for each workload, the largest first."""
    groups: dict[tuple[NamedBy, str, bool], _Group] = {}
    for process in processes:
        by: NamedBy = process.workload.named_by if process.workload else "user"
        name = process.workload.id if process.workload else process.label
        groups.setdefault((by, name, process.source == "runtime"), []).append(process)
    pools = [pool for pool in BANKED_POOLS if any(one.pool is pool for held in processes for one in held.pools)]
    columns = [
        Column("WORKLOAD", least=12, most=40),
        Column("NAMED BY", rank=1),
        Column("USER", rank=2),
        Column("PROCESSES", is_right=True, short_title="PROCS"),
        Column("DEV", least=3),
        *(Column(pool.word.upper(), is_right=True, least=8) for pool in pools),
        Column("LAUNCHES", is_right=True, rank=3),
        Column("INCIDENTS", is_right=True),
        Column("VIA", rank=4),
    ]
    names = {usage.device.number: usage.device for usage in devices}
    rows: list[list[Cell]] = []
    for (named_by, name, is_read), group in sorted(groups.items(), key=lambda one: -_used(one[1])):
        chips = sorted({number for process in group for number in process.chips})
        users = sorted({clean(process.user) for process in group})
        incidents = sum(process.incident_count for process in group)
        launches = [process.launch_count for process in group if process.launch_count is not None]
        rows.append(
            [
                partial(_clipped, clean(name), is_ascii),
                cell(_WORDS[named_by], Role.DIM),
                cell(", ".join(users)),
                cell(count_text(len(group))),
                cell(devices_word(names[number] for number in chips if number in names), Role.INDEX),
                *(_size(size_bytes) for size_bytes in (_sum(group, [pool]) for pool in pools)),
                cell(count_text(sum(launches))) if launches else cell("-", Role.DIM),
                cell(count_text(incidents), Role.FULL if incidents else Role.DIM),
                cell("read" if is_read else "counted", Role.NOTICE if is_read else Role.DIM),
            ]
        )
    return table(columns, rows, width=width)


def _sum(group: _Group, pools: Sequence[object]) -> int | None:
    """None if it is not known of one of them."""
    if any(process.origin == "unknown" for process in group):
        return None
    return sum(usage.used_bytes for process in group for usage in process.pools if usage.pool in pools)


def _used(group: _Group) -> int:
    return _sum(group, BANKED_POOLS) or 0


def _size(size_bytes: int | None) -> Line:
    return cell(UNKNOWN, Role.DIM) if size_bytes is None else cell(size_text(size_bytes))


def _clipped(text: str, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii))
