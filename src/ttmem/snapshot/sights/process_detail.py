"""One process close up: what it holds, largest or oldest first; its phases and peaks; who asked for it."""

from dataclasses import dataclass

from ttmem.snapshot.dump import Allocation
from ttmem.snapshot.refusals import Clash, OutOfMemory
from ttmem.snapshot.sights.overview import ProcessRow
from ttmem.snapshot.usage import Finding, Mesh, PhasePeak, ProcessDevice

__all__ = ["Holding", "ProcessDetail", "SiteSum"]


@dataclass(frozen=True, slots=True)
class Holding:
    """One allocation, and on which chips it lies."""

    devices: tuple[int, ...]
    allocation: Allocation


@dataclass(frozen=True, slots=True)
class SiteSum:
    """All that one line of Python asked for and still holds."""

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
    out_of_memory: tuple[OutOfMemory, ...]
    clashes: tuple[Clash, ...]
    meshes: tuple[Mesh, ...]
    findings: tuple[Finding, ...]
