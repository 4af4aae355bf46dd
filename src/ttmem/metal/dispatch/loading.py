"""Getting a program onto its chips and off again: compiled, laid out, finalized; what each step reports and books.

Either all of it is there afterwards or nothing: a program that is refused is taken off again as far as it had come.
"""

from collections.abc import Mapping, Sequence

from ttmem.devices import Kind, Pool
from ttmem.metal.programs import (
    CircularBuffer,
    CircularBufferClash,
    CircularBufferMisfit,
    CoreRanges,
    Kernel,
    KernelMisfit,
    MeshWorkload,
    Processor,
    Program,
    ProgramMisuse,
)
from ttmem.metal.programs.kernel_groups import SlotOffsets
from ttmem.metal.programs.offsets import finalize_program_offsets
from ttmem.metal.state.host import Host
from ttmem.tracking import CoreType, KernelFacts, KernelType, Refusal, RefusalKind, TrackedDevice

__all__ = [
    "allocate_circular_buffers",
    "claim",
    "compile_program",
    "finalize",
    "refuse_if_loaded",
    "track_kernels",
    "unload",
]

ETHERNET = frozenset({CoreType.ACTIVE_ETH, CoreType.IDLE_ETH})


def claim(program: Program, place: TrackedDevice) -> None:
    """Ties a program to the chips it runs on."""
    if program.target is None:
        program.target = place
    elif program.target is not place:
        raise ProgramMisuse(f"program {program.id} is loaded on other chips than those it should run on")


def refuse_if_loaded(workload: MeshWorkload) -> None:
    """A program runs by itself or in one workload; this one is about to be loaded."""
    for program in workload.programs.values():
        if program.target is not None:
            raise ProgramMisuse(f"program {program.id} is loaded already, by itself or by another workload")


def compile_program(host: Host, program: Program) -> None:
    """Compiles every kernel, once per program; one that does not link, or has no such cores, is refused."""
    if not program.is_finalized:  # also one that was loaded before, perhaps on a larger chip
        _check_cores(host, program)
        for kernel in program.kernels:
            _check_link(host, kernel)
    if program.is_compiled:
        return
    for kernel in program.kernels:
        host.jit_cache.compile(kernel)
    program.is_compiled = True


def allocate_circular_buffers(host: Host, program: Program) -> None:
    """Lays circular buffers out if they are not, and refuses a program whose region L1 buffers have grown into.

    The check guards every run: an L1 buffer may have come since the program was laid out.
    """
    silicon = host.architecture
    if program.layout is None:
        _check_indices(program, silicon.max_cb_count)
        _check_views(host, program)
    try:
        is_new = program.allocate_circular_buffers(
            base=silicon.l1_unreserved_base,
            alignment=silicon.dram_alignment,
            l1_bytes=silicon.l1_bytes,
            lowest_l1_address=host.allocator.lowest_l1_address,
            lowest_on=host.lowest_l1_address_on,
        )
    except (CircularBufferClash, CircularBufferMisfit) as refused:
        _report_clash(host, program, refused)
        raise
    if is_new:
        _book(host, program)
    elif program.moved_views:
        for place in sorted(program.moved_views):
            _report(host, program, program.circular_buffers[place])
        program.moved_views.clear()


def finalize(host: Host, programs: Sequence[Program]) -> Mapping[CoreType, SlotOffsets]:
    """Offsets of the kernels of programs that run as one; from here on they are charged."""
    offsets = finalize_program_offsets(programs, host.architecture)
    for program in programs:
        program.offsets = offsets
        host.programs[program.id] = program
        host.accounts[program.place].load(program)
        track_kernels(host, program)
    return offsets


def track_kernels(host: Host, program: Program) -> None:
    """One report per kernel: its code on one core, and on how many cores."""
    page_bytes = host.architecture.payload_page_bytes
    core_count = program.core_count
    place = program.place
    for handle, kernel in enumerate(program.kernels):
        payload_bytes = kernel.payload_bytes(page_bytes)
        facts = KernelFacts(
            program=program.id,
            name=kernel.name,
            source_path=kernel.source_path,
            core_type=kernel.core_type,
            owner=program.kernel_type,
            exact_bytes=kernel.code_bytes,
            binary_times_cores_bytes=payload_bytes * core_count,
            payload_bytes=payload_bytes,
            image=kernel.image,
            packed_bytes=kernel.binaries,
        )
        host.reports.tracker.track_kernel_load(
            kernel.size_bytes,
            program.kernel_id(handle),
            place,
            program.kernel_type,
            kernel.core_count,
            facts=facts,
        )


def unload(host: Host, program: Program) -> None:
    """Takes a program off its chips, as `~ProgramImpl` does: circular buffers first, then kernels."""
    target = program.target
    if target is None:
        return
    has_circular_buffers = program.has_circular_buffers and host.is_open
    has_kernels = host.programs.pop(program.id, None) is not None and host.is_open
    if has_circular_buffers:
        host.accounts[target].release(program)
    if has_kernels:
        host.accounts[target].load(program, -1)
    program.forget()  # the books are right before the reporter is called, which may never come back
    if has_circular_buffers:
        host.reports.tracker.track_deallocate_cb(target, program=program.id)
    if has_kernels:
        for handle in range(len(program.kernels)):
            host.reports.tracker.track_kernel_unload(program.kernel_id(handle), target)
        host.reports.tracker.track_program_end(program.id, target)


def _report(host: Host, program: Program, circular_buffer: CircularBuffer) -> None:
    extra = {} if circular_buffer.kind is Kind.CIRCULAR_BUFFER else {"kind": circular_buffer.kind}
    host.reports.tracker.track_allocate_cb(
        circular_buffer.cores,
        circular_buffer.address,
        circular_buffer.size_bytes,
        circular_buffer.is_global,
        program.place,
        program=program.id,
        cb_id=circular_buffer.id,
        **extra,
    )


def _book(host: Host, program: Program) -> None:
    """A new layout: every circular buffer is reported, also those that were before."""
    assert program.layout is not None  # it was just made
    host.accounts[program.place].lay_out(program, program.layout)
    program.has_circular_buffers = bool(program.circular_buffers)
    program.moved_views.clear()
    for circular_buffer in program.circular_buffers:
        _report(host, program, circular_buffer)


def _report_clash(host: Host, program: Program, refused: CircularBufferClash | CircularBufferMisfit) -> None:
    """Circular buffers reach into an L1 buffer, or beyond the end of L1. A view larger than its buffer is neither."""
    if refused.cores is None:
        return
    silicon = host.architecture
    if isinstance(refused, CircularBufferClash):
        cb_end, lowest = refused.region_end, refused.lowest_l1_address
    else:
        cb_end, lowest = refused.size_bytes, 0
    reported = Refusal(
        RefusalKind.CLASH,
        Pool.L1,
        program=program.id,
        cores=refused.cores,
        cb_end_address=cb_end,
        buffer_address=lowest,
        space_begin_address=silicon.l1_unreserved_base,
        space_end_address=silicon.l1_bytes,
        text=str(refused),
        operation=program.operation,
    )
    host.report_refusal(reported)


def _check_indices(program: Program, end: int) -> None:
    for circular_buffer in program.circular_buffers:
        if circular_buffer.index >= end:
            raise ProgramMisuse(
                f"program {program.id}: circular buffer index {circular_buffer.index} is not below {end}"
            )


def _check_views(host: Host, program: Program) -> None:
    """Views are of buffers that are there, on this very mesh."""
    for circular_buffer in program.circular_buffers:
        circular_buffer.refuse_if_freed()
        buffer = circular_buffer.buffer
        if buffer is not None and buffer.device is not host:
            raise ProgramMisuse(
                f"program {program.id}: circular buffer {circular_buffer.id} looks at {buffer!r} of device "
                f"{buffer.device.id}, and runs on device {host.id}; create the buffer there"
            )


def _check_cores(host: Host, program: Program) -> None:
    """Programs run on the compute grid; only the runtime's own dispatch kernels have cores beside it."""
    chip = host.chips[0]
    for kernel in program.kernels:
        if kernel.core_type not in host.architecture.rings:
            raise ProgramMisuse(f"kernel {kernel.name}: a {chip.arch} has no {kernel.core_type.name} cores to run it")
    if program.kernel_type is KernelType.DISPATCH:
        return
    grid = CoreRanges.grid(*chip.grid).mask
    used = [kernel.cores for kernel in program.kernels if kernel.core_type is CoreType.TENSIX]
    used += [circular_buffer.cores for circular_buffer in program.circular_buffers]
    for cores in used:
        if cores.mask & ~grid:
            columns, rows = chip.grid
            raise ProgramMisuse(f"program {program.id}: cores {cores} are not all on the grid of {columns}x{rows}")


def _check_link(host: Host, kernel: Kernel) -> None:
    """What the linker script of a processor allows; where there is no limit, only the ring bounds it."""
    if kernel.core_type in ETHERNET:
        limit_bytes = host.architecture.ethernet_binary_bytes_max
    elif kernel.processor is Processor.NCRISC and host.architecture.ncrisc_iram_bytes:
        limit_bytes = host.architecture.ncrisc_iram_bytes
    else:
        return
    if max(kernel.binaries) > limit_bytes:
        raise KernelMisfit(
            f"kernel {kernel.name}: {max(kernel.binaries)} bytes for a {kernel.processor.name} that links at most "
            f"{limit_bytes} bytes",
            size_bytes=max(kernel.binaries),
            limit_bytes=limit_bytes,
        )
