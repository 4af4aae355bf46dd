"""Every allocation of this process that is alive, with where it lies and which line of Python asked for it.

Lines are recorded with TTMEM_SITES=1, which `ttmem run` sets, or `record_sites()`. Stacks are taken by the native core
inside the report, whether or not the thread holds the interpreter's lock.
"""

from typing import Any, TypedDict

from ttmem import _native
from ttmem.client.memory.chips import chips, chips_meant
from ttmem.devices import BufferLayout, Kind, Pool

__all__ = ["LiveAllocation", "forget_sites", "memory_snapshot", "record_sites"]

_VIEW, _ESTIMATED = 1, 64  # flags of an entry


class LiveAllocation(TypedDict):
    """One thing that is alive. Sizes are bytes on each of its chips; None is unknown, or not reported of its kind."""

    devices: list[int]  # indexes of the chips it lies on; unique ids of those without one
    pool: str
    kind: str
    id: int
    address: int | None
    size: int  # what it is charged: alignment included, 0 for a view
    requested: int
    per_bank: int | None  # of a buffer; of a circular buffer per core
    page: int | None
    layout: str | None
    cores: int | None
    program: int | None
    name: str | None  # of a kernel
    packed: list[int]  # bytes of its binaries, one for each processor; empty if nobody told
    stack: list[str]  # "file:line function", innermost first; empty unless sites are recorded
    thread: int | None  # the kernel's number of the thread that allocated it
    age_seconds: float
    is_view: bool  # memory that belongs to another allocation
    is_estimated: bool  # a kernel of unknown exact size


def record_sites() -> None:
    """From now on every reported buffer carries the Python stack of its thread: the 16 innermost frames that are not
    ttmem's, ttnn's, torch's or pytest's."""
    _native.own.record_sites()


def forget_sites() -> None:
    """Stops it; buffers that carry a stack keep it."""
    _native.own.forget_sites()


def memory_snapshot(device: Any = None) -> list[LiveAllocation]:
    """All that is alive, oldest first; with a device only what lies on it. Plain data that `json.dumps` takes."""
    places: dict[int, list[int]] = {}
    for chip in chips():
        for target in chip.targets:
            places.setdefault(target, []).append(chip.index if chip.index >= 0 else chip.unique_id)
    wanted = None if device is None else {target for chip in chips_meant(device) for target in chip.targets}
    return [_told(row, places) for row in _native.own.entries() if wanted is None or row[0] in wanted]


def _told(row: tuple[Any, ...], places: dict[int, list[int]]) -> LiveAllocation:
    target, kind_number, identity, pool, flags, size, requested, address, per_bank, page, layout, *rest = row
    cores, program, thread, age_ns, packed, site = rest
    kind = Kind.numbered(kind_number)
    return {
        "devices": places.get(target, []),
        "pool": Pool.numbered(pool).word,
        "kind": kind.word,
        "id": identity,
        "address": None if kind.is_kernel or kind is Kind.PROGRAM_BINARY else address,
        "size": size,
        "requested": requested,
        "per_bank": per_bank or None,
        "page": page or None,
        "layout": BufferLayout.numbered(layout).word if layout else None,
        "cores": cores or None,
        "program": program,
        "name": site or None if kind.is_kernel else None,
        "packed": list(packed) if kind.is_kernel else [],
        "stack": [] if kind.is_kernel or not site else site.split("\n"),
        "thread": thread or None,
        "age_seconds": age_ns / 1e9,
        "is_view": bool(flags & _VIEW),
        "is_estimated": kind is not Kind.BUFFER and bool(flags & _ESTIMATED),
    }
