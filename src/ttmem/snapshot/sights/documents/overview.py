"""An overview as one JSON-able document, and back; described field by field in docs/reference/serve.md.

Devices and shared fields are those of a snapshot's document. Numbers of devices and keys of processes are kept, since
rows name each other by them.
"""

from typing import get_args

from ttmem.snapshot.document import (
    SCHEMA,
    Document,
    device_usage_document,
    figures_document,
    finding_document,
    foreign_document,
    host_document,
    incident_documents,
    kind_document,
)
from ttmem.snapshot.fields import Fields, time_text
from ttmem.snapshot.reading import (
    ALL_KINDS,
    ORIGINS,
    SOURCES,
    Devices,
    check_schema,
    read_device_usage,
    read_finding,
    read_foreign,
    read_host,
    read_incidents,
    read_kind,
    read_pool,
    read_reason,
)
from ttmem.snapshot.sights.overview import Overview, ProcessRow, RowState
from ttmem.snapshot.usage import DeviceUsage

__all__ = [
    "device_document",
    "overview_document",
    "overview_from_document",
    "process_row_document",
    "read_process_row",
]

_STATES: tuple[RowState, ...] = get_args(RowState)


def overview_document(overview: Overview) -> Document:
    """The whole overview; `json.dumps` takes it as it is."""
    return {
        "schema": SCHEMA,
        "time": time_text(overview.time_ns),
        "time_ns": overview.time_ns,
        "source": overview.source,
        "places": list(overview.places),
        "complete": not overview.reason,
        "reason": overview.reason or None,
        "host_info": host_document(overview.host),
        "device_info": [device_document(usage) for usage in overview.devices],
        "processes": [process_row_document(row) for row in overview.processes],
        "foreign": [foreign_document(row) for row in overview.foreign],
        "findings": [finding_document(finding) for finding in overview.findings],
    }


def device_document(usage: DeviceUsage) -> Document:
    """One chip of an overview."""
    return {"number": usage.device.number, **device_usage_document(usage)}


def process_row_document(row: ProcessRow) -> Document:
    """One process of an overview."""
    return {
        "key": row.key,
        "pid": row.pid or None,
        "parent": row.parent_pid,
        "user": row.user,
        "uid": row.uid,
        "cmdline": row.command,
        "label": row.label,
        "source": row.source,
        "state": row.state,
        "visible": row.is_visible,
        "container": row.container,
        "start_time": time_text(row.start_time_ns),
        "start_ticks": row.start_ticks,
        "last_event_time": time_text(row.last_event_time_ns),
        "reason": row.reason or None,
        "origin": row.origin,
        "live_count": row.live_count,
        "devices": list(row.devices),
        "memory": {usage.pool.word: figures_document(usage) for usage in row.pools},
        "kinds": {usage.kind.word: kind_document(usage) for usage in row.kinds},
        "cb_planned": row.cb_planned_bytes,
        "launches": row.launch_count,
        "findings": row.finding_count,
        "incidents": incident_documents(row.incidents),
        "incident_count": row.incident_count,
        "refusals": row.refusal_count,
        "clash_count": row.clash_count,
        "sites_off": row.sites_off or None,
    }


def overview_from_document(document: Document) -> Overview:
    """The overview that a document tells of. A document of another schema, or without a field, is a VersionMismatch."""
    fields = Fields(document)
    check_schema(fields)
    devices = Devices()
    return Overview(
        time_ns=fields.nanoseconds("time_ns"),
        source=fields.text("source"),
        places=fields.texts("places"),
        host=read_host(fields.inner("host_info")),
        devices=tuple(read_device_usage(row, devices, row.integer("number")) for row in fields.items("device_info")),
        processes=tuple(read_process_row(row) for row in fields.items("processes")),
        foreign=tuple(read_foreign(row) for row in fields.items("foreign")),
        findings=tuple(read_finding(row) for row in fields.items("findings")),
        reason=read_reason(fields),
    )


def read_process_row(row: Fields) -> ProcessRow:
    """The inverse of `process_row_document`."""
    reason = row.maybe_text("reason")
    return ProcessRow(
        key=row.integer("key"),
        pid=row.maybe_integer("pid") or 0,
        parent_pid=row.maybe_integer("parent"),
        is_visible=row.flag("visible"),
        source=row.word("source", SOURCES),
        uid=row.integer("uid"),
        user=row.text("user"),
        label=row.text("label"),
        command=row.text("cmdline"),
        container=row.maybe_integer("container"),
        state=row.word("state", _STATES),
        origin=row.word("origin", ORIGINS),
        reason=reason,
        start_time_ns=row.maybe_time_ns("start_time"),
        live_count=row.maybe_integer("live_count"),
        devices=row.integers("devices"),
        pools=tuple(read_pool(word, pool, reason) for word, pool in row.named("memory")),
        kinds=tuple(read_kind(word, kind, ALL_KINDS) for word, kind in row.named("kinds")),
        launch_count=row.maybe_integer("launches"),
        finding_count=row.integer("findings"),
        cb_planned_bytes=row.maybe_integer("cb_planned"),
        last_event_time_ns=row.maybe_time_ns("last_event_time"),
        start_ticks=row.maybe_integer("start_ticks"),
        incidents=read_incidents(row),
        incident_count=row.integer("incident_count"),
        refusal_count=row.integer("refusals"),
        clash_count=row.integer("clash_count"),
        sites_off=row.maybe_text("sites_off"),
    )
