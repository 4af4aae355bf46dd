"""The kernels of one chip, program by program, and what the chip's ring and caches have done."""

from dataclasses import dataclass

from ttmem.devices import BinaryStatus, Device, Kind
from ttmem.snapshot.activity import Activity
from ttmem.tracking import CoreType, FoundBy

__all__ = ["KernelRow", "KernelTable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRow:
    """One kernel of one program."""

    pid: int
    program: int | None
    id: int
    name: str
    kind: Kind
    found_by: FoundBy
    core_type: CoreType
    binary_bytes: int | None
    core_count: int | None
    exact_bytes: int | None  # None: not known; then the seeds' rule stands for it
    seed_rule_bytes: int | None  # binary size x cores
    status: BinaryStatus | None  # of its program's binaries; None if the program never had any
    launch_count: int | None  # of its program
    cache_hit_count: int | None  # launches of its program that found it made already


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTable:
    """All kernels of one chip: the largest first, the rest counted."""

    time_ns: int
    device: Device
    rows: tuple[KernelRow, ...]
    more_count: int
    activity: Activity
