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
    binary_bytes: int | None  # on one core: all its binaries, each rounded up
    packed_bytes: tuple[int, ...]  # of each binary, one for each processor; empty if nobody told
    core_count: int | None
    exact_bytes: int | None  # None: not known; then the seeds' rule stands for it
    seed_rule_bytes: int | None  # binary size x cores
    status: BinaryStatus | None  # of its program's binaries; None if the program never had any
    launch_count: int | None  # of its program
    time_ns: int | None  # when it was loaded
    operation: str = ""  # of its program; empty if nobody told

    @property
    def cache_hit_count(self) -> int | None:
        """Launches of its program that found it made already: all but the first."""
        return None if self.launch_count is None else max(0, self.launch_count - 1)

    @property
    def charged_bytes(self) -> int | None:
        """What it counts for: its exact bytes, else the seeds' rule."""
        return self.seed_rule_bytes if self.exact_bytes is None else self.exact_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTable:
    """All kernels of one chip: the largest first, the rest counted."""

    time_ns: int
    device: Device
    rows: tuple[KernelRow, ...]
    more_count: int
    activity: Activity
    launch_count: int | None = None  # on the chip, of all programs
    reason: str = ""  # why the list is not whole; empty when it is
