"""Buffers of a device, and what is known of the tensor in them.

The buffer of a program's binaries is charged as the program's. A buffer that is allocated by core has one part for each
address it lies at: only some cores give memory for it, each where it has room. Chips of a mesh that have the same parts
are reported together, as one record on the mesh; where they differ, each chip is reported by itself, with the same id.
"""

from collections.abc import Sequence
from typing import TypeAlias, cast

from ttmem import _native
from ttmem.client.reports import report_buffer_alloc, report_buffer_free, report_core_buffer_alloc, report_free
from ttmem.client.tracked.devices import OpenDevice
from ttmem.devices import BufferType
from ttmem.tracking import CoreAllocated, CorePart, Refusal, TrackedBuffer

__all__ = ["end", "report", "site_of"]

_DRAM = BufferType.DRAM
_HOLDS_TRACE = 4  # of ttmem_option
_intern = _native.client.intern
_described_site = _native.own.described_site

_Parts: TypeAlias = Sequence[CorePart]


def report(opened: OpenDevice, buffer: TrackedBuffer) -> None:
    """A buffer was allocated. What only some runtimes say of a buffer is asked for by name."""
    kind = buffer.buffer_type
    if parts := getattr(buffer, "core_parts", None):
        _report_parts(opened, cast("CoreAllocated", buffer), parts)
        return
    if buffer.program and kind == _DRAM:
        opened.programs.hold(buffer.program, buffer.reserved_bytes, buffer.address)
        return
    is_trace = kind == _DRAM and getattr(buffer, "holds_trace", False)
    about = getattr(buffer, "description", None)
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


def end(opened: OpenDevice, buffer: TrackedBuffer) -> None:
    """A buffer was freed."""
    if parts := getattr(buffer, "core_parts", None):
        _end_parts(opened, cast("CoreAllocated", buffer), parts)
        return
    kind, reserved_bytes = buffer.buffer_type, buffer.reserved_bytes
    if buffer.program and kind == _DRAM:
        opened.programs.release(buffer.program, reserved_bytes)
    elif buffer.unique_id in opened.traces:
        report_free(opened.traces.pop(buffer.unique_id))
    else:
        report_buffer_free(opened.target, buffer.unique_id, kind, reserved_bytes)


def site_of(about: Refusal) -> int:
    """The site of a tensor and of the operation that asked for it; 0 if neither is known."""
    return _described_site(about.tensor, about.operation) if about.tensor or about.operation else 0


def _report_parts(opened: OpenDevice, buffer: CoreAllocated, of_chips: Sequence[_Parts]) -> None:
    """Each part is charged the bytes that a core gives up, times its cores."""
    about = getattr(buffer, "description", None)
    site, layout = (_described_site(about.tensor, about.operation), about.layout) if about else (0, 0)
    for target, parts in _targets(opened, of_chips):
        reported = [(part.address, _intern(str(part.cores)), part.cores.core_count) for part in parts]
        of_all = (buffer.per_bank_bytes, reported, buffer.requested_bytes, buffer.buffer_type)
        report_core_buffer_alloc(target, buffer.unique_id, *of_all, site, 0, layout)


def _end_parts(opened: OpenDevice, buffer: CoreAllocated, of_chips: Sequence[_Parts]) -> None:
    for target, parts in _targets(opened, of_chips):
        reserved_bytes = buffer.per_bank_bytes * sum(part.cores.core_count for part in parts)
        report_buffer_free(target, buffer.unique_id, buffer.buffer_type, reserved_bytes)


def _targets(opened: OpenDevice, of_chips: Sequence[_Parts]) -> list[tuple[int, _Parts]]:
    if len(of_chips) != len(opened.chips):
        raise ValueError(f"core_parts names {len(of_chips)} chips, its device has {len(opened.chips)}")
    if all(parts == of_chips[0] for parts in of_chips):
        return [(opened.target, of_chips[0])]
    return [(target, parts) for target, parts in zip(opened.chips, of_chips, strict=True) if parts]
