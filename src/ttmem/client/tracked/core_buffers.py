"""Buffers that are allocated by core: only some cores of a chip give memory for them, each where it has room.

Such a buffer has one part for each address it lies at. Chips of a mesh that have the same parts are reported together,
as one record on the mesh; where they differ, every chip is reported by itself, as a buffer of its own with the same id.
"""

from collections.abc import Sequence
from typing import TypeAlias

from ttmem import _native
from ttmem.client.reports import report_buffer_free, report_core_buffer_alloc
from ttmem.client.tracked.devices import OpenDevice
from ttmem.tracking import CoreAllocated, CorePart

__all__ = ["end", "report"]

_intern = _native.client.intern

_Parts: TypeAlias = Sequence[CorePart]


def report(opened: OpenDevice, buffer: CoreAllocated, of_chips: Sequence[_Parts]) -> None:
    """Lists every part; each is charged the bytes that a core gives up, times its cores."""
    for target, parts in _targets(opened, of_chips):
        told = [(part.address, _intern(str(part.cores)), part.cores.core_count) for part in parts]
        report_core_buffer_alloc(
            target, buffer.unique_id, buffer.per_bank_bytes, told, buffer.requested_bytes, buffer.buffer_type
        )


def end(opened: OpenDevice, buffer: CoreAllocated, of_chips: Sequence[_Parts]) -> None:
    """Ends all parts on all chips."""
    for target, parts in _targets(opened, of_chips):
        reserved_bytes = buffer.per_bank_bytes * sum(part.cores.core_count for part in parts)
        report_buffer_free(target, buffer.unique_id, buffer.buffer_type, reserved_bytes)


def _targets(opened: OpenDevice, of_chips: Sequence[_Parts]) -> list[tuple[int, _Parts]]:
    if len(of_chips) != len(opened.chips):
        raise ValueError(f"core_parts names {len(of_chips)} chips, its device has {len(opened.chips)}")
    if all(parts == of_chips[0] for parts in of_chips):
        return [(opened.target, of_chips[0])]
    return [(target, parts) for target, parts in zip(opened.chips, of_chips, strict=True) if parts]
