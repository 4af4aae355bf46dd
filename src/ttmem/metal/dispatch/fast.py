"""Fast dispatch: the cores of the chip fetch what they need from DRAM; the host only writes commands.

    EnqueueMeshWorkload
      compile                        per program; circular buffers are laid out, or checked if they are
      finalize_program_offsets       once, over all programs; kernels are reported here
      load_binaries                  once: payload into DRAM                          NOT_SENT -> IN_FLIGHT
      dispatch commands              a slot in the kernel ring, binaries through the prefetcher's cache
                                                                                     IN_FLIGHT -> COMMITTED
Binaries go to the workers at every launch, whatever their status; being committed only spares a wait. Only a trace can
leave them out.
"""

from ttmem.devices import BinaryStatus, BufferType
from ttmem.metal.chips import DispatchCores
from ttmem.metal.dispatch import loading, slow
from ttmem.metal.memory import BufferSpec
from ttmem.metal.programs import MeshWorkload, ProgramMisuse
from ttmem.metal.state.host import Host
from ttmem.metal.state.queue import CommandQueue
from ttmem.metal.state.ring import RingRequest
from ttmem.tracking import CoreType

__all__ = ["enqueue", "release_workload"]


def enqueue(host: Host, workload: MeshWorkload, *, queue: int = 0) -> None:
    """Runs a workload once, or records it while a trace is captured; refused, what it brought is gone again."""
    if not isinstance(workload, MeshWorkload):
        raise ProgramMisuse(
            f"enqueue takes a device and a workload, not {workload!r}; wrap a program: MeshWorkload(program)"
        )
    host.refuse_if_closed()
    if host.dispatch is DispatchCores.SLOW:
        slow.launch_workload(host, workload)
        return
    command_queue = host.queue(queue)
    _refuse_misuse(host, workload)
    if workload.status is BinaryStatus.NOT_SENT:
        _load(host, workload)
    else:
        for program in workload.programs.values():
            loading.allocate_circular_buffers(host, program)
    if host.capture is not None and host.capture.queue == queue:
        host.capture.workloads.append(workload)
        for program in workload.programs.values():
            host.reports.tracker.track_trace_recorded(host.capture.trace, program.id, host)
        return
    _dispatch(host, workload, command_queue)


def release_workload(host: Host, workload: MeshWorkload) -> None:
    """The end of a workload: its programs, then their payload."""
    for program in workload.programs.values():
        loading.unload(host, program)
    if workload.payload is not None:
        workload.payload.deallocate()
    if host.is_open and workload.id in host.workloads and None not in workload.programs:
        host.reports.tracker.track_program_end(workload.id, host)
    host.requests.pop(workload.id, None)
    host.workloads.pop(workload.id, None)
    workload.owner = None


def _refuse_misuse(host: Host, workload: MeshWorkload) -> None:
    if workload.is_destroyed:
        raise ProgramMisuse(f"workload {workload.id} is destroyed")
    if workload.owner is not None and workload.owner is not host:
        raise ProgramMisuse(f"workload {workload.id} was loaded on another mesh, and binaries stay where they are")
    if workload.status is BinaryStatus.NOT_SENT and host.capture is not None:
        raise ProgramMisuse(
            f"workload {workload.id} never ran: its binaries cannot be loaded while a trace is captured; "
            "run it once before"
        )


def _load(host: Host, workload: MeshWorkload) -> None:
    """Everything a first run brings, or nothing, also on an interrupt."""
    loading.refuse_if_loaded(workload)
    try:
        for where, program in workload.programs.items():
            loading.claim(program, host.place(where))
            loading.compile_program(host, program)
            loading.allocate_circular_buffers(host, program)
        host.requests[workload.id] = _finalize(host, workload)
        _load_binaries(host, workload)
    except BaseException:
        release_workload(host, workload)
        workload.forget()
        raise


def _finalize(host: Host, workload: MeshWorkload) -> RingRequest:
    """All programs get slots of one size: what each launch will ask of the ring."""
    offsets = loading.finalize(host, list(workload.programs.values()))
    return RingRequest(
        {core_type: slot.slot_bytes for core_type, slot in offsets.items()},
        is_multicast=CoreType.TENSIX in offsets,
        is_unicast=CoreType.ACTIVE_ETH in offsets or CoreType.IDLE_ETH in offsets,
    )


def _load_binaries(host: Host, workload: MeshWorkload) -> None:
    """The payload of the largest program, on every chip, at the top of DRAM (`MeshWorkloadImpl::load_binaries`)."""
    page_bytes = host.architecture.payload_page_bytes
    payload_bytes = max(program.payload_bytes(page_bytes) for program in workload.programs.values())
    if payload_bytes:
        spec = BufferSpec(payload_bytes, page_bytes, BufferType.DRAM)
        workload.payload = host.create_buffer(spec, is_bottom_up=False, program=workload.id)
    workload.payload_bytes = payload_bytes
    workload.owner = host
    host.workloads[workload.id] = workload
    _set_status(host, workload, BinaryStatus.IN_FLIGHT)


def _dispatch(host: Host, workload: MeshWorkload, command_queue: CommandQueue) -> None:
    is_in_flight = workload.status is BinaryStatus.IN_FLIGHT
    for program in workload.programs.values():
        host.reports.tracker.track_program(program.id, program.place)
    request = host.requests[workload.id]
    if request.slot_bytes:
        host.last_queue = command_queue
        command_queue.launch(request, worker_count=host.workers_of(request), is_in_flight=is_in_flight)
    command_queue.fetch(workload.id, workload.payload_bytes)
    for program in workload.programs.values():
        host.count_launch(program.id, program.place)
    if is_in_flight:
        _set_status(host, workload, BinaryStatus.COMMITTED)
        _name(host, workload)


def _name(host: Host, workload: MeshWorkload) -> None:
    """Says what programs do, once they were launched."""
    programs = [*workload.programs.values()]
    for program in programs:
        host.reports.operation(program.id, program.place, program.operation)
    if programs[0].place is not host:  # its binaries are held by the whole mesh
        host.reports.operation(workload.id, host, programs[0].operation)


def _set_status(host: Host, workload: MeshWorkload, status: BinaryStatus) -> None:
    workload.status = status
    host.reports.tracker.track_binary_status(workload.id, status, host)
