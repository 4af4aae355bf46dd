"""Kernel groups: the cores of a program that hold exactly the same kernels (`ProgramImpl::update_kernel_groups`),
and the slot of the kernel ring that all groups of a core type are given.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ttmem.metal.chips.numbers import rounded_up
from ttmem.metal.programs.kernels import CODE_ALIGNMENT, Kernel
from ttmem.metal.programs.refusals import ProgramMisuse
from ttmem.tracking import CoreType

__all__ = ["KernelGroup", "SlotOffsets", "kernel_groups"]

WORD_BYTES = 4  # of a runtime argument
GROUP_COUNT_MAX = 254  # of one core type


@dataclass(frozen=True, slots=True)
class KernelGroup:
    """Cores of one type with the same kernels, in the order of their processors."""

    core_type: CoreType
    kernels: tuple[Kernel, ...]
    mask: int

    @property
    def core_count(self) -> int:
        return self.mask.bit_count()

    @property
    def text_bytes(self) -> int:
        """The code on each of its cores."""
        return sum(kernel.size_bytes for kernel in self.kernels)

    @property
    def unique_arg_bytes(self) -> int:
        """Arguments that differ from core to core: room for the core that has most."""
        return rounded_up(WORD_BYTES * sum(kernel.runtime_arg_count for kernel in self.kernels), CODE_ALIGNMENT)

    @property
    def common_arg_bytes(self) -> int:
        return sum(rounded_up(WORD_BYTES * kernel.common_arg_count, CODE_ALIGNMENT) for kernel in self.kernels)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotOffsets:
    """One slot of a core type, from its base; the same for all programs of a workload."""

    common_args: int
    semaphores: int
    circular_buffers: int
    dataflow_buffers: int
    kernel_text: int
    kernel_text_bytes: int
    slot_bytes: int


def kernel_groups(kernels: Sequence[Kernel]) -> tuple[KernelGroup, ...]:
    """The groups of a program. Cores are distinguished by the set of handles on them, not one by one."""
    groups = []
    for core_type in sorted({kernel.core_type for kernel in kernels}):
        parts: dict[int, tuple[int, ...]] = {}  # disjoint core masks, and the handles on each
        for handle, kernel in enumerate(kernels):
            if kernel.core_type is core_type:
                parts = _split(parts, kernel.cores.mask, handle)
        joined = _joined(parts)
        if len(joined) > GROUP_COUNT_MAX:
            raise ProgramMisuse(
                f"{len(joined)} kernel groups on {core_type.name} cores; {GROUP_COUNT_MAX} can be distinguished"
            )
        groups += [_group(core_type, kernels, handles, mask) for handles, mask in joined.items()]
    return tuple(groups)


def _split(parts: dict[int, tuple[int, ...]], mask: int, handle: int) -> dict[int, tuple[int, ...]]:
    """The same parts with one more kernel on some cores."""
    split: dict[int, tuple[int, ...]] = {}
    for part, handles in parts.items():
        if part & mask:
            split[part & mask] = (*handles, handle)
        if part & ~mask:
            split[part & ~mask] = handles
        mask &= ~part
    if mask:
        split[mask] = (handle,)
    return split


def _joined(parts: dict[int, tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    joined: dict[tuple[int, ...], int] = defaultdict(int)
    for mask, handles in parts.items():
        joined[handles] |= mask
    return joined


def _group(core_type: CoreType, kernels: Sequence[Kernel], handles: tuple[int, ...], mask: int) -> KernelGroup:
    own = sorted((kernels[handle] for handle in handles), key=lambda kernel: kernel.processor.value)
    return KernelGroup(core_type, tuple(own), mask)
