"""From the ledger's plain rows to a snapshot.

The ledger speaks in small numbers and tuples; here they become words, unknowns become None, and what follows from
several rows (origin, completeness, what no process accounts for) is worked out once for all faces.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from ttmem.devices import BinaryStatus, Device, Kind, Pool
from ttmem.snapshot.activity import NO_ACTIVITY, Activity, activity_from_rows, together
from ttmem.snapshot.refusals import clashes_from_rows, out_of_memory_from_rows
from ttmem.snapshot.sights.regions import SizesOf
from ttmem.snapshot.sights.spaces import Spaces
from ttmem.snapshot.usage import (
    DeviceUsage,
    Finding,
    Foreign,
    Host,
    KindUsage,
    Mesh,
    Origin,
    PhasePeak,
    PoolUsage,
    ProcessDevice,
    ProcessUsage,
    Program,
    Snapshot,
    first_reason,
)

Rows = dict[str, Any]
_ACTIVITY_TABLES = ("process_cores", "footprints", "rings", "stalls", "caches")
_TABLES = (
    *("process_pools", "process_kinds", "launches", "other_pools", "other_kinds"),
    *("programs", "phases", "out_of_memory", "clashes", "clash_counts", "meshes"),
    *_ACTIVITY_TABLES,
)


class Surroundings(NamedTuple):
    """What a snapshot says besides the ledger's figures."""

    source: str
    places: tuple[str, ...]
    host: Host
    user_of: Callable[[int], str]
    pid_namespace: int | None = None
    foreign: tuple[Foreign, ...] = ()
    findings: tuple[Finding, ...] = ()
    sizes_of: SizesOf = lambda arch: None  # of the banks of an architecture


def snapshot_from_rows(rows: Rows, surroundings: Surroundings) -> Snapshot:
    """The snapshot that the rows of `Ledger.snapshot()` and their surroundings make."""
    devices = {row["number"]: _device(row) for row in rows["devices"]}
    by_process = _Parts(rows, devices)
    processes = tuple(_process(row, by_process, surroundings) for row in rows["processes"])
    damaged = tuple(Finding("damaged", 1, path=path, text=text) for path, text in rows["damaged"])
    doubts = (finding for process in processes for finding in process.findings)
    return Snapshot(
        time_ns=rows["time_ns"],
        source=surroundings.source,
        places=surroundings.places,
        host=surroundings.host,
        devices=_device_usages(sorted(devices.values(), key=place_of), rows, processes, surroundings.sizes_of),
        processes=processes,
        foreign=surroundings.foreign,
        damaged=damaged,
        findings=(*doubts, *surroundings.findings),
    )


def _device(row: Rows) -> Device:
    dram_banks, l1_banks = row["banks"]
    return Device(
        number=row["number"],
        unique_id=row["unique_id"],
        index=row["index"] if row["index"] >= 0 and (row["known"] or row["name"].startswith("seed:")) else None,
        arch=row["arch"],
        board=row["board"],
        grid=tuple(row["grid"]) if all(row["grid"]) else None,
        dram_bank_count=dram_banks or None,
        l1_bank_count=l1_banks or None,
        kernel_ring_bytes=row["kernel_ring_bytes"] or None,
        capacity_bytes=tuple(capacity or None for capacity in row["capacities"]),
        open_count=row["open_count"],
        is_known=row["known"],
        name=row["name"],
    )


def place_of(device: Device) -> tuple[bool, int, int, str]:
    """By index; what has none comes last."""
    return device.index is None, device.index or 0, device.unique_id, device.name


class _Parts:
    """The rows of every process, found by its key."""

    def __init__(self, rows: Rows, devices: dict[int, Device]) -> None:
        self.devices = devices
        self.by_table: dict[str, dict[int, list[Any]]] = {}
        for table in _TABLES:
            found: dict[int, list[Any]] = defaultdict(list)
            for key, *rest in rows[table]:
                found[key].append(rest)
            self.by_table[table] = found

    def of(self, table: str, key: int) -> list[Any]:
        return self.by_table[table].get(key, [])


def _process(row: Rows, parts: _Parts, surroundings: Surroundings) -> ProcessUsage:
    key, pid, namespace = row["key"], row["pid"], row["pid_namespace"]
    is_elsewhere = namespace and surroundings.pid_namespace and namespace != surroundings.pid_namespace
    return ProcessUsage(
        key=key,
        pid=pid,
        claimed_pid=row["claimed_pid"] or None,
        source=row["source"],
        uid=row["uid"],
        user=surroundings.user_of(row["uid"]),
        label=row["label"] or row["command"],
        command=row["command"],
        path=row["path"],
        state=row["state"],
        is_visible=row["visible"],
        container=namespace if is_elsewhere else None,
        origin=row["origin"],
        reason="" if row["complete"] else row["reason"] or "unknown",
        start_time_ns=row["started_ns"] or None,
        last_event_time_ns=row["last_event_ns"] or None,
        event_count=row["events"],
        lost_record_count=row["lost_records"],
        skipped_count=row["skipped"],
        untabled_count=row["untabled"],
        live_count=row["live_count"],
        thread_count=row["threads"],
        devices=_process_devices(row, parts),
        other_devices=_held(parts, key, "other_pools", "other_kinds"),
        findings=tuple(Finding(name, count, pid, row["path"]) for name, count in row["findings"].items() if count),
        **_stories(key, parts),
    )


def _stories(key: int, parts: _Parts) -> dict[str, Any]:
    at = parts.devices
    return {
        "programs": tuple(
            Program(at[device], program, BinaryStatus(status), launches, dram_bytes)
            for device, program, status, launches, dram_bytes in parts.of("programs", key)
        ),
        "phases": tuple(
            PhasePeak(name, at[device], Pool(pool), peak, time_ns or None, runs, is_lower_bound)
            for name, device, pool, peak, time_ns, runs, is_lower_bound in parts.of("phases", key)
        ),
        "out_of_memory": out_of_memory_from_rows(parts.of("out_of_memory", key), at),
        "clashes": clashes_from_rows(parts.of("clashes", key), at),
        "meshes": tuple(
            Mesh(mesh_id, rows, columns, tuple(at[chip] for chip in chips))
            for mesh_id, rows, columns, chips in parts.of("meshes", key)
        ),
    }


def _process_devices(row: Rows, parts: _Parts) -> tuple[ProcessDevice, ...]:
    reason = "" if row["complete"] else row["reason"] or "unknown"
    launches: dict[int, int] = dict(parts.of("launches", row["key"]))
    return _held(
        parts, row["key"], "process_pools", "process_kinds", origin=row["origin"], reason=reason, launches=launches
    )


def _held(
    parts: _Parts,
    key: int,
    pool_table: str,
    kind_table: str,
    *,
    origin: Origin = "counted",
    reason: str = "",
    launches: Mapping[int, int] = MappingProxyType({}),
) -> tuple[ProcessDevice, ...]:
    """What one process holds on every chip, by the rows of two tables."""
    pools: dict[int, list[PoolUsage]] = defaultdict(list)
    for device, pool, used, requested, count, peak, peak_time_ns, lower_bound in parts.of(pool_table, key):
        usage = PoolUsage(
            pool=Pool(pool),
            used_bytes=used,
            requested_bytes=requested if requested >= 0 else None,
            count=count,
            peak_bytes=peak,
            peak_time_ns=peak_time_ns or None,
            is_lower_bound=lower_bound,
            origin=origin,
            reason=reason,
        )
        pools[device].append(usage)
    kinds: dict[int, list[KindUsage]] = defaultdict(list)
    for device, *figures in parts.of(kind_table, key):
        kinds[device].append(_kind(figures))
    activities = _activities(parts, key) if pool_table == "process_pools" else {}
    clashes: dict[int, int] = dict(parts.of("clash_counts", key)) if pool_table == "process_pools" else {}
    numbers = {*pools, *kinds, *launches, *activities, *clashes}
    found = sorted((parts.devices[number] for number in numbers), key=place_of)
    return tuple(
        ProcessDevice(
            device,
            _in_order(pools[at]),
            tuple(kinds[at]),
            launches.get(at, 0),
            activities.get(at, NO_ACTIVITY),
            clashes.get(at, 0),
        )
        for device in found
        for at in [device.number]
    )


def _activities(parts: _Parts, key: int) -> dict[int, Activity]:
    """What a process does on each chip, by the chip's number."""
    found: dict[int, list[list[Any]]] = defaultdict(lambda: [[] for _ in _ACTIVITY_TABLES])
    for place, table in enumerate(_ACTIVITY_TABLES):
        for device, *figures in parts.of(table, key):
            found[device][place].append(figures)
    return {device: activity_from_rows(*tables) for device, tables in found.items()}


def _kind(figures: Sequence[Any]) -> KindUsage:
    kind, used, count, estimated = figures
    return KindUsage(Kind(kind), used, count, estimated)


def _in_order(pools: Iterable[PoolUsage]) -> tuple[PoolUsage, ...]:
    return tuple(sorted(pools, key=lambda usage: usage.pool))


def _device_usages(
    devices: Iterable[Device], rows: Rows, processes: Sequence[ProcessUsage], sizes_of: SizesOf
) -> tuple[DeviceUsage, ...]:
    """Every table is gone through once: there may be thousands of devices. A chip that nobody opened and of which there
    is nothing to tell (a stray free named it) is left out, and so is one without a name of its own once all are gone
    who spoke of it: each of them had another."""
    holders: dict[int, list[ProcessDevice]] = defaultdict(list)
    for process in processes:
        for held in process.devices if process.is_live else ():
            holders[held.device.number].append(held)
    pools, kinds = _by_number(rows["device_pools"]), _by_number(rows["device_kinds"])
    cores = _by_number(rows["device_cores"])
    named = {*pools, *kinds, *(device.number for device in _spoken_of(processes))}
    spaces = Spaces(rows["spaces"], rows["worst_cores"], sizes_of)
    return tuple(
        spaces.measured(
            DeviceUsage(
                device,
                _in_order(_device_pool(device, figures, holders[device.number]) for figures in pools[device.number]),
                tuple(map(_kind, kinds[device.number])),
                sum(held.launch_count or 0 for held in holders[device.number]),
                together(
                    [held.activity for held in holders[device.number]],
                    activity_from_rows(cores=cores[device.number]).cores,
                ),
            )
        )
        for device in devices
        if device.is_known
        or device.open_count
        or (device.number in named and (device.is_seed or holders[device.number]))
    )


def _spoken_of(processes: Iterable[ProcessUsage]) -> Iterable[Device]:
    """Every device that a process has something to tell about."""
    for process in processes:
        for parts in (process.devices, process.other_devices, process.programs, process.phases):
            yield from (part.device for part in parts)
        for refusals in (process.out_of_memory, process.clashes):
            yield from (refusal.device for refusal in refusals)
        for mesh in process.meshes:
            yield from mesh.devices


def _by_number(table: Iterable[Sequence[Any]]) -> dict[int, list[Sequence[Any]]]:
    found: dict[int, list[Sequence[Any]]] = defaultdict(list)
    for number, *figures in table:
        found[number].append(figures)
    return found


def _device_pool(device: Device, figures: Sequence[Any], holders: Iterable[ProcessDevice]) -> PoolUsage:
    pool, used, requested, count, peak, peak_time_ns, since_ns, lower_bound = figures
    held = [usage for holder in holders for usage in holder.pools if usage.pool == pool]
    return PoolUsage(
        pool=Pool(pool),
        used_bytes=used,
        requested_bytes=requested if requested >= 0 else None,
        count=count,
        peak_bytes=peak,
        peak_time_ns=peak_time_ns or None,
        is_lower_bound=lower_bound,
        origin="counter" if any(usage.origin == "counter" for usage in held) else "counted",
        since_ns=since_ns or None,
        capacity_bytes=device.capacity(Pool(pool)),
        unattributed_bytes=max(0, used - sum(usage.used_bytes for usage in held)),
        reason=first_reason(usage.reason for usage in held),
    )
