"""From the ledger's nested rows to the structs of a snapshot, in one pass.

native/python/rows/whole_rows.cpp has the order of their fields. The ledger has grouped and summed; here numbers become
words, and numbers of chips become their names.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ttmem.collector.rows.regions import bank_count
from ttmem.devices import BANKED_POOLS, BinaryStatus, Cache, CoreType, Kind, Pool, Stall
from ttmem.snapshot.activity import NO_ACTIVITY, Activity, CacheUsage, CoreUsage, Footprint, RingUsage
from ttmem.snapshot.incidents import KINDS, Frame, Incident, Site
from ttmem.snapshot.programs import Clash, Mesh, OpenPhase, OutOfMemory, PhasePeak, Program
from ttmem.snapshot.usage import DeviceUsage, KindUsage, PoolUsage, ProcessDevice
from ttmem.snapshot.values import ChipId, ChipName, Device, Hex, TimeNs

__all__ = ["Names", "chip_from_row", "details_from_row", "incident_from_row", "kinds_from_rows", "name_from_row"]
__all__ += ["pools_from_rows", "site_from_row", "time_ns", "with_empty_pools"]

Row = Sequence[Any]
Names = Mapping[int, ChipName]  # chips by their numbers
_EMPTY_ACTIVITY = ((), None, (), (), ())


def time_ns(value: int | None) -> TimeNs | None:
    return None if value is None else TimeNs(value)


def name_from_row(row: Row) -> ChipName:
    number, unique_id, index, is_known, name = row
    return ChipName(number, ChipId(unique_id), index, is_known, name)


def chip_from_row(row: Row) -> DeviceUsage:
    """A chip, without the contradiction at the end of its row."""
    (number, unique_id, *facts), pools, kinds, launch_count, activity, doubt, *others, _ = row
    device = Device(number, ChipId(unique_id), *facts)
    found = pools_from_rows(pools)
    listed = found if doubt else with_empty_pools(device, found)
    return DeviceUsage(
        device,
        listed,
        kinds_from_rows(kinds),
        launch_count,
        _activity(activity),
        doubt,
        *others,
    )


def with_empty_pools(device: Device, pools: tuple[PoolUsage, ...]) -> tuple[PoolUsage, ...]:
    """With the pools in which nothing ever lay though there is room: if that is counted there, it is 0."""
    named = {pool.pool for pool in pools}
    if any(pool.reason == "undivided" for pool in pools):  # what lies in L1_SMALL is unknown
        named.add(Pool.L1_SMALL)
    empty = [_empty(device, pool) for pool in BANKED_POOLS if pool not in named and device.capacity(pool)]
    return tuple(sorted((*pools, *empty), key=lambda one: one.pool.number)) if empty else pools


def _empty(device: Device, pool: Pool) -> PoolUsage:
    capacity_bytes, banks = device.capacity(pool) or 0, bank_count(device, pool)
    return PoolUsage(
        pool,
        used_bytes=0,
        requested_bytes=0,
        count=0,
        peak_bytes=0,
        peak_time_ns=None,
        is_lower_bound=False,
        origin="counted",
        capacity_bytes=capacity_bytes,
        largest_free_bytes=capacity_bytes,
        largest_free_bank_bytes=capacity_bytes // banks if banks else None,
        hole_count=1,
    )


def pools_from_rows(rows: Sequence[Row]) -> tuple[PoolUsage, ...]:
    return tuple(
        [
            PoolUsage(
                Pool.numbered(pool), used, requested, count, peak, time_ns(at), is_lower, origin, time_ns(since), *rest
            )
            for pool, used, requested, count, peak, at, is_lower, origin, since, *rest in rows
        ]
    )


def kinds_from_rows(rows: Sequence[Row]) -> tuple[KindUsage, ...]:
    return tuple([KindUsage(Kind.numbered(kind), *figures) for kind, *figures in rows])


def _activity(row: Row) -> Activity:
    if row == _EMPTY_ACTIVITY:
        return NO_ACTIVITY
    cores, footprint, rings, stalls, caches = row
    return Activity(
        cores=tuple(CoreUsage(CoreType.numbered(core), *figures) for core, *figures in cores),
        footprint=None if footprint is None else Footprint(*footprint),
        rings=tuple(RingUsage(CoreType.numbered(core), *figures) for core, *figures in rings),
        stalls=tuple((Stall.numbered(reason), count) for reason, count in stalls),
        caches=tuple(CacheUsage(Cache.numbered(cache), *figures) for cache, *figures in caches),
    )


def details_from_row(row: Row, names: Names) -> dict[str, Any]:
    """The fields of a process that an overview does without."""
    devices, others, programs, phases, open_phases, refusals, clashes, meshes = row
    return {
        "has_details": True,
        "devices": _held(devices, names),
        "other_devices": _held(others, names),
        "programs": tuple(
            Program(names[chip], program, BinaryStatus.numbered(status), *figures)
            for chip, program, status, *figures in programs
        ),
        "phases": tuple(
            PhasePeak(name, names[chip], Pool.numbered(pool), peak, time_ns(at), *rest)
            for name, chip, pool, peak, at, *rest in phases
        ),
        "open_phases": tuple(OpenPhase(name, time_ns(since), count) for name, since, count in open_phases),
        "out_of_memory": tuple(
            OutOfMemory(names[chip], Pool.numbered(pool), requested, free, largest, TimeNs(at))
            for chip, pool, requested, free, largest, at in refusals
        ),
        "clashes": tuple(
            Clash(names[chip], program, cb_end, buffer, TimeNs(at)) for chip, program, cb_end, buffer, at in clashes
        ),
        "meshes": tuple(
            Mesh(Hex(mesh_id), rows, columns, tuple(names[chip] for chip in chips))
            for mesh_id, rows, columns, chips in meshes
        ),
    }


def _held(rows: Sequence[Row], names: Names) -> tuple[ProcessDevice, ...]:
    """The chips of a mesh that hold the same have the same rows: structs of the last ones are used again (DESIGN 12,
    "full snapshot, 16 x 32 <= 3 ms")."""
    held = []
    last_pools = last_kinds = None
    pools: tuple[PoolUsage, ...] = ()
    kinds: tuple[KindUsage, ...] = ()
    for chip, pool_rows, kind_rows, launches, activity, clashes in rows:
        if pool_rows is not last_pools:
            last_pools, pools = pool_rows, pools_from_rows(pool_rows)
        if kind_rows is not last_kinds:
            last_kinds, kinds = kind_rows, kinds_from_rows(kind_rows)
        held.append(ProcessDevice(names[chip], pools, kinds, launches, _activity(activity), clashes))
    return tuple(held)


def incident_from_row(row: Row, names: Names) -> Incident:
    number, kind, pool, at, chips, is_mesh, *rest = row
    facts: dict[str, Any] = dict(zip(_INCIDENT_FIELDS, rest, strict=True))
    site = site_from_row(facts.pop("site"))
    operation = facts.pop("operation")
    last = facts.pop("last_time_ns")
    return Incident(
        number=number,
        kind=KINDS[kind],
        memory=Pool.numbered(pool).word,
        time_ns=TimeNs(at),
        device_ids=tuple(names[chip].uuid or names[chip].name for chip in chips),
        is_mesh=is_mesh,
        last_time_ns=time_ns(last),
        operation=(site.operation or site.device_operation if site else None) or operation,
        site=site,
        other_site=site_from_row(facts.pop("other_site")),
        **facts,
    )


_INCIDENT_FIELDS = Incident.__struct_fields__[Incident.__struct_fields__.index("thread") :]


def site_from_row(row: Row | None) -> Site | None:
    if row is None:
        return None
    frames, *others = row
    return Site(tuple(Frame(*frame) for frame in frames), *others)
