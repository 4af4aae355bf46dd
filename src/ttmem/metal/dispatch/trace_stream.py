"""How many bytes of commands a captured launch takes: an estimate from the shapes of the commands.

A command is a header for the prefetcher, one for the dispatcher, and data, padded as the command queue pads it. What
differs from core to core (runtime arguments) is sent core by core; what is equal for a range of cores is sent once.
"""

from collections.abc import Sequence

from ttmem.metal.chips.numbers import rounded_up
from ttmem.metal.programs import KernelGroup, MeshWorkload, Program

__all__ = ["stream_bytes"]

HEADERS_BYTES = 32  # of the prefetcher and of the dispatcher
UNICAST_ENTRY_BYTES = 4
MULTICAST_ENTRY_BYTES = 8
BINARY_ENTRY_BYTES = 16
ALIGNMENT = 32
LAUNCH_MESSAGE_BYTES = 96
# Waits before and after, the ring's new address, the go signal.
FIXED_COMMAND_COUNT = 5
# The beginning and the end of a trace: waits, and the reset of the workers' counters.
FRAME_COMMAND_COUNT = 8


def stream_bytes(workloads: Sequence[MeshWorkload], sends_binary: Sequence[bool]) -> int:
    """The commands of a whole trace."""
    launches = sum(
        max(_launch_bytes(program, is_sent) for program in workload.programs.values())
        for workload, is_sent in zip(workloads, sends_binary, strict=True)
    )
    return FRAME_COMMAND_COUNT * HEADERS_BYTES + launches


def _launch_bytes(program: Program, sends_binary: bool) -> int:
    size_bytes = FIXED_COMMAND_COUNT * HEADERS_BYTES + _settings_bytes(program)
    for group in program.kernel_groups:
        size_bytes += _group_bytes(group)
    if sends_binary:
        binary_count = sum(len(kernel.binaries) for kernel in program.kernels)
        size_bytes += _command_bytes(0) + _command_bytes(BINARY_ENTRY_BYTES * binary_count)
    return size_bytes


def _group_bytes(group: KernelGroup) -> int:
    """Arguments and the launch message."""
    unique = group.core_count * (group.unique_arg_bytes + UNICAST_ENTRY_BYTES) if group.unique_arg_bytes else 0
    common = group.common_arg_bytes + MULTICAST_ENTRY_BYTES if group.common_arg_bytes else 0
    message = LAUNCH_MESSAGE_BYTES + MULTICAST_ENTRY_BYTES
    return sum(_command_bytes(data_bytes) for data_bytes in (unique, common, message) if data_bytes)


def _settings_bytes(program: Program) -> int:
    """Semaphores and circular buffers, equal on all cores."""
    size_bytes = 0
    for slot in (program.offsets or {}).values():
        data_bytes = slot.slot_bytes - slot.kernel_text_bytes - slot.semaphores
        size_bytes += _command_bytes(data_bytes + MULTICAST_ENTRY_BYTES) if data_bytes else 0
    return size_bytes


def _command_bytes(data_bytes: int) -> int:
    return HEADERS_BYTES + rounded_up(data_bytes, ALIGNMENT)
