"""Rows about who holds what: processes of one label and user together, the largest few and all others as one.

Only on request: a user who runs processes by the thousand would make series by the thousand. Pids are never a label.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.families import Page
from ttmem.devices import BANKED_POOLS, POOL_TOTALS, PoolTotal
from ttmem.snapshot import PoolUsage, ProcessUsage

__all__ = ["OTHERS", "add_workloads", "cut"]

OTHERS = ("other", "")
_LABEL_BYTES, _USER_BYTES, _COMMAND_BYTES = 128, 128, 256
Name = tuple[str, str]  # workload and user


@dataclass(slots=True)
class _Workload:
    """The processes of one name."""

    process_count: int = 0
    incident_count: int = 0
    command: str = ""
    counted: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))  # by device and memory
    read: dict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    totals: dict[PoolTotal, dict[tuple[str, str], int]] = field(
        default_factory=lambda: {total: defaultdict(int) for total in POOL_TOTALS}
    )

    @property
    def size_bytes(self) -> int:
        return sum(self.counted.values()) + sum(self.read.values())  # only to tell which ones are large

    def add(self, process: ProcessUsage, devices: Mapping[int, str]) -> None:
        self.process_count += 1
        self.incident_count += process.incident_count
        self.command = min(filter(None, (self.command, process.command)), default="")
        for held in process.devices:
            label = devices.get(held.device.number)
            for usage in held.pools if label is not None else ():
                if usage.pool in BANKED_POOLS:
                    place = label or "", usage.pool.word
                    self._sums(usage)[place] += usage.used_bytes
                    for total, size_bytes in usage.totals:
                        if size_bytes is not None:
                            self.totals[total][place] += size_bytes

    def take(self, other: "_Workload") -> None:
        self.process_count += other.process_count
        self.incident_count += other.incident_count
        totals = ((self.totals[total], other.totals[total]) for total in POOL_TOTALS)
        for mine, its in ((self.counted, other.counted), (self.read, other.read), *totals):
            for place, size_bytes in its.items():
                mine[place] += size_bytes

    def _sums(self, usage: PoolUsage) -> dict[tuple[str, str], int]:
        return self.read if usage.is_read else self.counted


def add_workloads(page: Page, processes: Iterable[ProcessUsage], devices: Mapping[int, str], most: int) -> None:
    """The largest, and `other` for the rest; `devices`: the labels of devices by their numbers."""
    found: dict[Name, _Workload] = defaultdict(_Workload)
    for process in filter(lambda one: one.is_verified, processes):
        name = (cut(process.label, _LABEL_BYTES) or "unknown", cut(process.user, _USER_BYTES))
        found[name].add(process, devices)
    order = sorted(found, key=lambda name: (-found[name].size_bytes, name))
    shown = {name: found[name] for name in order[:most]}
    if order[most:]:
        shown[OTHERS] = _Workload()
        for name in order[most:]:
            shown[OTHERS].take(found[name])
    for name, workload in shown.items():
        _add_workload(page, name, workload)


def _add_workload(page: Page, name: Name, workload: _Workload) -> None:
    page.add(metric.WORKLOAD, (*name, cut(workload.command, _COMMAND_BYTES)), 1)
    page.add(metric.WORKLOAD_PROCESSES, name, workload.process_count)
    page.add(metric.WORKLOAD_INCIDENTS, name, workload.incident_count)
    of_totals = ((metric.WORKLOAD_TOTALS[total], sums) for total, sums in workload.totals.items())
    for family, sums in (
        (metric.WORKLOAD_USED, workload.counted),
        (metric.WORKLOAD_READ, workload.read),
        *of_totals,
    ):
        for place, size_bytes in sums.items():
            page.add(family, (*place, *name), size_bytes)


def cut(text: str, most_bytes: int) -> str:
    """A label of at most that many bytes, without characters that a page cannot have."""
    return text.encode(errors="replace")[:most_bytes].decode(errors="ignore").replace("\0", "")
