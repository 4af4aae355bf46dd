"""Whose kernel is it? The answers in order of trust, and how each was found.

   owner      the program it belongs to
   argument   the caller said so
   path       where its source lies
   stack      who called
   size       the two well-known sizes of the allocation server protocol: a guess

The call stack is looked at only when nothing better is known. What is not known is an application's, found by
nothing.
"""

import sys
from types import FrameType

from ttmem.devices import Kind, Pool
from ttmem.tracking import CoreType, FoundBy, KernelFacts, KernelType

__all__ = ["UNSAID", "Said", "kernel_kind", "kernel_pool", "kernel_type_of"]


class Said(int):
    """A number as a default, distinct by identity from the same number passed by a caller."""


UNSAID = Said(KernelType.APPLICATION)

# `FabricBuilder::create_kernels` and the kernels of the command queues name sources in these folders only.
_FABRIC_FOLDER = "/tt_metal/fabric/"
_DISPATCH_FOLDER = "/tt_metal/impl/dispatch/kernels/"

# `Device::configure_fabric` and `Device::configure_command_queue_programs`.
_CALLERS = (("configure_fabric", KernelType.FABRIC), ("configure_command_queue", KernelType.DISPATCH))
_FRAMES_MOST = 64

# Payloads of 28 and of 23 pages of 2,048 bytes: those that the allocation server's authors saw.
_SIZES = {57_344: KernelType.FABRIC, 47_104: KernelType.DISPATCH}

_KINDS = {
    KernelType.APPLICATION: Kind.KERNEL_APPLICATION,
    KernelType.FABRIC: Kind.KERNEL_FABRIC,
    KernelType.DISPATCH: Kind.KERNEL_DISPATCH,
}
_ETHERNET = (CoreType.ACTIVE_ETH, CoreType.IDLE_ETH)


def kernel_type_of(kernel_type: int, size_bytes: int, facts: KernelFacts) -> tuple[int, FoundBy]:
    """The type, in the protocol's numbers, and how it was found; an unknown number stays what the caller said."""
    if facts.owner is not None:
        return facts.owner, FoundBy.OWNER
    if kernel_type is not UNSAID:
        return kernel_type, FoundBy.ARGUMENT
    if facts.source_path:
        return _type_by_path(facts.source_path), FoundBy.PATH
    caller = _type_by_stack(sys._getframe(1))
    if caller is not None:
        return caller, FoundBy.STACK
    if size_bytes in _SIZES:
        return _SIZES[size_bytes], FoundBy.SIZE
    return KernelType.APPLICATION, FoundBy.UNKNOWN


def _type_by_path(path: str) -> KernelType:
    rooted = f"/{path}"
    if _FABRIC_FOLDER in rooted:
        return KernelType.FABRIC
    return KernelType.DISPATCH if _DISPATCH_FOLDER in rooted else KernelType.APPLICATION


def _type_by_stack(frame: FrameType | None) -> KernelType | None:
    for _ in range(_FRAMES_MOST):
        if frame is None:
            return None
        for name, kernel_type in _CALLERS:
            if name in frame.f_code.co_name:
                return kernel_type
        frame = frame.f_back
    return None


def kernel_kind(kernel_type: int) -> Kind:
    """The kind that a kernel of this type is listed as."""
    return _KINDS.get(kernel_type, Kind.KERNEL_UNKNOWN)  # type: ignore[call-overload, no-any-return]


def kernel_pool(kernel_type: int, core_type: CoreType) -> Pool:
    """Where its code lies: ethernet cores have memory of their own, and so have the cores of the dispatcher."""
    if kernel_type == KernelType.DISPATCH:
        return Pool.DISPATCH
    if core_type in _ETHERNET:
        return Pool.ETH
    is_router = kernel_type == KernelType.FABRIC and core_type == CoreType.UNKNOWN
    return Pool.ETH if is_router else Pool.KERNEL
