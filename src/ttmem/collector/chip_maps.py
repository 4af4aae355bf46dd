"""From the ledger's rows about one chip to its map: a DRAM bank, and the L1 of its fullest core."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

from ttmem.collector.chips import bank_sizes
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


class PoolPlaces(NamedTuple):
    """The ledger's row about one pool of a chip: where its allocations lie in each bank."""

    unplaced_count: int  # allocations that did not say where they lie
    placed_count: int  # the others
    used_bytes: int
    lowest: int  # where the first of them begins
    highest: int  # where the last of them ends
    bounds: tuple[int, int] | None  # where the pool lies, by what the chip's opener said
    largest_free_bytes: int | None
    hole_count: int | None
    stretches: Sequence[tuple[int, int, int, int]]


def chip_map_of(usage: DeviceUsage, rows: Rows) -> ChipMap:
    """The map that the rows of `Ledger.chip` make."""
    device = usage.device
    ring = next((ring for ring in usage.activity.rings if ring.core_type is CoreType.TENSIX), None)
    cores = _cores(usage, rows)
    return ChipMap(
        time_ns=TimeNs(rows["time_ns"]),
        device=device,
        dram=_space("dram", usage, rows),
        l1=_space("l1", usage, rows),
        core_bytes=usage.core_bytes,
        common_bytes=rows["buffers"] + _ring_bytes(device) if rows["followed"] else None,
        ring_live_bytes=ring.live_bytes if ring else None,
        ring_retired_bytes=ring.retired_bytes if ring else None,
        cores=cores,
        worst=_worst(cores),
        is_estimated=rows["estimated"],
    )


def _cores(usage: DeviceUsage, rows: Rows) -> tuple[CoreFill, ...]:
    """Every core of the grid, row by row: those without circular buffers have what all have."""
    device = usage.device
    if device.grid is None or not rows["followed"] or usage.core_bytes is None:
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
    device, sizes = usage.device, bank_sizes().get(usage.device.arch)
    pools = _POOLS[name]
    places = {pool: PoolPlaces(*rows["pools"][BANKED_POOLS.index(pool)]) for pool in pools}
    lower = places[pools[0]].bounds
    if sizes is None or lower is None or usage.launch_count is None:
        return None
    regions = tuple(
        _region(pool, found, *found.bounds)
        for pool, found in places.items()
        if found.bounds and (found.bounds[1] > found.bounds[0] or found.placed_count)
    )
    bank_bytes = sizes.dram_bytes if name == "dram" else sizes.l1_bytes
    end = max([bank_bytes, *(region.end for region in regions)])
    layers = [_ground(lower[0], end, _ring_bytes(device) if name == "l1" else 0)]
    if name == "l1":
        layers += [_spans("planned", rows["planned"]), _spans("cb", rows["resident"])]
    layers += [[Stretch(_KINDS[pool], *stretch) for stretch in found.stretches] for pool, found in places.items()]
    reason = _reason(usage, pools, places.values(), is_followed=rows["followed"])
    return Space(
        name=name,
        bank_count=device.bank_count(pools[0]) or 0,
        end=end,
        stretches=tuple(_overlaid(layers)),
        regions=regions,
        is_complete=not reason,
        reason=reason,
    )


def _reason(usage: DeviceUsage, pools: Iterable[Pool], places: Iterable[PoolPlaces], *, is_followed: bool) -> str:
    """Why something may be missing; empty if nothing is."""
    if not is_followed:
        return usage.reason or "unknown"
    if any(one.unplaced_count for one in places):
        return "unplaced"
    return "read" if any(pool.read_bytes for pool in usage.pools if pool.pool in pools) else ""


def _region(pool: Pool, places: PoolPlaces, begin: int, end: int) -> Region:
    """An allocation that lies outside is believed all the same: the pool then reaches as far."""
    has_any = places.placed_count > 0
    return Region(
        pool=pool,
        begin=min(begin, places.lowest) if has_any else begin,
        end=max(end, places.highest) if has_any else end,
        used_bytes=places.used_bytes,
        count=places.placed_count,
        largest_free_bytes=places.largest_free_bytes,
        hole_count=places.hole_count,
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
