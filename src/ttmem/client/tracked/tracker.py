"""`GraphTracker`: reports what a runtime does with buffers, circular buffers, kernels and programs into the journal.

`ttmem.tracking.Tracker` documents the calls. Both dispatch paths may report the same kernel; it is charged once.
docs/understanding/rules.md has the rules, each with its reason.
"""

import os
from collections.abc import Callable
from functools import update_wrapper
from operator import index
from types import TracebackType
from typing import Any, TypeVar, cast

from ttmem import _native
from ttmem.client.notices import warn_once
from ttmem.client.reporter import Client, is_enabled
from ttmem.client.reports import (
    report_cache,
    report_incident,
    report_ring,
    report_trace_begin,
    report_trace_end,
    report_trace_program,
    report_trace_release,
    report_trace_replay,
)
from ttmem.client.tracked import buffers
from ttmem.client.tracked.devices import OpenDevice, OpenDevices
from ttmem.client.tracked.kernel_log import kernel_log
from ttmem.client.tracked.kernel_types import UNSAID, Said
from ttmem.client.tracked.kernels import KernelLoad
from ttmem.devices import BinaryStatus, Cache, CoreType, Kind, Stall
from ttmem.tracking import CacheOutcome, CoreSet, KernelFacts, Refusal, TrackedBuffer, TrackedDevice, Tracker

__all__ = ["GraphTracker", "never_raises"]

_NO_ID = Said(0)
_FIGURES_OF_TEXT, _PER_CORE = 4, 8  # of ttmem_incident_option

_Call = TypeVar("_Call", bound=Callable[..., None])

_GUARDED = """
def {name}({parameters}):
    try:
        call({arguments})
    except Exception as fault:
        self.fault_count += 1
        warn({name!r}, fault)
"""


def _warn(call: str, fault: Exception) -> None:
    try:
        words = str(fault)
    except Exception:  # noqa: BLE001
        words = "without words"
    warn_once(
        "tracker",
        f"GraphTracker.{call}: expected what ttmem.tracking describes, found something else "
        f"({type(fault).__name__}: {words}); such reports are not counted, see GraphTracker.fault_count",
    )


def never_raises(call: _Call) -> _Call:
    """Keeps errors out of the runtime: they are counted in `fault_count`, with one warning for the process.

    A runtime's objects are not our code and may raise anything. Only what ends the program passes: Ctrl-C, exit.
    The guard is written out with the parameters of the call: passing them on as *args and **kwargs doubles the cost of
    a report, and being tracked may add 20 % to a launch (benchmarks/promises/metal.py).
    """
    count, keyword_count = call.__code__.co_argcount, call.__code__.co_kwonlyargcount
    names = call.__code__.co_varnames[: count + keyword_count]
    parameters = [*names[:count], *["*"][:keyword_count], *names[count:]]
    arguments = [*names[:count], *(f"{name}={name}" for name in names[count:])]
    source = _GUARDED.format(name=call.__name__, parameters=", ".join(parameters), arguments=", ".join(arguments))
    made: dict[str, Any] = {"call": call, "warn": _warn}
    exec(compile(source, __file__, "exec"), made)
    guarded = cast("_Call", update_wrapper(made[call.__name__], call))
    guarded.__defaults__, guarded.__kwdefaults__ = call.__defaults__, call.__kwdefaults__
    return guarded


class GraphTracker(Tracker):
    """Reports what a runtime does with the memory of its devices.

        tracker = ttmem.GraphTracker()
        with metal.open_device("n150", tracker=tracker) as device:
            ...

    A device is opened at the first call that names it. `client` is the owner of the targets; without one the
    environment decides whether anything is tracked (TTMEM=1).
    """

    def __init__(self, client: Client | None = None) -> None:
        self.fault_count = 0
        self._devices = OpenDevices(client or Client())
        self._find = self._devices.find
        self._reports_launches = False  # whether the runtime makes more than the first seven calls
        self._log = kernel_log(os.environ)

    def __enter__(self) -> "GraphTracker":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @never_raises
    def close(self) -> None:
        """Closes every device that is still open."""
        self._devices.close_all()

    @never_raises
    def track_allocate(self, buffer: TrackedBuffer) -> None:
        device = buffer.device
        if opened := self._find(device.id) or self._open(device):
            buffers.report(opened, buffer)

    @never_raises
    def track_deallocate(self, buffer: TrackedBuffer) -> None:
        if opened := self._find(buffer.device.id):
            buffers.end(opened, buffer)

    @never_raises
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
        if opened := self._find(device.id) or self._open(device):
            is_global = bool(is_globally_allocated)
            reported = (address, size_bytes, core_ranges.core_count, str(core_ranges), is_global, kind)
            opened.circular_buffers.add(program, None if cb_id is _NO_ID else cb_id, reported)

    @never_raises
    def track_deallocate_cb(self, device: TrackedDevice, *, program: int = 0) -> None:
        if opened := self._find(device.id):
            opened.circular_buffers.end(program)

    @never_raises
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
        if opened := self._find(device.id) or self._open(device):
            load = KernelLoad(kernel_size, kernel_type, num_cores, facts)
            found = opened.kernels.load(kernel_id, load)
            if self._log is not None and found is not None:
                figures = {"size_bytes": kernel_size, "cores": num_cores, "total_bytes": load.total_bytes}
                self._log.write_load(device, kernel_id, found, **figures)

    @never_raises
    def track_kernel_unload(self, kernel_id: int, device: TrackedDevice) -> None:
        if opened := self._find(device.id):
            program = opened.kernels.unload(kernel_id)
            if not self._reports_launches:  # nor ends of programs; there a program has the id of its kernel
                opened.programs.end(program or kernel_id)

    @never_raises
    def track_program(self, program: int, device: TrackedDevice) -> None:
        opened = self._find(device.id) or self._open(device)
        if opened and not self._reports_launches:
            opened.programs.launch(program)

    @never_raises
    def track_device_opened(self, device: TrackedDevice) -> None:
        self._reports_launches = True
        self._open(device, is_reported=True)

    @never_raises
    def track_device_closed(self, device: TrackedDevice) -> None:
        self._devices.close(device.id)

    @never_raises
    def track_binary_status(self, program: int, status: BinaryStatus, device: TrackedDevice) -> None:
        if opened := self._find(device.id) or self._open(device):
            opened.programs.change_status(program, status)

    @never_raises
    def track_program_end(self, program: int, device: TrackedDevice) -> None:
        if opened := self._find(device.id):
            opened.programs.end(program)

    @never_raises
    def track_launch(self, program: int, device: TrackedDevice) -> None:
        if opened := self._find(device.id) or self._open(device):
            opened.programs.launch(program)

    @never_raises
    def track_operation(self, program: int, device: TrackedDevice, operation: str) -> None:
        if opened := self._find(device.id) or self._open(device):
            _native.own.name_program(opened.target, program, operation)

    @never_raises
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
        if opened := self._find(device.id) or self._open(device):
            figures = (live_bytes, retired_bytes, entry_count, index(stall), ring_bytes, has_launched)
            report_ring(opened.target, index(core_type), *figures)

    @never_raises
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
        if opened := self._find(device.id) or self._open(device):
            report_cache(opened.target, index(cache), outcome, size_bytes, entry_count, held_bytes, 0)

    @never_raises
    def track_incident(self, device: TrackedDevice, refusal: Refusal) -> None:
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
            site=buffers.site_of(refusal),
            options=(_FIGURES_OF_TEXT if refusal.text else 0) | (_PER_CORE if refusal.is_per_core else 0),
            text=refusal.text,
        )

    @never_raises
    def track_trace_began(self, trace: int, device: TrackedDevice) -> None:
        if opened := self._find(device.id) or self._open(device):
            report_trace_begin(opened.target, trace)

    @never_raises
    def track_trace_recorded(self, trace: int, program: int, device: TrackedDevice) -> None:
        if opened := self._find(device.id):
            report_trace_program(opened.target, trace, program)

    @never_raises
    def track_trace_captured(self, trace: int, size_bytes: int, device: TrackedDevice) -> None:
        if opened := self._find(device.id):
            report_trace_end(opened.target, trace, size_bytes)

    @never_raises
    def track_trace_replayed(self, trace: int, device: TrackedDevice) -> None:
        if opened := self._find(device.id):
            report_trace_replay(opened.target, trace)

    @never_raises
    def track_trace_released(self, trace: int, device: TrackedDevice) -> None:
        if opened := self._find(device.id):
            report_trace_release(opened.target, trace)

    def _open(self, device: TrackedDevice, *, is_reported: bool = False) -> OpenDevice | None:
        return self._devices.open(device, is_reported=is_reported) if is_enabled() else None
