"""Slow dispatch: the host writes binaries, circular buffer settings and launch messages into every core itself.

    LaunchProgram
      compile
      finalize_offsets               kernels are reported here, when the program is first finalized
      TrackKernelDispatch            and again here, at every launch: redundant, and the same ids
      ConfigureDeviceWithProgram     circular buffers are laid out; binaries go straight to the ring's base
      launch messages

There is no ring, no payload in DRAM and no binary status on this path, and nothing of it can be traced.
"""

from collections.abc import Mapping

from ttmem.metal.dispatch import loading
from ttmem.metal.programs import MeshRange, MeshWorkload, Program, ProgramMisuse
from ttmem.metal.state.host import Host
from ttmem.tracking import TrackedDevice

__all__ = ["configure", "launch", "launch_workload"]


def launch(host: Host, program: Program, where: MeshRange | None = None) -> None:
    """Runs a program once (`LaunchProgram`); refused, nothing of a program that was not loaded before stays."""
    if not isinstance(program, Program):
        raise ProgramMisuse(f"launch takes a device and a program, not {program!r}; a workload is run by enqueue")
    host.refuse_if_closed()
    if program.target is not None and program.owner is None:
        raise ProgramMisuse(
            f"program {program.id} belongs to {_workload_of(host, program)}; enqueue that, or launch another program"
        )
    places = {program: host.place(where)}
    _load(host, places)
    program.owner = host
    _run(host, places)


def launch_workload(host: Host, workload: MeshWorkload) -> None:
    """Runs the programs of a workload one after the other (`SDMeshCommandQueue`)."""
    if workload.is_destroyed:
        raise ProgramMisuse(f"workload {workload.id} is destroyed")
    places = {program: host.place(where) for where, program in workload.programs.items()}
    if workload.owner is None:
        loading.refuse_if_loaded(workload)
    _load(host, places)
    workload.owner = host
    _run(host, places)


def configure(host: Host, program: Program, place: TrackedDevice) -> None:
    """Loads a program that runs for as long as its device is open, without a launch of its own.

    `Device::configure_fabric` and `configure_command_queue_programs` call finalize_offsets and
    ConfigureDeviceWithProgram directly.
    """
    _finalize(host, program, place)
    loading.allocate_circular_buffers(host, program)


def _load(host: Host, places: Mapping[Program, TrackedDevice]) -> None:
    fresh = [program for program in places if program.target is None]
    try:
        for program, place in places.items():
            _finalize(host, program, place)
            loading.track_kernels(host, program)
            loading.allocate_circular_buffers(host, program)
    except BaseException:
        for program in fresh:
            loading.unload(host, program)
        raise


def _run(host: Host, places: Mapping[Program, TrackedDevice]) -> None:
    for program, place in places.items():
        host.reports.tracker.track_program(program.id, place)
        host.count_launch(program.id, place)


def _workload_of(host: Host, program: Program) -> str:
    found = [workload.id for workload in host.workloads.values() if program in workload.programs.values()]
    return f"workload {found[0]}" if found else "a workload"


def _finalize(host: Host, program: Program, place: TrackedDevice) -> None:
    loading.claim(program, place)
    loading.compile_program(host, program)
    if not program.is_finalized:
        loading.finalize(host, [program])
