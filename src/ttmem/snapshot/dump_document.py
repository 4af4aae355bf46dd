"""A dump as one JSON-able document, and back; described field by field in docs/reference/dump.md.

As in a snapshot's document: whole bytes, `null` for unknown, ISO times. Ids and addresses are texts such as 0x1f00,
since they may be larger than the whole numbers that JSON readers keep exactly.
"""

from typing import get_args

from ttmem.devices import BufferLayout, Kind, Pool
from ttmem.snapshot.document import SCHEMA, Document, device_name
from ttmem.snapshot.dump import (
    BY,
    Allocation,
    By,
    Dump,
    DumpDevice,
    DumpGroup,
    DumpSum,
    Owner,
    PlacedPart,
    ProcessNote,
    Unlisted,
)
from ttmem.snapshot.fields import Fields, time_text
from ttmem.snapshot.incidents import incident_document, read_incident
from ttmem.snapshot.reading import bare_device, check_schema
from ttmem.snapshot.usage import Source
from ttmem.tracking import CoreType, FoundBy

__all__ = ["dump_document", "dump_from_document"]

_SOURCES: tuple[Source, ...] = get_args(Source)
_CORE_TYPES = {"": CoreType.UNKNOWN, **{core.word: core for core in CoreType}}
_FOUND_BY = {"": FoundBy.UNKNOWN, **{found.word: found for found in FoundBy}}
_LAYOUTS = {"": BufferLayout.UNKNOWN, **{layout.word: layout for layout in BufferLayout}}
_POOLS = {pool.word: pool for pool in Pool}
_KINDS = {kind.word: kind for kind in Kind}
_BY: dict[str, By] = {by: by for by in BY}


def dump_document(dump: Dump) -> Document:
    """The whole dump; `json.dumps` takes it as it is."""
    return {
        "schema": SCHEMA,
        "time": time_text(dump.time_ns),
        "time_ns": dump.time_ns,
        "source": dump.source,
        "places": list(dump.places),
        "complete": not dump.unlisted,
        "kernels_only": dump.is_kernels_only,
        "by": dump.by or None,
        "processes": dump.process_count,
        "ended": dump.ended_count,
        "devices": [_device(device, dump.time_ns) for device in dump.devices],
        "unlisted": [{**_owner(unlisted.owner), "reason": unlisted.reason} for unlisted in dump.unlisted],
        "notes": list(dump.notes),
        "process_notes": [_process_note(note) for note in dump.process_notes],
    }


def _device(found: DumpDevice, time_ns: int) -> Document:
    return {
        **device_name(found.device),
        "board": found.device.board or None,
        "arch": found.device.arch or None,
        "groups": [_group(group, time_ns) for group in found.groups],
    }


def _group(group: DumpGroup, time_ns: int) -> Document:
    return {
        "type": group.type,
        "kernel": group.is_kernel,
        "used": group.used_bytes,
        "count": group.count,
        "estimated": group.is_estimated,
        "planned": group.is_planned,
        "more": group.more_count,
        "allocations": [allocation_document(one, time_ns) for one in group.allocations],
        "sums": [_sum(one) for one in group.sums],
        "more_sums": group.more_sum_count,
    }


def _sum(one: DumpSum) -> Document:
    return {"name": one.name or None, "stack": list(one.stack), "size": one.size_bytes, "count": one.count}


def _process_note(note: ProcessNote) -> Document:
    return {
        **_owner(note.owner),
        "ended": note.is_ended,
        "incidents": [incident_document(incident) for incident in note.incidents],
        "incident_count": note.incident_count,
        "refusals": note.refusal_count,
        "clash_count": note.clash_count,
        "sites_off": note.sites_off or None,
    }


def allocation_document(one: Allocation, time_ns: int) -> Document:
    return {
        "id": hex(one.id),
        "address": None if one.address is None else hex(one.address),
        "program": one.program,
        "name": one.name or None,
        "stack": list(one.stack),
        "operation": one.operation or None,
        "tensor": one.tensor or None,
        "core_type": one.core_type.word if one.kind.is_kernel else None,
        "found_by": one.found_by.word if one.kind.is_kernel else None,
        "packed": list(one.packed_bytes),
        "kind": one.kind.word,
        "pool": one.pool.word,
        "size": one.size_bytes,
        "requested": one.requested_bytes,
        "page": one.page_bytes,
        "layout": one.layout.word if one.kind in (Kind.BUFFER, Kind.TRACE_BUFFER) else None,
        "cores": one.core_count,
        "per_core": one.per_core_bytes,
        "parts": [
            {"address": hex(part.address), "cores": part.core_count, "core_set": part.core_set or None}
            for part in one.parts
        ],
        "holders": one.holder_count,
        "view": one.is_view,
        "estimated": one.is_estimated,
        "time": time_text(one.time_ns),
        # of whole microseconds, so that it is the same after a time was read back
        "age_ms": None if one.time_ns is None else max(0, time_ns // 1000 - one.time_ns // 1000) // 1000,
        "thread": one.thread,
        **_owner(one.owner),
    }


def _owner(owner: Owner) -> Document:
    return {
        "pid": owner.pid or None,
        "user": owner.user,
        "label": owner.label,
        "source": owner.source,
        "visible": owner.is_visible,
    }


def dump_from_document(document: Document) -> Dump:
    """The dump that a document tells of. A document of another schema, or without a field, is a VersionMismatch."""
    fields = Fields(document)
    check_schema(fields)
    return Dump(
        time_ns=fields.nanoseconds("time_ns"),
        source=fields.text("source"),
        places=fields.texts("places"),
        is_kernels_only=fields.flag("kernels_only"),
        process_count=fields.integer("processes"),
        ended_count=fields.integer("ended"),
        devices=tuple(_read_device(row, number) for number, row in enumerate(fields.items("devices"))),
        unlisted=tuple(Unlisted(_read_owner(row), row.text("reason")) for row in fields.items("unlisted")),
        notes=fields.texts("notes"),
        by=_BY[fields.maybe_word("by", tuple(_BY))],
        process_notes=tuple(_read_process_note(row) for row in fields.items("process_notes")),
    )


def _read_device(row: Fields, number: int) -> DumpDevice:
    device = bare_device(row, number)._replace(board=row.maybe_text("board"), arch=row.maybe_text("arch"))
    return DumpDevice(device, tuple(_read_group(group) for group in row.items("groups")))


def _read_group(row: Fields) -> DumpGroup:
    return DumpGroup(
        type=row.text("type"),
        is_kernel=row.flag("kernel"),
        used_bytes=row.integer("used"),
        count=row.integer("count"),
        is_estimated=row.flag("estimated"),
        allocations=tuple(read_allocation(one) for one in row.items("allocations")),
        sums=tuple(
            DumpSum(one.maybe_text("name"), one.texts("stack"), one.integer("size"), one.integer("count"))
            for one in row.items("sums")
        ),
        more_sum_count=row.integer("more_sums"),
    )


def _read_process_note(row: Fields) -> ProcessNote:
    return ProcessNote(
        owner=_read_owner(row),
        is_ended=row.flag("ended"),
        incidents=tuple(read_incident(one) for one in row.items("incidents")),
        incident_count=row.integer("incident_count"),
        refusal_count=row.integer("refusals"),
        clash_count=row.integer("clash_count"),
        sites_off=row.maybe_text("sites_off"),
    )


def read_allocation(row: Fields) -> Allocation:
    return Allocation(
        kind=_KINDS[row.word("kind", tuple(_KINDS))],
        pool=_POOLS[row.word("pool", tuple(_POOLS))],
        id=row.hexadecimal("id") or 0,
        address=row.hexadecimal("address"),
        program=row.maybe_integer("program"),
        name=row.maybe_text("name"),
        stack=row.texts("stack"),
        operation=row.maybe_text("operation"),
        tensor=row.maybe_text("tensor"),
        core_type=_CORE_TYPES[row.maybe_word("core_type", tuple(_CORE_TYPES))],
        found_by=_FOUND_BY[row.maybe_word("found_by", tuple(_FOUND_BY))],
        packed_bytes=row.integers("packed"),
        size_bytes=row.integer("size"),
        requested_bytes=row.integer("requested"),
        page_bytes=row.maybe_integer("page"),
        layout=_LAYOUTS[row.maybe_word("layout", tuple(_LAYOUTS))],
        core_count=row.maybe_integer("cores"),
        per_core_bytes=row.maybe_integer("per_core"),
        parts=tuple(
            PlacedPart(part.hexadecimal("address") or 0, part.integer("cores"), part.maybe_text("core_set"))
            for part in row.items("parts")
        ),
        holder_count=row.integer("holders"),
        is_view=row.flag("view"),
        is_estimated=row.flag("estimated"),
        time_ns=row.maybe_time_ns("time"),
        thread=row.maybe_integer("thread"),
        owner=_read_owner(row),
    )


def _read_owner(row: Fields) -> Owner:
    return Owner(
        pid=row.maybe_integer("pid") or 0,
        user=row.text("user"),
        label=row.text("label"),
        source=row.word("source", _SOURCES),
        is_visible=row.flag("visible"),
    )
