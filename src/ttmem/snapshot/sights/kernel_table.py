"""The kernels of one chip, program by program, and what the chip's ring and caches have done."""

from dataclasses import dataclass
from typing import Any

from ttmem.devices import BinaryStatus, Device, Kind
from ttmem.snapshot.activity import Activity, activity_document, activity_from_document
from ttmem.snapshot.document import SCHEMA, Document
from ttmem.snapshot.fields import Fields, time_text
from ttmem.snapshot.reading import check_schema
from ttmem.snapshot.sights.devices import device_document, device_from_document
from ttmem.tracking import CoreType, FoundBy

__all__ = ["KernelRow", "KernelTable", "kernel_table_document", "kernel_table_from_document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelRow:
    """One kernel of one program."""

    pid: int
    program: int | None
    id: int
    name: str
    kind: Kind
    found_by: FoundBy
    core_type: CoreType
    binary_bytes: int | None
    core_count: int | None
    exact_bytes: int | None  # None: not known; then the seeds' rule stands for it
    seed_rule_bytes: int | None  # binary size x cores
    status: BinaryStatus | None  # of its program's binaries; None if the program never had any
    launch_count: int | None  # of its program
    time_ns: int | None  # when it was loaded

    @property
    def cache_hit_count(self) -> int | None:
        """Launches of its program that found it made already: all but the first."""
        return None if self.launch_count is None else max(0, self.launch_count - 1)

    @property
    def charged_bytes(self) -> int | None:
        """What it counts for: its exact bytes, else the seeds' rule."""
        return self.seed_rule_bytes if self.exact_bytes is None else self.exact_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTable:
    """All kernels of one chip: the largest first, the rest counted."""

    time_ns: int
    device: Device
    rows: tuple[KernelRow, ...]
    more_count: int
    activity: Activity
    launch_count: int | None = None  # on the chip, of all programs
    reason: str = ""  # why the list is not whole; empty when it is


def kernel_table_document(table: KernelTable) -> Document:
    """The whole table; described field by field in docs/serve.md."""
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
        "cores": row.core_count,
        "exact": row.exact_bytes,
        "seed_rule": row.seed_rule_bytes,
        "status": None if row.status is None else row.status.word,
        "launches": row.launch_count,
        "cache_hits": row.cache_hit_count,
        "loaded": time_text(row.time_ns),
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
        core_count=row.maybe_integer("cores"),
        exact_bytes=row.maybe_integer("exact"),
        seed_rule_bytes=row.maybe_integer("seed_rule"),
        status=_STATUSES[status] if status else None,
        launch_count=row.maybe_integer("launches"),
        time_ns=row.maybe_time_ns("loaded"),
    )
