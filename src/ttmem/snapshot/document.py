"""A snapshot as one JSON-able document: the only serializer, described field by field in docs/reference/json.md.

Whole numbers of bytes, `null` for unknown, times as ISO 8601 with offset. Keys that tt-smi also has keep its names.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ttmem.devices import Device, Pool
from ttmem.snapshot.activity import activity_document
from ttmem.snapshot.fields import time_text
from ttmem.snapshot.identity import chip_of, identity_of
from ttmem.snapshot.sights.chips import with_empty_pools
from ttmem.snapshot.sights.telemetry import ChipTelemetry
from ttmem.snapshot.skeleton import skeleton_document
from ttmem.snapshot.usage import (
    DeviceUsage,
    Finding,
    Foreign,
    Host,
    KindUsage,
    Mesh,
    OpenPhase,
    PhasePeak,
    PoolUsage,
    ProcessDevice,
    ProcessUsage,
    Program,
    Snapshot,
)

if TYPE_CHECKING:
    from ttmem.snapshot.incidents import Incident

SCHEMA = 1
Document = dict[str, Any]
_NO_KERNELS = {
    word: {"used": 0, "count": 0, "estimated": False} for word in ("application", "fabric", "dispatch", "unknown")
}


def json_text(value: Document, *, is_pretty: bool = False) -> str:
    """A document as text: one line, or for people."""
    import json  # here, since tables do without

    return json.dumps(value, indent=2) if is_pretty else json.dumps(value, separators=(",", ":"))


def document(snapshot: Snapshot, telemetry: Sequence[ChipTelemetry] = ()) -> Document:
    """The whole snapshot, with what the driver tells of its chips."""
    return {
        "schema": SCHEMA,
        "time": time_text(snapshot.time_ns),
        "time_ns": snapshot.time_ns,
        "source": snapshot.source,
        "places": list(snapshot.places),
        "complete": snapshot.is_complete,
        "reason": snapshot.reason or None,
        "host_info": host_document(snapshot.host),
        "host_sw_vers": {"ttmem": snapshot.host.version or None},
        "device_info": [_device_usage(usage, telemetry) for usage in snapshot.devices],
        "processes": [_process(process, telemetry) for process in snapshot.processes],
        "foreign": [foreign_document(row) for row in snapshot.foreign],
        "damaged": [{"path": finding.path, "text": finding.text} for finding in snapshot.damaged],
        "findings": [finding_document(finding) for finding in snapshot.findings],
        "errors": list(snapshot.errors),
    }


def host_document(host: Host) -> Document:
    return {
        "OS": host.os,
        "Distro": host.distro,
        "Kernel": host.kernel,
        "Hostname": host.hostname,
        "Platform": host.platform,
        "Python": host.python,
        "Memory": host.memory or None,
        "Driver": host.driver or None,
    }


def foreign_document(foreign: Foreign) -> Document:
    return {"path": foreign.path, "uid": foreign.uid, "user": foreign.user, "what": foreign.what}


def _device_usage(usage: DeviceUsage, telemetry: Sequence[ChipTelemetry]) -> Document:
    """With the keys that scripts for tt-smi expect."""
    device = usage.device
    skeleton = skeleton_document(device, identity_of(device, telemetry), chip_of(device, telemetry))
    memory: Document = {pool.pool.word: _device_pool(pool) for pool in with_empty_pools(usage)}
    if usage.is_l1_undivided:
        memory.setdefault(Pool.L1_SMALL.word, None)
    return device_usage_document(usage) | {"memory": memory} | skeleton


def device_usage_document(usage: DeviceUsage) -> Document:
    device = usage.device
    return {
        **device_name(device),
        "board_info": {"board_type": device.board or None},
        "arch": device.arch or None,
        "grid": list(device.grid) if device.grid else None,
        "dram_banks": device.dram_bank_count,
        "l1_banks": device.l1_bank_count,
        "kernel_ring_bytes": device.kernel_ring_bytes,
        "l1": {
            "used": usage.l1_used_bytes,
            "kernel_ring": usage.kernel_ring_bytes,
            "worst_core": _worst_core(usage),
            "core_total": usage.core_bytes,
        },
        "headroom_bytes": usage.headroom_bytes,
        "headroom_programs": [{"pid": pid or None, "program": program} for pid, program in usage.headroom_programs],
        "l1_hole_bytes": usage.l1_hole_bytes,
        "open_count": device.open_count,
        "capacity": {pool.word: device.capacity(pool) for pool in Pool if device.capacity(pool) is not None},
        "memory": {pool.pool.word: _device_pool(pool) for pool in usage.pools},
        "kernels": None if usage.launch_count is None else kernels_document(usage.kernels),
        "kinds": kinds_document(usage.kinds),
        "launches": usage.launch_count,
        **activity_document(usage.activity),
        "complete": not usage.reason,
        "reason": usage.reason or None,
    }


def device_name(device: Device) -> Document:
    """How a device is named wherever one is spoken of."""
    return {"index": device.index, "uuid": device.uuid, "name": device.name or None}


def figures_document(usage: PoolUsage) -> Document:
    """What a pool says, and nothing that follows from it."""
    return {
        "used": usage.used_bytes,
        "requested": usage.requested_bytes,
        "count": usage.count,
        "peak": usage.peak_bytes,
        "peak_time": time_text(usage.peak_time_ns),
        "lower_bound": usage.is_lower_bound,
        "origin": usage.origin,
    }


def pool_document(usage: PoolUsage) -> Document:
    return {
        **figures_document(usage),
        "planned": usage.is_planned,
        "source": usage.source,
        "age_ms": usage.age_ms,
        "complete": not usage.reason,
        "reason": usage.reason or None,
    }


def _device_pool(usage: PoolUsage) -> Document:
    return {
        "total": usage.capacity_bytes,
        "total_origin": "unknown" if usage.capacity_bytes is None else "reported",
        "free": usage.free_bytes,
        "reserved": None,  # nobody reports what the runtime keeps back
        "largest_free": usage.largest_free_bytes,
        "largest_free_per_bank": usage.largest_free_bank_bytes,
        "unattributed": usage.unattributed_bytes,
        "read": usage.read_bytes,
        "stale": usage.stale_bytes,
        "since": time_text(usage.since_ns),
        **pool_document(usage),
    }


def _worst_core(usage: DeviceUsage) -> Document | None:
    if usage.worst_core_bytes is None:
        return None
    x, y = usage.worst_core or (None, None)
    return {"used": usage.worst_core_bytes, "x": x, "y": y}


def kernels_document(kernels: tuple[KindUsage, ...]) -> Document:
    return {**_NO_KERNELS, **{usage.kind.kernel_word: kind_document(usage) for usage in kernels}}


def kinds_document(kinds: tuple[KindUsage, ...]) -> Document:
    return {usage.kind.word: kind_document(usage) for usage in kinds if not usage.kind.is_kernel}


def kind_document(usage: KindUsage) -> Document:
    return {"used": usage.used_bytes, "count": usage.count, "estimated": usage.is_estimated}


def _process(process: ProcessUsage, telemetry: Sequence[ChipTelemetry]) -> Document:
    places = [held.device for held in process.devices if held.device.index is not None]
    first = min(places, key=lambda device: device.index or 0, default=None)
    return {
        "pid": process.pid or None,
        "user": process.user,
        "device": first.index if first else None,
        "dev_node": identity_of(first, telemetry).dev_node if first else None,
        "cmdline": process.command,
        "memory": _process_memory(process),
        "claimed_pid": process.claimed_pid,
        "source": process.source,
        "uid": process.uid,
        "label": process.label,
        "state": process.told_state,
        "visible": process.is_visible,
        "container": process.container,
        "start_time": time_text(process.start_time_ns),
        "start_ticks": process.start_ticks,
        "last_event_time": time_text(process.last_event_time_ns),
        "complete": process.is_complete,
        "reason": process.reason or None,
        "origin": process.origin,
        "events": process.event_count,
        "lost_records": process.lost_record_count,
        "skipped": process.skipped_count,
        "untabled": process.untabled_count,
        "live_count": process.live_count,
        "threads": process.thread_count,
        "refusals": process.refusal_count,
        "clash_count": process.clash_count,
        "path": process.path,
        "devices": [
            process_device_document(held) | activity_document(held.activity) | {"clashes": held.clash_count}
            for held in process.devices
        ],
        "other_devices": [process_device_document(held) for held in process.other_devices],
        "programs": [_program(program) for program in process.programs],
        "phases": [phase_document(phase) for phase in process.phases],
        "open_phases": [open_phase_document(phase) for phase in process.open_phases],
        "out_of_memory": [device_name(refused.device) | refused.document() for refused in process.out_of_memory],
        "clashes": [device_name(clash.device) | clash.document() for clash in process.clashes],
        "incidents": incident_documents(process.incidents),
        "incident_count": process.incident_count,
        "sites_off": process.sites_off or None,
        "meshes": [mesh_document(mesh) for mesh in process.meshes],
        "findings": {finding.name: finding.count for finding in process.findings},
    }


def incident_documents(incidents: "Iterable[Incident]") -> list[Document]:
    """The incidents of a process."""
    if not incidents:
        return []
    from ttmem.snapshot.incidents import incident_document  # here: most have none, and msgspec is slow to import

    return [incident_document(incident) for incident in incidents]


def _process_memory(process: ProcessUsage) -> Document:
    """Every pool, summed over the process's chips; a peak is the sum of the peaks on each."""
    sums: Document = {}
    for held in process.devices:
        for usage in held.pools:
            figures = sums.setdefault(usage.pool.word, {"used": 0, "peak": 0})
            figures["used"] += usage.used_bytes
            figures["peak"] += usage.peak_bytes
    return sums


def process_device_document(held: ProcessDevice) -> Document:
    return {
        **device_name(held.device),
        "memory": {usage.pool.word: pool_document(usage) for usage in held.pools},
        "kernels": None if held.launch_count is None else kernels_document(held.kernels),
        "kinds": kinds_document(held.kinds),
        "launches": held.launch_count,
    }


def _program(program: Program) -> Document:
    return {
        **device_name(program.device),
        "program": program.program,
        "status": program.status.word,
        "launches": program.launch_count,
        "dram": program.dram_bytes,
        "operation": program.operation or None,
    }


def phase_document(phase: PhasePeak) -> Document:
    return {
        "phase": phase.name,
        **device_name(phase.device),
        "pool": phase.pool.word,
        "peak": phase.peak_bytes,
        "peak_time": time_text(phase.time_ns),
        "lower_bound": phase.is_lower_bound,
        "runs": phase.run_count,
    }


def open_phase_document(phase: OpenPhase) -> Document:
    return {"phase": phase.name, "since": time_text(phase.since_ns), "count": phase.open_count}


def mesh_document(mesh: Mesh) -> Document:
    return {
        "mesh_id": mesh.mesh_id,
        "rows": mesh.rows,
        "columns": mesh.columns,
        "devices": [device_name(device) for device in mesh.devices],
    }


def finding_document(finding: Finding) -> Document:
    return {
        "name": finding.name,
        "count": finding.count,
        "pid": finding.pid,
        "path": finding.path or None,
        "text": finding.text or None,
    }
