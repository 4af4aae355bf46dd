"""What a process holds on all its chips together, and a snapshot without the details of its processes."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ttmem.devices import POOL_TOTALS, Kind, Pool
from ttmem.snapshot.usage import KindUsage, PoolUsage, ProcessUsage, Snapshot, first_reason
from ttmem.snapshot.values import replace

__all__ = ["overview_of", "with_sums", "without_details"]

_TOTALS = [total.field for total in POOL_TOTALS]
_NO_DETAILS: dict[str, Any] = {
    "has_details": False,
    **dict.fromkeys(("devices", "other_devices", "programs", "phases", "open_phases"), ()),
    **dict.fromkeys(("out_of_memory", "clashes", "meshes"), ()),
}


def overview_of(snapshot: Snapshot, details: Collection[int] = ()) -> Snapshot:
    """The same without the details of processes, but for those whose keys are named."""
    processes = (one if one.key in details else without_details(one) for one in snapshot.processes)
    return replace(snapshot, processes=tuple(processes))


def without_details(process: ProcessUsage) -> ProcessUsage:
    """Only its sums."""
    return replace(process, **_NO_DETAILS)


def with_sums(process: ProcessUsage, listed: Collection[int]) -> ProcessUsage:
    """The same process with its figures over all its chips; `listed`: numbers of the chips that are shown."""
    return replace(
        process,
        chips=tuple(held.device.number for held in process.devices if held.device.number in listed),
        pools=_pools_together([usage for held in process.devices for usage in held.pools]),
        kinds=_kinds_together([usage for held in process.devices for usage in held.kinds]),
        launch_count=_sum_of([held.launch_count for held in process.devices]),
        cb_planned_bytes=_planned_of(process),
    )


def _planned_of(process: ProcessUsage) -> int | None:
    """Circular buffers of several programs share addresses, so their sizes are not added up: see `Footprint`."""
    if process.source == "runtime":  # its counters have no addresses
        return None
    planned = 0
    for held in process.devices:
        has_any = any(usage.pool is Pool.CB and usage.count != 0 for usage in held.pools)
        if has_any and held.activity.footprint is None:
            return None
        planned += held.activity.footprint.planned_bytes if held.activity.footprint else 0
    return planned


def _pools_together(usages: Iterable[PoolUsage]) -> tuple[PoolUsage, ...]:
    by_pool: dict[Pool, list[PoolUsage]] = {}
    for usage in usages:
        by_pool.setdefault(usage.pool, []).append(usage)
    return tuple(_pool_together(by_pool[pool]) for pool in sorted(by_pool))


def _pool_together(parts: Sequence[PoolUsage]) -> PoolUsage:
    """One pool over all chips. The peaks were not at one time; that of the last of them stands for all."""
    totals: dict[str, Any] = {name: _sum_of([getattr(part, name) for part in parts]) for name in _TOTALS}
    return PoolUsage(
        pool=parts[0].pool,
        used_bytes=sum(part.used_bytes for part in parts),
        requested_bytes=_sum_of([part.requested_bytes for part in parts]),
        count=_sum_of([part.count for part in parts]),
        peak_bytes=sum(part.peak_bytes for part in parts),
        peak_time_ns=max((part.peak_time_ns for part in parts if part.peak_time_ns is not None), default=None),
        is_lower_bound=any(part.is_lower_bound for part in parts),
        origin=parts[0].origin,
        reason=first_reason(part.reason for part in parts),
        **totals,
    )


def _kinds_together(usages: Iterable[KindUsage]) -> tuple[KindUsage, ...]:
    by_kind: dict[Kind, list[KindUsage]] = {}
    for usage in usages:
        by_kind.setdefault(usage.kind, []).append(usage)
    return tuple(
        KindUsage(
            kind,
            sum(part.used_bytes or 0 for part in parts),
            sum(part.count for part in parts),
            any(part.is_estimated for part in parts),
        )
        for kind, parts in sorted(by_kind.items())
    )


def _sum_of(figures: Sequence[int | None]) -> int | None:
    """None if any of them is not known."""
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None
