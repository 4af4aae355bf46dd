"""What a process holds of a mesh it opened: buffers, programs, queues and caches, its reporter, and its own books.

Dispatch works on this; `MeshDevice` is the same with the calls users make.
"""

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from ttmem.devices import BufferType
from ttmem.metal.chips import Chip, DispatchCores
from ttmem.metal.memory import Allocation, Allocator, BadBuffer, Buffer, BufferSpec, Core, OutOfDeviceMemory
from ttmem.metal.programs import CoreRange, CoreRanges, MeshRange, MeshWorkload, Program, ProgramMisuse
from ttmem.metal.state.accounts import POOLS, Account
from ttmem.metal.state.caches import JitCache, ProgramCache
from ttmem.metal.state.queue import CommandQueue
from ttmem.metal.state.reports import Reports
from ttmem.metal.state.ring import RingRequest
from ttmem.metal.state.trace_storage import DramActivity
from ttmem.tracking import CorePart, Refusal, RefusalKind, TrackedDevice, Tracker

__all__ = ["Capture", "Host", "HostPlace"]

_device_ids = itertools.count(1)


class HostPlace:
    """Some chips of a mesh that are used for themselves."""

    def __init__(self, chips: Sequence[Chip], shape: tuple[int, int]) -> None:
        self.id = next(_device_ids)
        self.chips = tuple(chips)
        self.shape = shape


@dataclass(slots=True)
class Capture:
    """A trace that is being captured: what would have run since it began, and what happened to DRAM."""

    trace: int
    queue: int
    workloads: list[MeshWorkload] = field(default_factory=list)
    dram: DramActivity = field(default_factory=DramActivity)


class Host(ABC):
    """An open mesh of chips, used as one: one allocator, one set of queues, one record per operation."""

    def __init__(
        self,
        chips: Sequence[Chip],
        shape: tuple[int, int],
        *,
        tracker: Tracker | None,
        command_queue_count: int,
        is_hybrid: bool = False,
    ) -> None:
        self.id = next(_device_ids)
        self.chips = tuple(chips)
        self.shape = shape
        self.architecture = chips[0].architecture
        self.dispatch = chips[0].dispatch
        self.is_open = True
        self.reports = Reports(self, tracker)
        self.allocator = Allocator(chips[0], chip_count=len(chips), is_hybrid=is_hybrid)
        self.accounts: dict[TrackedDevice, Account] = {}
        self.chip_accounts: list[list[Account]] = [[] for _ in chips]  # of all places a chip belongs to
        self.jit_cache = JitCache(self.reports, (self.architecture.name, self.architecture.build))
        self.program_cache = ProgramCache(self.reports, self.architecture.payload_page_bytes)
        if self.dispatch is DispatchCores.SLOW:
            command_queue_count = 0
        self.queues = [CommandQueue(chips[0], self.reports) for _ in range(command_queue_count)]
        self.last_queue = self.queues[0] if self.queues else None  # the one that used the ring last
        self.buffers: dict[int, Buffer] = {}  # alive, by their ids
        self.programs: dict[int, Program] = {}  # loaded, by their ids
        self.workloads: dict[int, MeshWorkload] = {}  # loaded, by their ids
        self.requests: dict[int, RingRequest] = {}  # what a launch of each needs of the ring
        self.capture: Capture | None = None
        self.refusal_count = self.clash_count = 0
        self._turns = itertools.count(1)
        self._places: dict[tuple[int, ...], TrackedDevice] = {}
        self._occupy(self, range(len(self.chips)))

    # Places

    def place(self, where: MeshRange | None) -> TrackedDevice:
        """The chips of a range as one device; the mesh itself if they are all of its chips."""
        if where is None:
            return self
        rows, columns = self.shape
        if where.last[0] >= rows or where.last[1] >= columns:
            raise ProgramMisuse(f"chips up to {where.last} on a mesh of {rows}x{columns}")
        (first_row, first_column), (last_row, last_column) = where.first, where.last
        indices = tuple(
            row * columns + column
            for row in range(first_row, last_row + 1)
            for column in range(first_column, last_column + 1)
        )
        return self._place_of(indices, (last_row - first_row + 1, last_column - first_column + 1))

    def chip_place(self, index: int) -> TrackedDevice:
        """One chip as a device."""
        return self._place_of((index,), (1, 1))

    # Buffers

    def create_buffer(
        self,
        spec: BufferSpec,
        *,
        is_bottom_up: bool | None = None,
        program: int = 0,
        holds_trace: bool = False,
        operation: str = "",
    ) -> Buffer:
        """Allocates a buffer on every chip of the mesh, for an operation if one is named; refused, nothing is
        changed."""
        if not isinstance(spec, BufferSpec):
            raise BadBuffer(f"no buffer to create: {spec!r}; use a BufferSpec, or what tensor() makes of a shape")
        self.refuse_if_closed()
        try:
            placement = self.allocator.allocate(spec, is_bottom_up=is_bottom_up)
        except OutOfDeviceMemory as refusal:
            reported = self._refusal_of(refusal, spec)
            self.report_refusal(reported._replace(tensor=spec.tensor, operation=operation))
            raise
        parts = [_core_parts(placement.cores, addresses) for addresses in placement.core_addresses]
        buffer = Buffer(
            spec,
            placement,
            self,
            program=program,
            holds_trace=holds_trace,
            core_parts=parts,
            operation=operation,
            release=self._release_buffer,
        )
        self.buffers[buffer.unique_id] = buffer
        self.accounts[self].add_buffer(buffer)
        try:
            if self.capture is not None and spec.buffer_type is BufferType.DRAM:
                self.capture.dram.note_allocated(placement.address + placement.block_bytes)
            self.reports.tracker.track_allocate(buffer)
        except BaseException:  # it would have no holder, so nothing could free it
            buffer.deallocate()
            raise
        return buffer

    def _release_buffer(self, buffer: Buffer) -> None:
        if self.buffers.pop(buffer.unique_id, None) is None:
            return  # it ended with its device
        self.allocator.free(buffer.placement)
        self.accounts[self].add_buffer(buffer, -1)
        if self.capture is not None and buffer.buffer_type is BufferType.DRAM:
            self.capture.dram.note_freed(buffer.address + buffer.placement.block_bytes)
        self.reports.tracker.track_deallocate(buffer)

    def report_refusal(self, refusal: Refusal) -> None:
        """Counts it and reports it, once for all chips."""
        if refusal.kind is RefusalKind.CLASH:
            self.clash_count += 1
        else:
            self.refusal_count += 1
        self.reports.refused(refusal)

    def load_sub_devices(self, cores: Sequence[CoreRanges], local_l1_bytes: int) -> None:
        """Divides the cores into sub-devices, each with L1 of its own; buffers name it by its place here."""
        self.refuse_if_closed()
        self.allocator.load_sub_devices(cores, local_l1_bytes)

    def clear_sub_devices(self) -> None:
        """The end of them; nothing may lie in their L1."""
        self.allocator.clear_sub_devices()

    def _refusal_of(self, refusal: OutOfDeviceMemory, spec: BufferSpec) -> Refusal:
        """Every figure that the runtime's text names, and where in each bank the memory lies that ran out."""
        figures, bank_count = refusal.statistics, refusal.bank_count
        space = self.allocator.space_of(spec)
        lowest = self.allocator.lowest_l1_address if refusal.buffer_type is BufferType.L1 else None
        return Refusal(
            RefusalKind.OUT_OF_MEMORY,
            POOLS[refusal.buffer_type],
            requested_bytes=refusal.requested_bytes,
            per_bank_bytes=refusal.per_bank_bytes,
            free_bytes=figures.free_bytes * bank_count,
            largest_free_bytes=figures.largest_free_bytes * bank_count,
            bank_free_bytes=figures.free_bytes,
            bank_largest_free_bytes=figures.largest_free_bytes,
            bank_count=bank_count,
            space_begin_address=space.begin,
            space_end_address=space.end,
            cores=CoreRanges.at(*space.cores) if space.cores else None,
            buffer_address=lowest or 0,
            is_per_core=spec.allocation is Allocation.PER_CORE,
            text=str(refusal),
        )

    # Programs

    def queue(self, number: int) -> CommandQueue:
        """One of its command queues."""
        if not 0 <= number < len(self.queues):
            raise ProgramMisuse(f"no command queue {number} on device {self.id}, which has {len(self.queues)}")
        return self.queues[number]

    def count_launch(self, program: int, place: TrackedDevice) -> None:
        """A program ran on its chips."""
        self.accounts[place].launch(program, next(self._turns))
        self.reports.tracker.track_launch(program, place)

    def end(self) -> None:
        """The device is closed: whatever is still on it ends, and the books are empty."""
        self.is_open = False
        self.capture = None
        self.buffers.clear()
        self.allocator.clear()
        self.chip_accounts = [[] for _ in self.chips]
        self.jit_cache.close()
        self.reports.close()

    @abstractmethod
    def release_program(self, program: Program) -> None:
        """Takes a program off its chips."""

    @abstractmethod
    def release_workload(self, workload: MeshWorkload) -> None:
        """The same for a workload, with its payload."""

    def workers_of(self, request: RingRequest) -> int:
        """The cores that answer a launch: all that compute, and all active ethernet cores if it runs on such."""
        chip = self.chips[0]
        return chip.l1_bank_count * request.is_multicast + chip.router_count * request.is_unicast

    def refuse_if_closed(self) -> None:
        if not self.is_open:
            raise ProgramMisuse(f"device {self.id} is closed")

    def lowest_l1_address_on(self, cores: CoreRange) -> int | None:
        """Where the lowest L1 buffer on these cores begins."""
        return self.allocator.lowest_l1_address_on(CoreRanges([cores]))

    def _place_of(self, indices: tuple[int, ...], shape: tuple[int, int]) -> TrackedDevice:
        found = self._places.get(indices)
        if found is None:
            found = HostPlace([self.chips[index] for index in indices], shape)
            self._occupy(found, indices)
        return found

    def _occupy(self, place: TrackedDevice, indices: Sequence[int]) -> None:
        self._places[tuple(indices)] = place
        account = self.accounts[place] = Account(self.architecture.payload_page_bytes)
        for index in indices:
            self.chip_accounts[index].append(account)
        self.reports.open(place)


@lru_cache(maxsize=256)  # benchmarks/promises/metal.py: the model's own pace
def _core_parts(cores: tuple[Core, ...], addresses: tuple[int, ...]) -> tuple[CorePart, ...]:
    """The cores of one chip by the address they have a buffer at; chips and buffers that lie alike share the answer."""
    cores_at: dict[int, list[Core]] = {}
    for core, address in zip(cores, addresses, strict=True):
        cores_at.setdefault(address, []).append(core)
    return tuple(CorePart(address, CoreRanges.at(*found)) for address, found in cores_at.items())
