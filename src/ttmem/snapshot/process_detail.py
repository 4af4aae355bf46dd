"""One process close up: what it holds, largest or oldest first; its phases and peaks; who asked for it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ttmem.devices import Device
from ttmem.errors import SelectionError
from ttmem.snapshot.dump import Allocation, allocation_from_row, owner_of
from ttmem.snapshot.refusals import Clash, OutOfMemory
from ttmem.snapshot.sights.overview import ParentOf, ProcessRow, no_parent, process_row_of
from ttmem.snapshot.usage import Finding, Mesh, OpenPhase, PhasePeak, ProcessDevice, ProcessUsage

__all__ = ["Holding", "Listed", "ProcessDetail", "SiteSum", "found_process", "process_detail_of"]


@dataclass(frozen=True, slots=True)
class Holding:
    """One allocation, and on which chips it lies; its size is that on each of them."""

    devices: tuple[int, ...]
    allocation: Allocation


@dataclass(frozen=True, slots=True)
class SiteSum:
    """All that one line of Python asked for and still holds, on all chips together."""

    stack: tuple[str, ...]
    size_bytes: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessDetail:
    """All that is known of one process; lists are cut after the first few, and say so."""

    time_ns: int
    row: ProcessRow
    devices: tuple[ProcessDevice, ...]
    largest: tuple[Holding, ...]
    oldest: tuple[Holding, ...]
    more_count: int  # how many are alive that `largest` does not list
    sites: tuple[SiteSum, ...]  # largest first; empty unless sites are recorded
    phases: tuple[PhasePeak, ...]
    open_phases: tuple[OpenPhase, ...]
    out_of_memory: tuple[OutOfMemory, ...]
    clashes: tuple[Clash, ...]
    meshes: tuple[Mesh, ...]
    findings: tuple[Finding, ...]
    more_site_count: int = 0  # how many hold something that `sites` does not list

    @property
    def chips(self) -> tuple[Device, ...]:
        """Every chip that is spoken of, by number."""
        spoken_of = [held.device for held in self.devices]
        spoken_of += [phase.device for phase in self.phases]
        spoken_of += [refused.device for refused in self.out_of_memory] + [clash.device for clash in self.clashes]
        found = {device.number: device for device in spoken_of}
        found |= {device.number: device for mesh in self.meshes for device in mesh.devices}
        return tuple(found[number] for number in sorted(found))


class Listed(NamedTuple):
    """What the ledger lists of one process: rows of allocations as `Ledger.allocations` has them, and of sites."""

    largest: Sequence[Sequence[Any]] = ()
    oldest: Sequence[Sequence[Any]] = ()
    sites: Sequence[tuple[str, int, int]] = ()  # what the site says, bytes on all chips, how many allocations
    site_count: int = 0  # listed or not

    @classmethod
    def from_rows(cls, rows: Mapping[str, Any]) -> "Listed":
        """From those of `Ledger.process()`."""
        return cls(rows["largest"], rows["oldest"], rows["sites"], rows["site_count"])


def found_process(processes: Iterable[ProcessUsage], pid: int, key: int | None = None) -> ProcessUsage:
    """The process that is meant: by its key, else the living one of that pid, else the one that ended last. There being
    none is a SelectionError."""
    alike = [process for process in processes if process.pid == pid]
    by_key = [process for process in alike if process.key == key]
    live = [process for process in alike if process.is_live]
    for found in (by_key, [process for process in live if process.is_visible], live, alike):
        if found:
            return found[-1]
    raise no_such_process(pid)


def process_detail_of(
    process: ProcessUsage, listed: Listed, *, time_ns: int, parent_of: ParentOf = no_parent
) -> ProcessDetail:
    """Close up: what a snapshot says of a process, and its allocations."""
    owner = owner_of(process)
    return ProcessDetail(
        time_ns=time_ns,
        row=process_row_of(process, (held.device.number for held in process.devices), parent_of),
        devices=process.devices,
        largest=tuple(Holding(row[0], allocation_from_row(row, owner)) for row in listed.largest),
        oldest=tuple(Holding(row[0], allocation_from_row(row, owner)) for row in listed.oldest),
        more_count=max(0, (process.live_count or 0) - len(listed.largest)),
        sites=tuple(SiteSum(tuple(text.split("\n")), size, count) for text, size, count in listed.sites),
        more_site_count=listed.site_count - len(listed.sites),
        phases=process.phases,
        open_phases=process.open_phases,
        out_of_memory=process.out_of_memory,
        clashes=process.clashes,
        meshes=process.meshes,
        findings=process.findings,
    )


def no_such_process(pid: int) -> SelectionError:
    return SelectionError(f"no process {pid} here: it does not report, or ended too long ago to be remembered")
