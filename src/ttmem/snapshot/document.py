"""A snapshot as one JSON-able document: the only serializer, described field by field in docs/json.md.

Whole numbers of bytes, `null` for unknown, times as ISO 8601 with offset. Keys that tt-smi also has keep its names.
"""

from typing import Any

from ttmem.devices import Device
from ttmem.snapshot.activity import activity_document
from ttmem.snapshot.fields import time_text
from ttmem.snapshot.usage import (
    DeviceUsage,
    Finding,
    KindUsage,
    PhasePeak,
    PoolUsage,
    ProcessDevice,
    ProcessUsage,
    Program,
    Snapshot,
)

SCHEMA = 1
Document = dict[str, Any]
_NO_KERNELS = {
    word: {"used": 0, "count": 0, "estimated": False} for word in ("application", "fabric", "dispatch", "unknown")
}


def document(snapshot: Snapshot) -> Document:
    """The whole snapshot; `json.dumps` takes it as it is."""
    host = snapshot.host
    return {
        "schema": SCHEMA,
        "time": time_text(snapshot.time_ns),
        "time_ns": snapshot.time_ns,
        "source": snapshot.source,
        "places": list(snapshot.places),
        "complete": snapshot.is_complete,
        "reason": snapshot.reason or None,
        "host_info": {
            "OS": host.os,
            "Distro": host.distro,
            "Kernel": host.kernel,
            "Hostname": host.hostname,
            "Platform": host.platform,
            "Python": host.python,
        },
        "device_info": [_device_usage(usage) for usage in snapshot.devices],
        "processes": [_process(process) for process in snapshot.processes],
        "foreign": [{"path": row.path, "uid": row.uid, "user": row.user, "what": row.what} for row in snapshot.foreign],
        "damaged": [{"path": finding.path, "text": finding.text} for finding in snapshot.damaged],
        "findings": [_finding(finding) for finding in snapshot.findings],
    }


def _device_usage(usage: DeviceUsage) -> Document:
    device = usage.device
    return {
        **device_name(device),
        "dev_node": None,  # a journal does not tell the number of /dev/tenstorrent
        "board_info": {"board_type": device.board or None},
        "arch": device.arch or None,
        "grid": list(device.grid) if device.grid else None,
        "dram_banks": device.dram_bank_count,
        "l1_banks": device.l1_bank_count,
        "kernel_ring_bytes": device.kernel_ring_bytes,
        "l1": {"used": usage.l1_used_bytes, "kernel_ring": usage.kernel_ring_bytes},
        "open_count": device.open_count,
        "memory": {pool.pool.word: _device_pool(pool) for pool in usage.pools},
        "kernels": None if usage.launch_count is None else _kernels(usage.kernels),
        "kinds": _kinds(usage.kinds),
        "launches": usage.launch_count,
        **activity_document(usage.activity),
        "complete": not usage.reason,
        "reason": usage.reason or None,
    }


def device_name(device: Device) -> Document:
    """How a device is named wherever one is spoken of."""
    return {"index": device.index, "uuid": device.uuid, "name": device.name or None}


def _pool(usage: PoolUsage) -> Document:
    return {
        "used": usage.used_bytes,
        "requested": usage.requested_bytes,
        "count": usage.count,
        "peak": usage.peak_bytes,
        "peak_time": time_text(usage.peak_time_ns),
        "lower_bound": usage.is_lower_bound,
        "planned": usage.is_planned,
        "origin": usage.origin,
        "complete": not usage.reason,
        "reason": usage.reason or None,
    }


def _device_pool(usage: PoolUsage) -> Document:
    return {
        "total": usage.capacity_bytes,
        "total_origin": "unknown" if usage.capacity_bytes is None else "reported",
        "free": usage.free_bytes,
        "reserved": None,  # nobody reports what the runtime keeps back
        "largest_free": None,  # nor how the free memory is cut up
        "unattributed": usage.unattributed_bytes,
        "read": usage.read_bytes,
        "stale": usage.stale_bytes,
        "since": time_text(usage.since_ns),
        **_pool(usage),
    }


def _kernels(kernels: tuple[KindUsage, ...]) -> Document:
    return {**_NO_KERNELS, **{usage.kind.kernel_word: _kind(usage) for usage in kernels}}


def _kinds(kinds: tuple[KindUsage, ...]) -> Document:
    return {usage.kind.word: _kind(usage) for usage in kinds if not usage.kind.is_kernel}


def _kind(usage: KindUsage) -> Document:
    return {"used": usage.used_bytes, "count": usage.count, "estimated": usage.is_estimated}


def _process(process: ProcessUsage) -> Document:
    indexes = [held.device.index for held in process.devices if held.device.index is not None]
    return {
        "pid": process.pid,
        "user": process.user,
        "device": min(indexes, default=None),
        "cmdline": process.command,
        "claimed_pid": process.claimed_pid,
        "source": process.source,
        "uid": process.uid,
        "label": process.label,
        "state": process.state,
        "visible": process.is_visible,
        "container": process.container,
        "start_time": time_text(process.start_time_ns),
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
        "path": process.path,
        "devices": [
            _process_device(held) | activity_document(held.activity) | {"clashes": held.clash_count}
            for held in process.devices
        ],
        "other_devices": [_process_device(held) for held in process.other_devices],
        "programs": [_program(program) for program in process.programs],
        "phases": [_phase(phase) for phase in process.phases],
        "out_of_memory": [device_name(refused.device) | refused.document() for refused in process.out_of_memory],
        "clashes": [device_name(clash.device) | clash.document() for clash in process.clashes],
        "meshes": [
            {
                "mesh_id": mesh.mesh_id,
                "rows": mesh.rows,
                "columns": mesh.columns,
                "devices": [device_name(device) for device in mesh.devices],
            }
            for mesh in process.meshes
        ],
        "findings": {finding.name: finding.count for finding in process.findings},
    }


def _process_device(held: ProcessDevice) -> Document:
    return {
        **device_name(held.device),
        "memory": {usage.pool.word: _pool(usage) for usage in held.pools},
        "kernels": None if held.launch_count is None else _kernels(held.kernels),
        "kinds": _kinds(held.kinds),
        "launches": held.launch_count,
    }


def _program(program: Program) -> Document:
    return {
        **device_name(program.device),
        "program": program.program,
        "status": program.status.word,
        "launches": program.launch_count,
        "dram": program.dram_bytes,
    }


def _phase(phase: PhasePeak) -> Document:
    return {
        "phase": phase.name,
        **device_name(phase.device),
        "pool": phase.pool.word,
        "peak": phase.peak_bytes,
        "peak_time": time_text(phase.time_ns),
        "lower_bound": phase.is_lower_bound,
        "runs": phase.run_count,
    }


def _finding(finding: Finding) -> Document:
    return {
        "name": finding.name,
        "count": finding.count,
        "pid": finding.pid,
        "path": finding.path or None,
        "text": finding.text or None,
    }
