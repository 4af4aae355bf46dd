"""The map of a chip as a document, and back; described field by field in docs/reference/serve.md."""

from typing import Literal, get_args

from ttmem.devices import Pool
from ttmem.snapshot.document import SCHEMA, Document
from ttmem.snapshot.fields import Fields, time_text
from ttmem.snapshot.reading import check_schema
from ttmem.snapshot.sights.chip_map import ChipMap, CoreFill, Region, Space, Stretch, StretchKind
from ttmem.snapshot.sights.documents.devices import device_document, device_from_document

__all__ = ["chip_map_document", "chip_map_from_document"]


def chip_map_document(chip: ChipMap) -> Document:
    """The whole map."""
    return {
        "schema": SCHEMA,
        "time": time_text(chip.time_ns),
        "time_ns": chip.time_ns,
        "device": device_document(chip.device),
        "dram": None if chip.dram is None else _space_document(chip.dram),
        "l1": None if chip.l1 is None else _space_document(chip.l1),
        "core_total": chip.core_bytes,
        "core_common": chip.common_bytes,
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
        common_bytes=fields.maybe_integer("core_common"),
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
