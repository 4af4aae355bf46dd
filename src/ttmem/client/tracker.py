"""`GraphTracker`: what a runtime says of buffers, circular buffers, kernels and programs, reported into the journal.

A runtime that was given one calls it at the points the seeds name (see `ttmem.tracking`). Nothing here raises, blocks
or prints per call: what cannot be understood is counted in `fault_count`, with one warning. Both dispatch paths may
tell of the same kernel; it is charged once. docs/rules.md has the rules, each with its reason.
"""

import os
from operator import index
from types import TracebackType
from typing import cast

from ttmem import _native
from ttmem.client.notices import warn_once
from ttmem.client.reporter import Client, is_enabled
from ttmem.client.reports import (
    report_buffer_alloc,
    report_buffer_free,
    report_cache,
    report_free,
    report_incident,
    report_out_of_memory,
    report_ring,
    report_trace_begin,
    report_trace_end,
    report_trace_program,
    report_trace_release,
    report_trace_replay,
)
from ttmem.client.tracked import core_buffers
from ttmem.client.tracked.devices import OpenDevice, OpenDevices
from ttmem.client.tracked.kernel_log import kernel_log
from ttmem.client.tracked.kernel_types import UNSAID, Said
from ttmem.client.tracked.kernels import KernelLoad
from ttmem.devices import BinaryStatus, BufferType, Kind, Pool
from ttmem.tracking import (
    Cache,
    CacheOutcome,
    CoreAllocated,
    CoreSet,
    CoreType,
    KernelFacts,
    Refusal,
    Stall,
    TrackedBuffer,
    TrackedDevice,
)

__all__ = ["GraphTracker"]

_NO_ID = Said(0)
_DRAM = BufferType.DRAM
_HOLDS_TRACE = 4  # of ttmem_option
_FIGURES_OF_TEXT, _PER_CORE = 4, 8  # of ttmem_incident_option
_described_site = _native.own.described_site

# A runtime's objects are somebody else's code and may raise anything; all but what ends the program stays here.
# ruff: noqa: BLE001


class GraphTracker:
    """Hears what a runtime does with the memory of its devices.

        tracker = ttmem.GraphTracker()
        with metal.open_device("n150", tracker=tracker) as device:
            ...

    Devices are opened when first heard of. `client` is whose targets they become; without one the environment
    decides whether anything is tracked (TTMEM=1).
    """

    def __init__(self, client: Client | None = None) -> None:
        self.fault_count = 0
        self._devices = OpenDevices(client or Client())
        self._find = self._devices.find
        self._is_watching = False  # whether the runtime tells more than the seeds' calls
        self._log = kernel_log(os.environ)

    def __enter__(self) -> "GraphTracker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes every device that is still open."""
        try:
            self._devices.close_all()
        except Exception as fault:
            self._count_fault("close", fault)

    # ---- the seeds' calls

    def track_allocate(self, buffer: TrackedBuffer) -> None:
        """A buffer was allocated; one that holds a program's binaries is charged as the program's."""
        try:
            device = buffer.device
            opened = self._find(device.id) or self._open(device)
            if opened is None:
                return
            kind = buffer.buffer_type
            parts = getattr(buffer, "core_parts", None)
            if parts:
                core_buffers.report(opened, cast("CoreAllocated", buffer), parts)
                return
            if buffer.program and kind == _DRAM:
                opened.programs.hold(buffer.program, buffer.reserved_bytes, buffer.address)
                return
            is_trace = kind == _DRAM and getattr(buffer, "holds_trace", False)  # which not every host's buffers say
            about = getattr(buffer, "description", None)  # nor this
            handle = report_buffer_alloc(
                opened.target,
                buffer.unique_id,
                buffer.reserved_bytes,
                buffer.requested_bytes,
                buffer.address,
                buffer.per_bank_bytes,
                kind,
                _described_site(about.tensor, about.operation) if about else 0,
                _HOLDS_TRACE if is_trace else 0,
                about.page_bytes if about else 0,
                about.layout if about else 0,
            )
            if is_trace:
                opened.traces[buffer.unique_id] = handle
        except Exception as fault:
            self._count_fault("track_allocate", fault)

    def track_deallocate(self, buffer: TrackedBuffer) -> None:
        """A buffer was freed; after the end of its device that is nothing."""
        try:
            opened = self._find(buffer.device.id)
            if opened is None:
                return
            parts = getattr(buffer, "core_parts", None)
            if parts:
                core_buffers.end(opened, cast("CoreAllocated", buffer), parts)
                return
            kind, reserved_bytes = buffer.buffer_type, buffer.reserved_bytes
            if buffer.program and kind == _DRAM:
                opened.programs.release(buffer.program, reserved_bytes)
            elif buffer.unique_id in opened.traces:
                report_free(opened.traces.pop(buffer.unique_id))
            else:
                report_buffer_free(opened.target, buffer.unique_id, kind, reserved_bytes)
        except Exception as fault:
            self._count_fault("track_deallocate", fault)

    def track_allocate_cb(
        self,
        core_ranges: CoreSet,
        address: int,
        size_bytes: int,
        is_globally_allocated: bool,
        device: TrackedDevice,
        *,
        program: int = 0,
        cb_id: int = _NO_ID,
        kind: Kind = Kind.CIRCULAR_BUFFER,
    ) -> None:
        """A circular buffer was laid out; `size_bytes` on each core. A global one is a view of a buffer."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is None:
                return
            is_global = bool(is_globally_allocated)
            told = (address, size_bytes, core_ranges.core_count, str(core_ranges), is_global, kind)
            opened.circular_buffers.add(program, None if cb_id is _NO_ID else cb_id, told)
        except Exception as fault:
            self._count_fault("track_allocate_cb", fault)

    def track_deallocate_cb(self, device: TrackedDevice, *, program: int = 0) -> None:
        """All circular buffers of a program end; of program 0, all on that device."""
        try:
            opened = self._find(device.id)
            if opened is not None:
                opened.circular_buffers.end(program)
        except Exception as fault:
            self._count_fault("track_deallocate_cb", fault)

    def track_kernel_load(
        self,
        kernel_size: int,
        kernel_id: int,
        device: TrackedDevice,
        kernel_type: int = UNSAID,
        num_cores: int = 1,
        *,
        facts: KernelFacts | None = None,
    ) -> None:
        """A kernel was loaded; told again by the other dispatch path, it is not charged again."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is None:
                return
            load = KernelLoad(kernel_size, kernel_type, num_cores, facts)
            found = opened.kernels.load(kernel_id, load)
            if self._log is not None and found is not None:
                figures = {"size_bytes": kernel_size, "cores": num_cores, "total_bytes": load.total_bytes}
                self._log.tell(device, kernel_id, found, **figures)
        except Exception as fault:
            self._count_fault("track_kernel_load", fault)

    def track_kernel_unload(self, kernel_id: int, device: TrackedDevice) -> None:
        """A kernel is gone: its program was destroyed."""
        try:
            opened = self._find(device.id)
            if opened is None:
                return
            program = opened.kernels.unload(kernel_id)
            if not self._is_watching:  # nobody will say that the program ended; in the seeds both have one id
                opened.programs.end(program or kernel_id)
        except Exception as fault:
            self._count_fault("track_kernel_unload", fault)

    def track_program(self, program: int, device: TrackedDevice) -> None:
        """A program is about to run: a launch, unless the runtime tells of launches by themselves."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is not None and not self._is_watching:
                opened.programs.launch(program)
        except Exception as fault:
            self._count_fault("track_program", fault)

    # ---- what they lacked

    def track_device_opened(self, device: TrackedDevice) -> None:
        """A device was opened, by a runtime that also tells of launches, statuses and ends."""
        try:
            self._is_watching = True
            self._open(device, is_told=True)
        except Exception as fault:
            self._count_fault("track_device_opened", fault)

    def track_device_closed(self, device: TrackedDevice) -> None:
        """Everything of that device ends; what is freed later is no finding."""
        try:
            self._devices.close(device.id)
        except Exception as fault:
            self._count_fault("track_device_closed", fault)

    def track_binary_status(self, program: int, status: BinaryStatus, device: TrackedDevice) -> None:
        """The binaries of a program moved on."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is not None:
                opened.programs.change_status(program, status)
        except Exception as fault:
            self._count_fault("track_binary_status", fault)

    def track_program_end(self, program: int, device: TrackedDevice) -> None:
        """A program was destroyed."""
        try:
            opened = self._find(device.id)
            if opened is not None:
                opened.programs.end(program)
        except Exception as fault:
            self._count_fault("track_program_end", fault)

    def track_launch(self, program: int, device: TrackedDevice) -> None:
        """A program runs; counted, never charged."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is not None:
                opened.programs.launch(program)
        except Exception as fault:
            self._count_fault("track_launch", fault)

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
        """The kernel ring of one core after a launch."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is not None:
                figures = (live_bytes, retired_bytes, entry_count, index(stall), ring_bytes, has_launched)
                report_ring(opened.target, index(core_type), *figures)
        except Exception as fault:
            self._count_fault("track_ring", fault)

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
        """One answer of a cache, and what it holds afterwards."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is not None:
                report_cache(opened.target, index(cache), outcome, size_bytes, entry_count, held_bytes, 0)
        except Exception as fault:
            self._count_fault("track_cache", fault)

    def track_out_of_memory(
        self, device: TrackedDevice, pool: Pool, *, requested_bytes: int, free_bytes: int, largest_free_bytes: int
    ) -> None:
        """A refusal; figures are those of all banks of one chip together."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is not None:
                report_out_of_memory(opened.target, index(pool), requested_bytes, free_bytes, largest_free_bytes)
        except Exception as fault:
            self._count_fault("track_out_of_memory", fault)

    def track_operation(self, program: int, device: TrackedDevice, operation: str) -> None:
        """What a program does."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is not None:
                _native.own.name_program(opened.target, program, operation)
        except Exception as fault:
            self._count_fault("track_operation", fault)

    def track_incident(self, device: TrackedDevice, refusal: Refusal) -> None:
        """Something was refused; kept with what was alive there."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is None:
                return
            report_incident(
                opened.target,
                index(refusal.kind),
                index(refusal.pool),
                requested_bytes=refusal.requested_bytes,
                per_bank_bytes=refusal.per_bank_bytes,
                free_bytes=refusal.free_bytes,
                largest_free_bytes=refusal.largest_free_bytes,
                bank_free_bytes=refusal.bank_free_bytes,
                bank_largest_free_bytes=refusal.bank_largest_free_bytes,
                bank_count=refusal.bank_count,
                core_set=_native.client.intern(str(refusal.cores)) if refusal.cores is not None else 0,
                space_begin_address=refusal.space_begin_address,
                space_end_address=refusal.space_end_address,
                program=refusal.program,
                cb_end_address=refusal.cb_end_address,
                buffer_address=refusal.buffer_address,
                site=_described_site(refusal.tensor, refusal.operation) if refusal.tensor or refusal.operation else 0,
                options=(_FIGURES_OF_TEXT if refusal.text else 0) | (_PER_CORE if refusal.is_per_core else 0),
                text=refusal.text,
            )
        except Exception as fault:
            self._count_fault("track_incident", fault)

    # ---- traces

    def track_trace_began(self, trace: int, device: TrackedDevice) -> None:
        """Launches are recorded from now on."""
        try:
            opened = self._find(device.id) or self._open(device)
            if opened is not None:
                report_trace_begin(opened.target, trace)
        except Exception as fault:
            self._count_fault("track_trace_began", fault)

    def track_trace_recorded(self, trace: int, program: int, device: TrackedDevice) -> None:
        """A launch of a program is part of the trace."""
        try:
            opened = self._find(device.id)
            if opened is not None:
                report_trace_program(opened.target, trace, program)
        except Exception as fault:
            self._count_fault("track_trace_recorded", fault)

    def track_trace_captured(self, trace: int, size_bytes: int, device: TrackedDevice) -> None:
        """The trace is stored."""
        try:
            opened = self._find(device.id)
            if opened is not None:
                report_trace_end(opened.target, trace, size_bytes)
        except Exception as fault:
            self._count_fault("track_trace_captured", fault)

    def track_trace_replayed(self, trace: int, device: TrackedDevice) -> None:
        """The trace is about to run; a buffer that lies where it writes is an incident."""
        try:
            opened = self._find(device.id)
            if opened is not None:
                report_trace_replay(opened.target, trace)
        except Exception as fault:
            self._count_fault("track_trace_replayed", fault)

    def track_trace_released(self, trace: int, device: TrackedDevice) -> None:
        """The trace is gone, or its capture came to nothing."""
        try:
            opened = self._find(device.id)
            if opened is not None:
                report_trace_release(opened.target, trace)
        except Exception as fault:
            self._count_fault("track_trace_released", fault)

    def _open(self, device: TrackedDevice, *, is_told: bool = False) -> OpenDevice | None:
        return self._devices.open(device, is_told=is_told) if is_enabled() else None

    def _count_fault(self, call: str, fault: Exception) -> None:
        self.fault_count += 1
        warn_once(
            "tracker",
            f"GraphTracker.{call}: expected what ttmem.tracking describes, found something else "
            f"({type(fault).__name__}: {_words(fault)}); such reports are not counted, see GraphTracker.fault_count",
        )


def _words(fault: Exception) -> str:
    """What it says of itself, if it can."""
    try:
        return str(fault)
    except Exception:
        return "without words"
