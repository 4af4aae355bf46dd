"""The kernels of a chip as a document, and back; described field by field in docs/reference/serve.md."""

from typing import Any

from ttmem.devices import BinaryStatus, Kind
from ttmem.snapshot.activity import activity_document, activity_from_document
from ttmem.snapshot.document import SCHEMA, Document
from ttmem.snapshot.fields import Fields, time_text
from ttmem.snapshot.reading import check_schema
from ttmem.snapshot.sights.documents.devices import device_document, device_from_document
from ttmem.snapshot.sights.kernel_table import KernelRow, KernelTable
from ttmem.tracking import CoreType, FoundBy

__all__ = ["kernel_table_document", "kernel_table_from_document"]


def kernel_table_document(table: KernelTable) -> Document:
    """The whole table."""
    return {
        "schema": SCHEMA,
        "time": time_text(table.time_ns),
        "time_ns": table.time_ns,
        "device": device_document(table.device),
        "kernels": [_row_document(row) for row in table.rows],
        "more": table.more_count,
        "launches": table.launch_count,
        "reason": table.reason or None,
        **activity_document(table.activity),
    }


def _row_document(row: KernelRow) -> Document:
    return {
        "pid": row.pid,
        "program": row.program,
        "id": hex(row.id),
        "name": row.name or None,
        "type": row.kind.kernel_word,
        "found_by": row.found_by.word,
        "core_type": row.core_type.word,
        "binary": row.binary_bytes,
        "packed": list(row.packed_bytes),
        "cores": row.core_count,
        "exact": row.exact_bytes,
        "seed_rule": row.seed_rule_bytes,
        "status": None if row.status is None else row.status.word,
        "launches": row.launch_count,
        "cache_hits": row.cache_hit_count,
        "loaded": time_text(row.time_ns),
        "operation": row.operation or None,
    }


_TYPES = {kind.kernel_word: kind for kind in Kind if kind.is_kernel}
_FOUND_BY = {found.word: found for found in FoundBy}
_CORE_TYPES = {core.word: core for core in CoreType}
_STATUSES = {status.word: status for status in BinaryStatus}


def kernel_table_from_document(document: Document) -> KernelTable:
    """The inverse of `kernel_table_document`; times are whole microseconds."""
    fields = Fields(document)
    check_schema(fields)
    return KernelTable(
        time_ns=fields.nanoseconds("time_ns"),
        device=device_from_document(fields.inner("device")),
        rows=tuple(map(_row, fields.items("kernels"))),
        more_count=fields.integer("more"),
        activity=activity_from_document(fields),
        launch_count=fields.maybe_integer("launches"),
        reason=fields.maybe_text("reason"),
    )


def _row(row: Fields) -> KernelRow:
    def known(name: str, words: dict[str, Any]) -> Any:
        return words[row.word(name, tuple(words))]

    status = row.maybe_word("status", tuple(_STATUSES))
    return KernelRow(
        pid=row.integer("pid"),
        program=row.maybe_integer("program"),
        id=row.hexadecimal("id") or 0,
        name=row.maybe_text("name"),
        kind=known("type", _TYPES),
        found_by=known("found_by", _FOUND_BY),
        core_type=known("core_type", _CORE_TYPES),
        binary_bytes=row.maybe_integer("binary"),
        packed_bytes=row.integers("packed"),
        core_count=row.maybe_integer("cores"),
        exact_bytes=row.maybe_integer("exact"),
        seed_rule_bytes=row.maybe_integer("seed_rule"),
        status=_STATUSES[status] if status else None,
        launch_count=row.maybe_integer("launches"),
        time_ns=row.maybe_time_ns("loaded"),
        operation=row.maybe_text("operation"),
    )
