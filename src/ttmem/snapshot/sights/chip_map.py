"""One chip by address: what lies where in its DRAM banks and in the L1 of its cores, and which core is fullest.

Banks work in lockstep: a buffer takes the same addresses of each, also of those that hold none of its bytes, so one
bank stands for all. Circular buffers lie on some cores only. Addresses are those of a bank or core, sizes are bytes.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from ttmem.devices import Device, Pool
from ttmem.snapshot.document import SCHEMA, Document
from ttmem.snapshot.fields import Fields, time_text
from ttmem.snapshot.reading import check_schema
from ttmem.snapshot.sights.devices import device_document, device_from_document

__all__ = [
    "ChipMap",
    "CoreFill",
    "Region",
    "Space",
    "Stretch",
    "StretchKind",
    "chip_map_document",
    "chip_map_from_document",
]

# cb: circular buffers of the program that ran last on that core. planned: where only other loaded programs have some.
StretchKind = Literal["reserved", "ring", "cb", "planned", "buffer", "small", "trace", "free"]


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of an address space; neighbours of one kind are one stretch."""

    kind: StretchKind
    begin: int
    end: int
    count: int = 0  # how many allocations lie in it
    hole_bytes: int = 0  # of its bytes, what is free in holes too small to be told apart

    @property
    def size_bytes(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True, slots=True, kw_only=True)
class Region:
    """The part of a bank or core that one pool has: from `begin` to `end`, where its holes are."""

    pool: Pool
    begin: int
    end: int
    used_bytes: int
    count: int  # allocations
    largest_free_bytes: int | None  # None: somebody did not say where something lies
    hole_count: int | None  # free blocks, the largest included
    is_begin_assumed: bool  # the chip's opener does not say; taken from what the architecture is known to have


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One address space, from 0 to `end`: a DRAM bank, or the L1 of a worker core."""

    name: Literal["dram", "l1"]
    bank_count: int
    end: int
    stretches: tuple[Stretch, ...]  # by address, without gaps; of L1, that of the fullest core
    regions: tuple[Region, ...]
    is_complete: bool  # False: some allocations have no address, and are missing here
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CoreFill:
    """How full one worker core is: buffers, circular buffers (where both lie, once) and the kernel ring."""

    x: int
    y: int
    used_bytes: int
    cb_planned_bytes: int
    cb_resident_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipMap:
    """One chip, close up."""

    time_ns: int
    device: Device
    dram: Space | None
    l1: Space | None
    core_bytes: int | None  # what a core has for buffers, circular buffers and the kernel ring
    ring_live_bytes: int | None  # of the fullest worker core
    ring_retired_bytes: int | None
    cores: tuple[CoreFill, ...]  # row by row; empty if the grid is not known
    worst: tuple[int, int] | None  # x and y of the fullest core
    is_estimated: bool = False  # some circular buffers did not say on which cores they lie: taken for the first ones

    @property
    def worst_fill(self) -> CoreFill | None:
        return next((core for core in self.cores if (core.x, core.y) == self.worst), None)


def chip_map_document(chip: ChipMap) -> Document:
    """The whole map; described field by field in docs/serve.md."""
    return {
        "schema": SCHEMA,
        "time": time_text(chip.time_ns),
        "time_ns": chip.time_ns,
        "device": device_document(chip.device),
        "dram": None if chip.dram is None else _space_document(chip.dram),
        "l1": None if chip.l1 is None else _space_document(chip.l1),
        "core_total": chip.core_bytes,
        "ring_live": chip.ring_live_bytes,
        "ring_retired": chip.ring_retired_bytes,
        "cores": [
            {
                "x": core.x,
                "y": core.y,
                "used": core.used_bytes,
                "cb_planned": core.cb_planned_bytes,
                "cb_resident": core.cb_resident_bytes,
            }
            for core in chip.cores
        ],
        "worst_core": list(chip.worst) if chip.worst else None,
        "estimated": chip.is_estimated,
    }


def _space_document(space: Space) -> Document:
    return {
        "banks": space.bank_count,
        "end": space.end,
        "stretches": [
            {"kind": one.kind, "begin": one.begin, "end": one.end, "count": one.count, "holes": one.hole_bytes}
            for one in space.stretches
        ],
        "regions": {
            region.pool.word: {
                "begin": region.begin,
                "end": region.end,
                "used": region.used_bytes,
                "count": region.count,
                "largest_free": region.largest_free_bytes,
                "holes": region.hole_count,
                "begin_assumed": region.is_begin_assumed,
            }
            for region in space.regions
        },
        "complete": space.is_complete,
        "reason": space.reason or None,
    }


_KINDS: tuple[StretchKind, ...] = get_args(StretchKind)
_POOLS = {pool.word: pool for pool in Pool}


def chip_map_from_document(document: Document) -> ChipMap:
    """The inverse of `chip_map_document`."""
    fields = Fields(document)
    check_schema(fields)
    return ChipMap(
        time_ns=fields.nanoseconds("time_ns"),
        device=device_from_document(fields.inner("device")),
        dram=_space("dram", fields.maybe_inner("dram")),
        l1=_space("l1", fields.maybe_inner("l1")),
        core_bytes=fields.maybe_integer("core_total"),
        ring_live_bytes=fields.maybe_integer("ring_live"),
        ring_retired_bytes=fields.maybe_integer("ring_retired"),
        cores=tuple(
            CoreFill(*map(row.integer, ("x", "y", "used", "cb_planned", "cb_resident")))
            for row in fields.items("cores")
        ),
        worst=fields.maybe_pair("worst_core"),
        is_estimated=fields.flag("estimated"),
    )


def _space(name: Literal["dram", "l1"], row: Fields | None) -> Space | None:
    if row is None:
        return None
    return Space(
        name=name,
        bank_count=row.integer("banks"),
        end=row.integer("end"),
        stretches=tuple(
            Stretch(one.word("kind", _KINDS), *map(one.integer, ("begin", "end", "count", "holes")))
            for one in row.items("stretches")
        ),
        regions=tuple(_region(word, inner) for word, inner in row.named("regions")),
        is_complete=row.flag("complete"),
        reason=row.maybe_text("reason"),
    )


def _region(word: str, row: Fields) -> Region:
    return Region(
        pool=_POOLS[word] if word in _POOLS else row.refuse("", "one of the pools " + " ".join(_POOLS), word),
        begin=row.integer("begin"),
        end=row.integer("end"),
        used_bytes=row.integer("used"),
        count=row.integer("count"),
        largest_free_bytes=row.maybe_integer("largest_free"),
        hole_count=row.maybe_integer("holes"),
        is_begin_assumed=row.flag("begin_assumed"),
    )
