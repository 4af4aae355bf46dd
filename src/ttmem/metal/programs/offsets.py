"""What a program puts into its slot of the kernel ring, in order (`finalize_program_offsets`).

    slot base
    | unique arguments | common arguments | semaphores | circular buffers | dataflow buffers | kernel binaries |
      per core           per core           16 each      16 each, remote     16 each            largest group
                                                         ones 8 each from
                                                         the top index down

The programs of one workload are laid out together: all get the offsets of the largest.
"""

from collections.abc import Mapping, Sequence

from ttmem.metal.chips import Architecture
from ttmem.metal.chips.numbers import rounded_up
from ttmem.metal.programs.kernel_groups import KernelGroup, SlotOffsets
from ttmem.metal.programs.kernels import CODE_ALIGNMENT
from ttmem.metal.programs.program import Program
from ttmem.metal.programs.refusals import KernelMisfit
from ttmem.tracking import CoreType

__all__ = ["finalize_program_offsets"]

SEMAPHORE_BYTES = 16
CB_CONFIG_BYTES = 16
REMOTE_CB_CONFIG_BYTES = 8
DATAFLOW_CONFIG_BYTES = 16


def finalize_program_offsets(programs: Sequence[Program], architecture: Architecture) -> Mapping[CoreType, SlotOffsets]:
    """The slot of each core type that any of the programs uses. Refuses one that its ring cannot hold."""
    offsets = {}
    for core_type in sorted({group.core_type for program in programs for group in program.kernel_groups}):
        offsets[core_type] = slot = _slot(programs, core_type, architecture)
        ring_bytes = architecture.ring_bytes(core_type)
        if slot.slot_bytes > ring_bytes:
            raise KernelMisfit(
                f"Program size ({slot.slot_bytes}) too large for kernel config buffer ({ring_bytes}) "
                f"on {core_type.name}",
                size_bytes=slot.slot_bytes,
                limit_bytes=ring_bytes,
            )
    return offsets


def _slot(programs: Sequence[Program], core_type: CoreType, architecture: Architecture) -> SlotOffsets:
    groups = [group for program in programs for group in program.kernel_groups if group.core_type is core_type]
    common_args = max(group.unique_arg_bytes for group in groups)
    semaphores = common_args + max(group.common_arg_bytes for group in groups)
    buffers = semaphores + SEMAPHORE_BYTES * max(program.semaphore_count(core_type) for program in programs)
    has_buffers = core_type is CoreType.TENSIX
    dataflow = buffers + (max(_cb_config_bytes(one, architecture) for one in programs) if has_buffers else 0)
    text = dataflow + (DATAFLOW_CONFIG_BYTES * max(one.dataflow_index_end for one in programs) if has_buffers else 0)
    text_bytes = _text_bytes(groups, core_type, architecture)
    return SlotOffsets(
        common_args=common_args,
        semaphores=semaphores,
        circular_buffers=buffers,
        dataflow_buffers=dataflow,
        kernel_text=text if text_bytes else 0,
        kernel_text_bytes=text_bytes,
        slot_bytes=text + text_bytes,
    )


def _text_bytes(groups: Sequence[KernelGroup], core_type: CoreType, architecture: Architecture) -> int:
    """Code in the ring; some cores keep theirs at a fixed address instead."""
    ring = architecture.rings.get(core_type)
    if ring is None or not ring.has_code:
        return 0
    return max(group.text_bytes for group in groups)


def _cb_config_bytes(program: Program, architecture: Architecture) -> int:
    lowest = program.lowest_remote_cb_index
    remote_count = 0 if lowest is None else architecture.max_cb_count - lowest
    return rounded_up(CB_CONFIG_BYTES * program.cb_index_end + REMOTE_CB_CONFIG_BYTES * remote_count, CODE_ALIGNMENT)
