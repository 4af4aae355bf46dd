"""What a process does besides what it holds: its programs, its phases and their peaks, its meshes, what was refused."""

from ttmem.devices import BinaryStatus, Pool
from ttmem.snapshot.values import ChipName, Count, Hex, Struct, TimeNs

__all__ = ["Clash", "Mesh", "OpenPhase", "OutOfMemory", "PhasePeak", "Program"]


class Program(Struct, frozen=True):
    """A program whose binaries a process sent, or is about to send."""

    device: ChipName
    program: Count | None  # the runtime's number; None: it was launched without one
    status: BinaryStatus
    launch_count: Count
    dram_bytes: Count  # of its binaries
    operation: str = ""  # whose program it is; empty if not known


class PhasePeak(Struct, frozen=True):
    """The highest use of a pool while a phase of that name ran."""

    name: str
    device: ChipName
    pool: Pool
    peak_bytes: Count
    time_ns: TimeNs | None
    run_count: Count  # how often a phase of that name ended
    is_lower_bound: bool = False  # several targets stand for the chip; of their sum only the highest part is known


class OpenPhase(Struct, frozen=True):
    """Phases of one name that began and did not end: they run, or their process died in them."""

    name: str
    since_ns: TimeNs | None
    open_count: Count


class Mesh(Struct, frozen=True):
    """Chips that a process opened as one."""

    mesh_id: Hex
    rows: Count
    columns: Count
    devices: tuple[ChipName, ...]


class OutOfMemory(Struct, frozen=True):
    """An allocation the runtime refused."""

    device: ChipName
    pool: Pool
    requested_bytes: Count
    free_bytes: Count  # then; 0, as the largest block, for a buffer by core: what its cores had is not known
    largest_free_bytes: Count
    time_ns: TimeNs


class Clash(Struct, frozen=True):
    """A program whose circular buffers would have reached into an L1 buffer."""

    device: ChipName
    program: Count | None
    cb_end_address: Count  # where its circular buffers end, on each core
    buffer_address: Count  # of the lowest buffer below that end
    time_ns: TimeNs

    @property
    def overlap_bytes(self) -> int:
        """By how much, on each core."""
        return max(0, self.cb_end_address - self.buffer_address)
