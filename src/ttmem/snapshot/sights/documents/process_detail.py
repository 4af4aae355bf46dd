"""One process close up as a JSON-able document, and back; described field by field in docs/reference/serve.md."""

from ttmem.devices import Device
from ttmem.snapshot.activity import activity_document
from ttmem.snapshot.document import (
    SCHEMA,
    Document,
    device_name,
    finding_document,
    mesh_document,
    open_phase_document,
    phase_document,
    process_device_document,
)
from ttmem.snapshot.dump_document import allocation_document, read_allocation
from ttmem.snapshot.fields import Fields, time_text
from ttmem.snapshot.reading import (
    Devices,
    bare_device,
    check_schema,
    read_finding,
    read_held_device,
    read_mesh,
    read_open_phase,
    read_phase,
)
from ttmem.snapshot.refusals import read_clash, read_out_of_memory
from ttmem.snapshot.sights.documents.overview import process_row_document, read_process_row
from ttmem.snapshot.sights.process_detail import Holding, ProcessDetail, SiteSum

__all__ = ["process_document", "process_from_document"]


def process_document(detail: ProcessDetail) -> Document:
    """All of it; `json.dumps` takes it as it is. Of a device only its name is told."""
    return {
        "schema": SCHEMA,
        "time": time_text(detail.time_ns),
        "time_ns": detail.time_ns,
        "process": process_row_document(detail.row),
        "chips": [_chip(device) for device in detail.chips],
        "devices": [
            process_device_document(held) | activity_document(held.activity) | {"clashes": held.clash_count}
            for held in detail.devices
        ],
        "largest": [_holding(holding, detail.time_ns) for holding in detail.largest],
        "oldest": [_holding(holding, detail.time_ns) for holding in detail.oldest],
        "more": detail.more_count,
        "sites": [{"stack": list(site.stack), "size": site.size_bytes, "count": site.count} for site in detail.sites],
        "more_sites": detail.more_site_count,
        "phases": [phase_document(phase) for phase in detail.phases],
        "open_phases": [open_phase_document(phase) for phase in detail.open_phases],
        "out_of_memory": [device_name(refused.device) | refused.document() for refused in detail.out_of_memory],
        "clashes": [device_name(clash.device) | clash.document() for clash in detail.clashes],
        "meshes": [mesh_document(mesh) for mesh in detail.meshes],
        "findings": [finding_document(finding) for finding in detail.findings],
    }


def _chip(device: Device) -> Document:
    return {"number": device.number, **device_name(device)}


def _holding(holding: Holding, time_ns: int) -> Document:
    return {"devices": list(holding.devices), **allocation_document(holding.allocation, time_ns)}


def process_from_document(document: Document) -> ProcessDetail:
    """The process that a document tells of. A document of another schema, or without a field, is a VersionMismatch."""
    fields = Fields(document)
    check_schema(fields)
    devices = Devices()
    for chip in fields.items("chips"):
        devices.know(bare_device(chip, chip.integer("number")))
    return ProcessDetail(
        time_ns=fields.nanoseconds("time_ns"),
        row=read_process_row(fields.inner("process")),
        devices=tuple(read_held_device(held, devices) for held in fields.items("devices")),
        largest=tuple(_read_holding(row) for row in fields.items("largest")),
        oldest=tuple(_read_holding(row) for row in fields.items("oldest")),
        more_count=fields.integer("more"),
        sites=tuple(
            SiteSum(row.texts("stack"), row.integer("size"), row.integer("count")) for row in fields.items("sites")
        ),
        more_site_count=fields.integer("more_sites"),
        phases=tuple(read_phase(phase, devices) for phase in fields.items("phases")),
        open_phases=tuple(read_open_phase(phase) for phase in fields.items("open_phases")),
        out_of_memory=tuple(read_out_of_memory(row, devices.named) for row in fields.items("out_of_memory")),
        clashes=tuple(read_clash(row, devices.named) for row in fields.items("clashes")),
        meshes=tuple(read_mesh(mesh, devices) for mesh in fields.items("meshes")),
        findings=tuple(read_finding(row) for row in fields.items("findings")),
    )


def _read_holding(row: Fields) -> Holding:
    return Holding(row.integers("devices"), read_allocation(row))
