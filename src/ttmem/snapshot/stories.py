"""What a process has to tell besides what it holds: its programs, its phases and their peaks, the meshes it opened."""

from typing import NamedTuple

from ttmem.devices import BinaryStatus, Device, Pool

__all__ = ["Mesh", "OpenPhase", "PhasePeak", "Program"]


class Program(NamedTuple):
    """A program whose binaries a process sent, or is about to send."""

    device: Device
    program: int | None  # the runtime's number; None: it was launched without one
    status: BinaryStatus
    launch_count: int
    dram_bytes: int
    operation: str = ""  # whose program it is; empty if nobody told


class PhasePeak(NamedTuple):
    """The highest use of a pool while a phase of that name ran."""

    name: str
    device: Device
    pool: Pool
    peak_bytes: int
    time_ns: int | None
    run_count: int
    is_lower_bound: bool = False  # several targets stand for the chip; of their sum only the highest part is known


class OpenPhase(NamedTuple):
    """Phases of one name that began and did not end: they run, or their process died in them."""

    name: str
    since_ns: int | None
    open_count: int


class Mesh(NamedTuple):
    """Chips that a process opened as one."""

    mesh_id: int
    rows: int
    columns: int
    devices: tuple[Device, ...]
