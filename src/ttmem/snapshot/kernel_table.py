"""The kernels of one chip, program by program, and what the chip's ring and caches have done."""

from ttmem.devices import BinaryStatus, Kind
from ttmem.snapshot.activity import Activity
from ttmem.snapshot.values import Answer, Count, Device, Hex, Struct, TimeNs
from ttmem.tracking import CoreType, FoundBy

__all__ = ["KernelRow", "KernelTable"]


class KernelRow(Struct, frozen=True, kw_only=True):
    """One kernel of one program."""

    pid: Count
    program: Count | None
    id: Hex
    name: str
    kind: Kind
    found_by: FoundBy
    core_type: CoreType
    binary_bytes: Count | None  # on one core: all its binaries, each rounded up
    packed_bytes: tuple[Count, ...]  # of each binary, one for each processor; empty if not known
    core_count: Count | None
    exact_bytes: Count | None  # None: not known; then binary size x cores stands for it
    binary_times_cores_bytes: Count | None  # binary size x cores
    status: BinaryStatus | None  # of its program's binaries; None if the program never had any
    launch_count: Count | None  # of its program
    time_ns: TimeNs | None  # when it was loaded
    operation: str = ""  # of its program; empty if not known

    @property
    def cache_hit_count(self) -> int | None:
        """Launches of its program that found it made already: all but the first."""
        return None if self.launch_count is None else max(0, self.launch_count - 1)

    @property
    def charged_bytes(self) -> int | None:
        """What it counts for: its exact bytes, else binary size x cores."""
        return self.binary_times_cores_bytes if self.exact_bytes is None else self.exact_bytes


class KernelTable(Answer, frozen=True, kw_only=True):
    """All kernels of one chip: the largest first, the rest counted."""

    time_ns: TimeNs
    device: Device
    rows: tuple[KernelRow, ...]
    more_count: Count
    activity: Activity
    launch_count: Count | None = None  # on the chip, of all programs
    reason: str = ""  # why the list is not whole; empty when it is
