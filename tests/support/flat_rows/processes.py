"""From the ledger's plain rows to a snapshot.

The ledger speaks in small numbers and tuples; here they become words, unknowns become None, and what follows from
several rows (origin, completeness, what no process accounts for) is worked out once for all faces.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.support.flat_rows.activity import activity_from_rows
from tests.support.flat_rows.chips import (
    Holder,
    Holders,
    device_usages,
    devices_from_rows,
    in_order,
    kind_from_row,
    pool_from_row,
)
from tests.support.flat_rows.contradictions import chip_findings
from tests.support.flat_rows.incidents import incidents_from_rows
from ttmem.collector.rows.regions import SizesOf
from ttmem.collector.rows.sums import with_sums
from ttmem.devices import BinaryStatus, Pool
from ttmem.snapshot.activity import NO_ACTIVITY, Activity
from ttmem.snapshot.host import Finding, Foreign, Host
from ttmem.snapshot.programs import Clash, Mesh, OpenPhase, OutOfMemory, PhasePeak, Program
from ttmem.snapshot.usage import KindUsage, Origin, PoolUsage, ProcessDevice, ProcessUsage, Snapshot
from ttmem.snapshot.values import ChipName, Device, Hex, TimeNs, place_of, replace

Rows = dict[str, Any]
_ACTIVITY_TABLES = ("process_cores", "footprints", "rings", "stalls", "caches")
TABLES = (
    *("process_pools", "process_kinds", "launches", "other_pools", "other_kinds"),
    *("programs", "phases", "open_phases", "out_of_memory", "clashes", "clash_counts", "meshes"),
    *_ACTIVITY_TABLES,
)


# pid and start (nanoseconds since 1970) of a process that can be seen from here -> its parent's pid
ParentOf = Callable[[int, int | None], int | None]


def no_parent(pid: int, start_time_ns: int | None) -> int | None:
    """Where nobody asks the kernel whose child a process is."""
    return None


class FlatContext(NamedTuple):
    """What a snapshot says besides the ledger's figures."""

    source: str
    places: tuple[str, ...]
    host: Host
    user_of: Callable[[int], str]
    pid_namespace: int | None = None
    foreign: tuple[Foreign, ...] = ()
    findings: tuple[Finding, ...] = ()
    sizes_of: SizesOf = lambda arch: None  # of the banks of an architecture
    parent_of: ParentOf = no_parent

    def container_of(self, row: Rows) -> int | None:
        """The pid namespace of a process, if that is another than ours."""
        namespace = row["pid_namespace"]
        return namespace if namespace and self.pid_namespace and namespace != self.pid_namespace else None


def snapshot_from_rows(rows: Rows, context: FlatContext) -> Snapshot:
    """The snapshot that the rows of `_native.testing.flat_rows` and their context make."""
    devices = devices_from_rows(rows)
    processes = processes_from_rows(rows, devices, context)
    doubts = (explained(finding, process.uid) for process in processes for finding in process.findings)
    usages = device_usages(devices, rows, _holders(processes), context.sizes_of)
    numbers = frozenset(usage.device.number for usage in usages)
    return Snapshot(
        time_ns=TimeNs(rows["time_ns"]),
        source=context.source,
        places=context.places,
        host=context.host,
        devices=usages,
        processes=tuple(with_sums(process, numbers) for process in processes),
        foreign=context.foreign,
        findings=(*damaged_files(rows), *doubts, *chip_findings(rows, devices, usages), *context.findings),
    )


class Parts:
    """The rows of every process, found by its key."""

    def __init__(self, rows: Rows, devices: dict[int, Device]) -> None:
        self.devices = {number: device.as_name() for number, device in devices.items()}
        self.by_table: dict[str, dict[int, list[Any]]] = {}
        for table in TABLES:
            found: dict[int, list[Any]] = defaultdict(list)
            for row in rows[table]:  # by thousands, and slices are the fastest way
                found[row[0]].append(row[1:])
            self.by_table[table] = found

    def of(self, table: str, key: int) -> list[Any]:
        return self.by_table[table].get(key, [])


def processes_from_rows(rows: Rows, devices: dict[int, Device], context: FlatContext) -> tuple[ProcessUsage, ...]:
    """The processes that some rows are about."""
    parts = Parts(rows, devices)
    return tuple(_process(row, parts, context) for row in rows["processes"])


def _process(row: Rows, parts: Parts, context: FlatContext) -> ProcessUsage:
    key, pid = row["key"], row["pid"]
    return ProcessUsage(
        key=key,
        pid=pid,
        parent_pid=context.parent_of(pid, row["started_ns"] or None) if _is_here(row) else None,
        claimed_pid=row["claimed_pid"] or None,
        source=row["source"],
        uid=row["uid"],
        user=context.user_of(row["uid"]),
        label=row["label"] or row["command"],
        command=row["command"],
        path=row["path"],
        state=row["state"],
        is_visible=row["visible"],
        container=context.container_of(row),
        origin=row["origin"],
        reason=reason_of(row),
        start_time_ns=_time(row["started_ns"]),
        last_event_time_ns=_time(row["last_event_ns"]),
        event_count=row["events"],
        lost_record_count=row["lost_records"],
        skipped_count=row["skipped"],
        untabled_count=row["untabled"],
        live_count=row["live_count"],
        thread_count=row["threads"],
        refusal_count=row["refusals"],
        clash_count=row["clashes"],
        has_details=True,
        devices=_process_devices(row, parts),
        other_devices=held_from_rows(parts, key, "other_pools", "other_kinds"),
        findings=findings_of(row, parts.devices),
        start_ticks=row["start_ticks"] or None,
        incidents=incidents_from_rows(row["incidents"], parts.devices),
        incident_count=row["incident_count"],
        sites_off=row["sites_off"],
        **_stories(key, parts),
    )


def _is_here(row: Rows) -> bool:
    return row["state"] == "live" and bool(row["visible"])


def _time(time_ns: int) -> TimeNs | None:
    return TimeNs(time_ns) if time_ns else None


def reason_of(row: Rows) -> str:
    """Why a process is incomplete; empty if it is not."""
    return "" if row["complete"] else row["reason"] or "unknown"


def findings_of(row: Rows, devices: Mapping[int, ChipName]) -> tuple[Finding, ...]:
    """What does not add up in a process's reports."""
    pid = row["pid"] or None
    return tuple(
        Finding(name, count, pid, row["path"], _overlap_text(row, devices) if name == "overlap" else "")
        for name, count in row["findings"].items()
        if count
    )


def explained(finding: Finding, uid: int) -> Finding:
    """A finding as it stands among those of all processes. That of an unverified journal names no pid: it says why."""
    if finding.name != "unverified":
        return finding
    return replace(
        finding,
        text=f"written by uid {uid}; no process is confirmed by the kernel as its writer, "
        "so its figures are listed under no pid and counted nowhere",
    )


_OVERLAPS_NAMED = 3


def _overlap_text(row: Rows, devices: Mapping[int, ChipName]) -> str:
    """Both owners of every overlap; a finding that is one sentence for each."""

    def chips(numbers: Iterable[int]) -> str:
        found = [devices[number] for number in numbers]
        names = [str(device.index) if device.index is not None else device.name for device in found]
        return f"chip{'s' if len(names) > 1 else ''} {', '.join(names)}"

    def owner(rows: int, columns: int, numbers: Iterable[int]) -> str:
        return f"mesh {rows}x{columns} ({chips(numbers)})" if rows else f"{chips(numbers)} alone"

    sentences = [
        f"{owner(*first)} and {owner(*second)} both hold {size_bytes:,} bytes of {Pool.numbered(pool).word} "
        f"from {address:#x} on, on {chips(where)}: they overwrite each other"
        for pool, address, size_bytes, where, first, second in row["overlaps"][:_OVERLAPS_NAMED]
    ]
    more = len(row["overlaps"]) - len(sentences)
    return "; ".join(sentences) + (f"; and {more} more" if more else "")


def damaged_files(rows: Rows) -> tuple[Finding, ...]:
    return tuple(Finding("damaged", 1, path=path, text=text) for path, text in rows["damaged"])


def _stories(key: int, parts: Parts) -> dict[str, Any]:
    at = parts.devices
    return {
        "programs": tuple(
            Program(at[device], program, BinaryStatus.numbered(status), launches, dram_bytes, operation)
            for device, program, status, launches, dram_bytes, operation in parts.of("programs", key)
        ),
        "phases": tuple(
            PhasePeak(name, at[device], Pool.numbered(pool), peak, _time(time_ns), runs, is_lower_bound)
            for name, device, pool, peak, time_ns, runs, is_lower_bound in parts.of("phases", key)
        ),
        "open_phases": tuple(
            OpenPhase(name, _time(since_ns), count) for name, since_ns, count in parts.of("open_phases", key)
        ),
        "out_of_memory": tuple(
            OutOfMemory(at[device], Pool.numbered(pool), requested, free, largest_free, TimeNs(time_ns))
            for device, pool, requested, free, largest_free, time_ns in parts.of("out_of_memory", key)
        ),
        "clashes": tuple(
            Clash(at[device], program, cb_end, buffer, TimeNs(time_ns))
            for device, program, cb_end, buffer, time_ns in parts.of("clashes", key)
        ),
        "meshes": tuple(
            Mesh(Hex(mesh_id), rows, columns, tuple(at[chip] for chip in chips))
            for mesh_id, rows, columns, chips in parts.of("meshes", key)
        ),
    }


def _process_devices(row: Rows, parts: Parts) -> tuple[ProcessDevice, ...]:
    reason = reason_of(row)
    launches: dict[int, int] = dict(parts.of("launches", row["key"]))
    return held_from_rows(
        parts, row["key"], "process_pools", "process_kinds", origin=row["origin"], reason=reason, launches=launches
    )


def held_from_rows(
    parts: Parts,
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
    for row in parts.of(pool_table, key):
        pools[row[0]].append(pool_from_row(row[1:], origin, reason))
    kinds: dict[int, list[KindUsage]] = defaultdict(list)
    for row in parts.of(kind_table, key):
        kinds[row[0]].append(kind_from_row(row[1:]))
    activities = _activities(parts, key) if pool_table == "process_pools" else {}
    clashes: dict[int, int] = dict(parts.of("clash_counts", key)) if pool_table == "process_pools" else {}
    numbers = {*pools, *kinds, *launches, *activities, *clashes}
    found = sorted((parts.devices[number] for number in numbers), key=place_of)
    return tuple(
        ProcessDevice(
            device,
            in_order(pools[at]),
            tuple(kinds[at]),
            launches.get(at, 0),
            activities.get(at, NO_ACTIVITY),
            clashes.get(at, 0),
        )
        for device in found
        for at in [device.number]
    )


def _activities(parts: Parts, key: int) -> dict[int, Activity]:
    """What a process does on each chip, by the chip's number."""
    return activities_on([parts.of(table, key) for table in _ACTIVITY_TABLES])


def activities_on(tables: Sequence[Iterable[tuple[Any, ...]]]) -> dict[int, Activity]:
    """By the chip that rows of cores, footprints, rings, stalls and caches begin with."""
    found: dict[int, list[list[Any]]] = defaultdict(lambda: [[] for _ in tables])
    for place, table in enumerate(tables):
        for row in table:
            found[row[0]][place].append(row[1:])
    return {device: activity_from_rows(*rows) for device, rows in found.items()}


def _holders(processes: Sequence[ProcessUsage]) -> Holders:
    """Who holds something on each device, or speaks of it. Every table is gone through once: there may be thousands."""
    holders: dict[int, list[Holder]] = defaultdict(list)
    for process in processes:
        for held in process.devices if process.is_live and process.is_verified else ():
            holders[held.device.number].append(Holder.of(held))
    return Holders(holders, frozenset(device.number for device in _spoken_of(processes)))


def _spoken_of(processes: Iterable[ProcessUsage]) -> Iterable[ChipName]:
    """Every device that a process has something to tell about."""
    for process in processes:
        for parts in (process.devices, process.other_devices, process.programs, process.phases):
            yield from (part.device for part in parts)
        for refusals in (process.out_of_memory, process.clashes):
            yield from (refusal.device for refusal in refusals)
        for mesh in process.meshes:
            yield from mesh.devices
