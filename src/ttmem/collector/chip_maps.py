"""From the ledger's rows about one chip to its map: a DRAM bank, and the L1 of its fullest core."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from ttmem.collector.chips import BANK_SIZES
from ttmem.collector.rows.regions import Bounds, Gaps, bank_count, core_bytes, pool_bounds
from ttmem.devices import BANKED_POOLS, Pool
from ttmem.snapshot import Device, DeviceUsage, TimeNs, replace
from ttmem.snapshot.chip_map import ChipMap, CoreFill, Region, Space, Stretch, StretchKind
from ttmem.tracking import CoreType

__all__ = ["chip_map_of"]

_KINDS: dict[Pool, StretchKind] = {
    Pool.DRAM: "buffer",
    Pool.TRACE: "trace",
    Pool.L1: "buffer",
    Pool.L1_SMALL: "small",
}
_POOLS: dict[Literal["dram", "l1"], tuple[Pool, Pool]] = {
    "dram": (Pool.DRAM, Pool.TRACE),
    "l1": (Pool.L1, Pool.L1_SMALL),
}

Rows = dict[str, Any]


def chip_map_of(usage: DeviceUsage, rows: Rows) -> ChipMap:
    """The map that the rows of `Ledger.chip` make."""
    device = usage.device
    ring = next((ring for ring in usage.activity.rings if ring.core_type is CoreType.TENSIX), None)
    cores = _cores(device, rows)
    return ChipMap(
        time_ns=TimeNs(rows["time_ns"]),
        device=device,
        dram=_space("dram", usage, rows),
        l1=_space("l1", usage, rows),
        core_bytes=core_bytes(device),
        common_bytes=rows["buffers"] + _ring_bytes(device) if rows["followed"] else None,
        ring_live_bytes=ring.live_bytes if ring else None,
        ring_retired_bytes=ring.retired_bytes if ring else None,
        cores=cores,
        worst=_worst(cores),
        is_estimated=rows["estimated"],
    )


def _cores(device: Device, rows: Rows) -> tuple[CoreFill, ...]:
    """Every core of the grid, row by row: those without circular buffers have what all have."""
    if device.grid is None or not rows["followed"] or core_bytes(device) is None:
        return ()
    ring = _ring_bytes(device)
    laid = {(x, y): (used + ring, planned, resident) for x, y, used, planned, resident in rows["cores"]}
    plain = (rows["buffers"] + ring, 0, 0)
    columns, lines = device.grid
    return tuple(CoreFill(x, y, *laid.get((x, y), plain)) for y in range(lines) for x in range(columns))


def _worst(cores: Sequence[CoreFill]) -> tuple[int, int] | None:
    """The first of the fullest, if any has circular buffers: without, all are as full."""
    if not any(core.cb_planned_bytes for core in cores):
        return None
    worst = max(cores, key=lambda core: core.used_bytes)
    return worst.x, worst.y


def _ring_bytes(device: Device) -> int:
    return (device.kernel_ring_bytes or 0) if device.open_count else 0


def _space(name: Literal["dram", "l1"], usage: DeviceUsage, rows: Rows) -> Space | None:
    """One address space; None if it is not known where its pools lie."""
    device, sizes = usage.device, BANK_SIZES.get(usage.device.arch)
    pools = _POOLS[name]
    bounds = {pool: pool_bounds(device, pool, sizes) for pool in pools}
    lower = bounds[pools[0]]
    if sizes is None or lower is None or usage.launch_count is None:
        return None
    gaps = {pool: Gaps(*rows["pools"][BANKED_POOLS.index(pool)][:-1]) for pool in pools}
    stretches = {pool: rows["pools"][BANKED_POOLS.index(pool)][-1] for pool in pools}
    regions = tuple(
        _region(pool, found, gaps[pool])
        for pool, found in bounds.items()
        if found is not None and (found.end > found.begin or gaps[pool].placed_count)
    )
    end = max([sizes.of(pools[0]), *(region.end for region in regions)])
    layers = [_ground(lower.begin, end, _ring_bytes(device) if name == "l1" else 0)]
    if name == "l1":
        layers += [_spans("planned", rows["planned"]), _spans("cb", rows["resident"])]
    layers += [[Stretch(_KINDS[pool], *stretch) for stretch in stretches[pool]] for pool in pools]
    reason = _reason(usage, pools, gaps.values(), is_followed=rows["followed"])
    return Space(
        name=name,
        bank_count=bank_count(device, pools[0]) or 0,
        end=end,
        stretches=tuple(_overlaid(layers)),
        regions=regions,
        is_complete=not reason,
        reason=reason,
    )


def _reason(usage: DeviceUsage, pools: Iterable[Pool], gaps: Iterable[Gaps], *, is_followed: bool) -> str:
    """Why something may be missing; empty if nothing is."""
    if not is_followed:
        return usage.reason or "unknown"
    if any(one.unplaced_count for one in gaps):
        return "unplaced"
    return "read" if any(pool.read_bytes for pool in usage.pools if pool.pool in pools) else ""


def _region(pool: Pool, reported: Bounds, gaps: Gaps) -> Region:
    bounds = reported.around(gaps)
    return Region(
        pool=pool,
        begin=bounds.begin,
        end=bounds.end,
        used_bytes=gaps.used_bytes,
        count=gaps.placed_count,
        largest_free_bytes=reported.largest_free_bytes(gaps),
        hole_count=bounds.hole_count(gaps),
        is_begin_assumed=True,  # no reporter says where pools begin
    )


def _ground(begin: int, end: int, ring_bytes: int) -> list[Stretch]:
    """What is there before the first allocation."""
    ring_begin = max(0, begin - ring_bytes)
    ground = [Stretch("reserved", 0, ring_begin), Stretch("ring", ring_begin, begin), Stretch("free", begin, end)]
    return [stretch for stretch in ground if stretch.end > stretch.begin]


def _spans(kind: StretchKind, spans: Iterable[tuple[int, int]]) -> list[Stretch]:
    return [Stretch(kind, begin, end) for begin, end in spans if end > begin]


def _overlaid(layers: Sequence[list[Stretch]]) -> list[Stretch]:
    """One list without gaps: where several layers have something, the last of them shows."""
    found = layers[0]
    for layer in layers[1:]:
        found = _covered(found, layer)
    return found


def _covered(below: Sequence[Stretch], above: Sequence[Stretch]) -> list[Stretch]:
    """Both in order of address; what is above hides what is below it."""
    shown: list[Stretch] = []
    waiting = iter(below)
    lower = next(waiting, None)
    for cover in above:
        while lower and lower.end <= cover.begin:
            shown.append(lower)
            lower = next(waiting, None)
        if lower and lower.begin < cover.begin:
            shown.append(replace(lower, end=cover.begin))
        shown.append(cover)
        while lower and lower.end <= cover.end:
            lower = next(waiting, None)
        if lower and lower.begin < cover.end:
            lower = replace(lower, begin=cover.end)
    return [*shown, *([lower] if lower else ()), *waiting]
