"""`Tracker`: the calls with which a runtime reports what it does with the memory of its devices.

A runtime is given a `Tracker` and calls it whenever something is allocated, freed, loaded or launched. The base class
ignores every call, so a subclass overrides only those it wants. An operation on a mesh is reported once, not once per
chip. Runtimes and trackers import this module and not each other.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ttmem.devices import (
    BinaryStatus,
    BufferLayout,
    BufferType,
    Cache,
    CacheOutcome,
    CoreType,
    FoundBy,
    KernelType,
    Kind,
    Pool,
    RefusalKind,
    Stall,
)

__all__ = [
    "BufferDescription",
    "Cache",
    "CacheOutcome",
    "CoreAllocated",
    "CorePart",
    "CoreSet",
    "CoreType",
    "FoundBy",
    "KernelFacts",
    "KernelType",
    "Refusal",
    "RefusalKind",
    "Stall",
    "TrackedBuffer",
    "TrackedChip",
    "TrackedDevice",
    "Tracker",
]


class CoreSet(Protocol):
    """Cores by their places; as text `0,0-7,7;0,8-3,8`: rectangles, corners included."""

    @property
    def core_count(self) -> int: ...
    def __str__(self) -> str: ...


class TrackedChip(Protocol):
    """What a runtime knows of a chip it opened."""

    @property
    def unique_id(self) -> int: ...
    @property
    def index(self) -> int: ...
    @property
    def arch(self) -> str: ...
    @property
    def board(self) -> str: ...
    @property
    def grid(self) -> tuple[int, int]: ...
    @property
    def dram_bank_count(self) -> int: ...
    @property
    def l1_bank_count(self) -> int: ...
    @property
    def kernel_ring_bytes(self) -> int: ...
    def capacity_bytes(self, pool: Pool) -> int:
        """All banks of a pool together; 0 if it has none or nobody knows."""


class TrackedDevice(Protocol):
    """A chip, or a mesh of chips that are used as one. `id` is the runtime's own, unique in its process."""

    @property
    def id(self) -> int: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def chips(self) -> Sequence[TrackedChip]:
        """Row by row; a chip alone is its own only one."""


class TrackedBuffer(Protocol):
    """A buffer; sizes are those on one chip. One that stores a captured trace may say so: `holds_trace = True`."""

    @property
    def unique_id(self) -> int: ...
    @property
    def address(self) -> int: ...
    @property
    def requested_bytes(self) -> int: ...
    @property
    def per_bank_bytes(self) -> int: ...
    @property
    def reserved_bytes(self) -> int:
        """What all banks give up for it."""

    @property
    def buffer_type(self) -> BufferType: ...
    @property
    def device(self) -> TrackedDevice: ...
    @property
    def program(self) -> int:
        """The program whose binaries it holds, or 0."""


class BufferDescription(NamedTuple):
    """What a buffer may say of itself besides, as `description`: the tensor that it holds, and who asked for it."""

    tensor: str  # "1x1x32x14336 bfloat16 tile"
    operation: str  # "ttnn.matmul"; empty: not known
    layout: BufferLayout
    page_bytes: int


class CorePart(NamedTuple):
    """One address of a buffer that is allocated by core, and the cores it has there."""

    address: int
    cores: CoreSet


class CoreAllocated(TrackedBuffer, Protocol):
    """A buffer that only some cores give memory for, each where it has room; `per_bank_bytes` are those of one core."""

    @property
    def core_parts(self) -> Sequence[Sequence[CorePart]]:
        """For every chip of its device, in order: its parts, one for each address. Empty: not allocated by core."""


class KernelFacts(NamedTuple):
    """What a runtime knows of a kernel besides its size; every field may be left unknown."""

    program: int = 0
    name: str = ""
    source_path: str = ""
    core_type: CoreType = CoreType.UNKNOWN
    owner: KernelType | None = None  # what kind of program it belongs to, if the runtime knows
    exact_bytes: int | None = None  # over all cores; None: the allocation server's rule stands in
    binary_times_cores_bytes: int | None = None  # None: size x cores
    payload_bytes: int = 0  # in DRAM, padded to pages
    image: int = 0  # equal for equal binaries
    packed_bytes: tuple[int, ...] = ()  # of its binaries, one for each processor


class Refusal(NamedTuple):
    """What a runtime refused. Figures are those of its own text; what nobody knows is None, an id or address 0."""

    kind: RefusalKind
    pool: Pool
    requested_bytes: int | None = None  # on one chip: in all banks
    per_bank_bytes: int | None = None
    free_bytes: int | None = None  # in all banks
    largest_free_bytes: int | None = None
    bank_free_bytes: int | None = None  # of one bank
    bank_largest_free_bytes: int | None = None
    bank_count: int = 0
    space_begin_address: int = 0  # of the allocator that refused, in each bank
    space_end_address: int = 0
    program: int = 0
    cores: CoreSet | None = None
    cb_end_address: int = 0
    buffer_address: int = 0  # of the lowest buffer
    is_per_core: bool = False  # asked of single cores: a bank is a core
    text: str = ""
    tensor: str = ""  # that was to be allocated: "1x1x32x14336 bfloat16 tile"
    operation: str = ""  # that asked, or was to be launched: "ttnn.matmul"


class Tracker:
    """Every call a runtime makes; here each of them does nothing. None may raise, block or change what its caller does.

    The first seven are those of the older design's GraphTracker, with its parameters.
    """

    def track_allocate(self, buffer: TrackedBuffer) -> None:
        """A buffer was allocated; one that is allocated by core is a `CoreAllocated`, which has parts."""

    def track_deallocate(self, buffer: TrackedBuffer) -> None:
        """A buffer was freed."""

    def track_allocate_cb(
        self,
        core_ranges: CoreSet,
        address: int,
        size_bytes: int,
        is_globally_allocated: bool,
        device: TrackedDevice,
        *,
        program: int = 0,
        cb_id: int = 0,
        kind: Kind = Kind.CIRCULAR_BUFFER,
    ) -> None:
        """One circular buffer of a program; `size_bytes` on each core. A global one is a view of a buffer.

        `kind` is given for dataflow buffers and scratchpads only, which are laid out among circular buffers.
        """

    def track_deallocate_cb(self, device: TrackedDevice, *, program: int = 0) -> None:
        """All circular buffers of a program end; of program 0, all on that device."""

    def track_kernel_load(
        self,
        kernel_size: int,
        kernel_id: int,
        device: TrackedDevice,
        kernel_type: int = KernelType.APPLICATION,
        num_cores: int = 1,
        *,
        facts: KernelFacts | None = None,
    ) -> None:
        """A kernel was loaded; both dispatch paths may report the same load."""

    def track_kernel_unload(self, kernel_id: int, device: TrackedDevice) -> None:
        """A kernel is gone: its program was destroyed."""

    def track_program(self, program: int, device: TrackedDevice) -> None:
        """A program is about to run."""

    def track_device_opened(self, device: TrackedDevice) -> None:
        """A device was opened, by a runtime that also reports launches, statuses and ends of programs."""

    def track_device_closed(self, device: TrackedDevice) -> None:
        """Everything of that device ends; what is freed later is no finding."""

    def track_binary_status(self, program: int, status: BinaryStatus, device: TrackedDevice) -> None:
        """The binaries of a program moved on."""

    def track_program_end(self, program: int, device: TrackedDevice) -> None:
        """A program was destroyed."""

    def track_launch(self, program: int, device: TrackedDevice) -> None:
        """Once per launch, cached or not, replays included; counted, never charged."""

    def track_operation(self, program: int, device: TrackedDevice, operation: str) -> None:
        """A program that was launched is that of an operation: "ttnn.matmul"."""

    def track_ring(
        self,
        device: TrackedDevice,
        core_type: CoreType,
        *,
        live_bytes: int,
        retired_bytes: int,
        entry_count: int,
        stall: Stall = Stall.NONE,
        ring_bytes: int = 0,
        has_launched: bool = True,
    ) -> None:
        """The kernel ring of one core after a launch: in use, finished but intact, and why the launch waited.

        `ring_bytes` is its size. Without a launch there, the ring changed otherwise: by a replayed trace, or a wait.
        """

    def track_cache(
        self,
        device: TrackedDevice,
        cache: Cache,
        outcome: CacheOutcome,
        *,
        size_bytes: int = 0,
        entry_count: int = 0,
        held_bytes: int = 0,
    ) -> None:
        """One answer of a cache about `size_bytes`, and what it holds afterwards."""

    def track_incident(self, device: TrackedDevice, refusal: Refusal) -> None:
        """Memory ran out, or circular buffers clash; once for a mesh, before the exception leaves the runtime."""

    def track_trace_began(self, trace: int, device: TrackedDevice) -> None:
        """Launches on that device are recorded from now on, not run."""

    def track_trace_recorded(self, trace: int, program: int, device: TrackedDevice) -> None:
        """A launch of a program is part of the trace."""

    def track_trace_captured(self, trace: int, size_bytes: int, device: TrackedDevice) -> None:
        """The trace is stored; `size_bytes` on each chip."""

    def track_trace_replayed(self, trace: int, device: TrackedDevice) -> None:
        """The trace is about to run."""

    def track_trace_released(self, trace: int, device: TrackedDevice) -> None:
        """The trace is gone, or its capture came to nothing."""
