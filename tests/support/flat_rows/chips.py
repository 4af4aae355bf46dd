"""Every chip, from the ledger's rows: what it is, what everybody together has there, and how sure that is."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from tests.support.flat_rows.activity import cores_from_rows, together
from tests.support.flat_rows.spaces import L1_POOLS, ChipKind, Headroom, Largest, Row, Spaces
from ttmem.collector.rows.regions import SizesOf, bank_count
from ttmem.devices import BANKED_POOLS, PLANNED_POOLS, Kind, Pool
from ttmem.snapshot.activity import Activity
from ttmem.snapshot.usage import DeviceUsage, KindUsage, Origin, PoolUsage, ProcessDevice, first_reason
from ttmem.snapshot.values import ChipId, Device, TimeNs, place_of, replace

__all__ = [
    "Holder",
    "Holders",
    "Share",
    "device_usages",
    "devices_from_rows",
    "in_order",
    "kind_from_row",
    "pool_from_row",
    "with_empty_pools",
]

Rows = dict[str, Any]
Table = list[tuple[Any, ...]]


Share = tuple[int, Origin, str]  # what a holder has of a pool, who told it, and why it may be more


class Holder(NamedTuple):
    """What somebody has on a chip."""

    shares: Mapping[int, Share]  # by pool
    launch_count: int
    activity: Activity

    @classmethod
    def of(cls, held: ProcessDevice) -> "Holder":
        shares = {usage.pool.number: (usage.used_bytes, usage.origin, usage.reason) for usage in held.pools}
        return cls(shares, held.launch_count or 0, held.activity)


class Holders(NamedTuple):
    """What the living hold on each device, by its number, and of which devices anybody has something to tell."""

    on: Mapping[int, Sequence[Holder]]
    spoken_of: frozenset[int]


def devices_from_rows(rows: Rows) -> dict[int, Device]:
    """Every device, by number."""
    return {row["number"]: _device(row) for row in rows["devices"]}


def _device(row: Rows) -> Device:
    dram_banks, l1_banks = row["banks"]
    return Device(
        number=row["number"],
        unique_id=ChipId(row["unique_id"]),
        index=row["index"] if row["index"] >= 0 and (row["known"] or row["name"].startswith("server:")) else None,
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


def kind_from_row(figures: Iterable[Any]) -> KindUsage:
    kind, used_bytes, count, is_estimated = figures
    return KindUsage(Kind.numbered(kind), used_bytes, count, is_estimated)


def _kinds(table: tuple[tuple[Any, ...], ...]) -> tuple[KindUsage, ...]:
    return tuple(map(kind_from_row, table))


def pool_from_row(figures: tuple[Any, ...], origin: Origin, reason: str) -> PoolUsage:
    """One pool of a process."""
    pool, used, requested, count, peak, peak_time_ns, is_lower_bound = figures
    return PoolUsage(
        pool=Pool.numbered(pool),
        used_bytes=used,
        requested_bytes=requested if requested >= 0 else None,
        count=count,
        peak_bytes=peak,
        peak_time_ns=TimeNs(peak_time_ns) if peak_time_ns else None,
        is_lower_bound=is_lower_bound,
        origin=origin,
        reason="" if reason == "undivided" and Pool.numbered(pool) not in L1_POOLS else reason,
    )


def in_order(pools: Iterable[PoolUsage]) -> tuple[PoolUsage, ...]:
    return tuple(sorted(pools, key=_pool_of))


_pool_of = attrgetter("pool")


def device_usages(
    devices: Mapping[int, Device], rows: Rows, holders: Holders, sizes_of: SizesOf
) -> tuple[DeviceUsage, ...]:
    """Every chip, in order. One that nobody opened and of which there is nothing to tell (a stray free named it) is
    left out, and so is one without a name of its own once all are gone who spoke of it: each of them had another."""
    pools, kinds = _by_number(rows["device_pools"]), _by_number(rows["device_kinds"])
    cores = _by_number(rows["device_cores"])
    doubted = dict.fromkeys((row[0] for row in rows.get("contradictions", ())), "contradicted")
    doubted |= dict.fromkeys(rows.get("doubted", ()), "damaged")
    named = {*pools, *kinds, *holders.spoken_of}
    spaces = Spaces(rows["spaces"], rows["worst_cores"], sizes_of, rows["headrooms"])
    pids = {row["key"]: row["pid"] for row in rows["processes"]} if any(row[-1] for row in rows["headrooms"]) else {}
    found = []
    for device in sorted(devices.values(), key=place_of):
        number = device.number
        held = holders.on.get(number, ())
        if (
            device.is_known
            or device.open_count
            or (number in named and (device.is_server_chip or held))
            or number in doubted
        ):
            tables = (pools[number], kinds[number], cores[number])
            doubt = doubted.get(number) or _excess(device, pools[number])
            usage = _usage(device, tables, held, spaces, doubt)
            usage = replace(usage, pools=with_empty_pools(usage))
            found.append(usage if doubt else _with_headroom(usage, spaces.headroom(device), pids))
    return tuple(found)


def _with_headroom(usage: DeviceUsage, headroom: Headroom, pids: Mapping[int, int]) -> DeviceUsage:
    programs = tuple((pids.get(key, 0), program) for key, program in headroom.programs)
    return replace(
        usage, headroom_bytes=headroom.size_bytes, headroom_programs=programs, l1_hole_bytes=headroom.hole_bytes
    )


def _excess(device: Device, pools: Table) -> str:
    """The doubt about a chip on which more is reported than it has."""
    found = ((Pool.numbered(row[0]), row[1]) for row in pools)
    is_over = any(used > (device.capacity(pool) or used) for pool, used in found if pool not in PLANNED_POOLS)
    return "over_capacity" if is_over else ""


def _usage(
    device: Device, tables: tuple[Table, Table, Table], held: Sequence[Holder], spaces: Spaces, doubt: str
) -> DeviceUsage:
    pool_rows, kind_rows, core_rows = tables
    kind = spaces.kind_of(device)
    pools = tuple(
        [
            _chip_pool(
                kind,
                row,
                spaces.gaps_of(device.number, row[0]),
                tuple([holder.shares[row[0]] for holder in held if row[0] in holder.shares]),
                doubt,
            )
            for row in sorted(pool_rows)
        ]
    )
    activity = together([holder.activity for holder in held], cores_from_rows(tuple(core_rows)))
    worst_bytes, worst, core_bytes = spaces.fullest(device, kind.core_bytes, pools=pools, activity=activity)
    return DeviceUsage(
        device,
        pools,
        _kinds(tuple(kind_rows)),
        sum([holder.launch_count for holder in held]),
        activity,
        doubt,
        planned_core_bytes=None if doubt else worst_bytes,
        planned_core=None if doubt else worst,
        core_bytes=core_bytes,
    )


def _chip_pool(
    kind: ChipKind, figures: tuple[Any, ...], gaps: Row | None, shares: tuple[Share, ...], doubt: str
) -> PoolUsage:
    """A pool of a chip, by its row. In doubt nobody knows what is free in one piece."""
    pool, used = Pool.numbered(figures[0]), figures[1]
    largest = (None, None) if doubt else kind.largest(pool, gaps)
    origin: Origin = "counter" if any(origin == "counter" for _, origin, _ in shares) else "counted"
    unattributed = max(0, used - sum(share for share, _, _ in shares))
    reason = doubt or first_reason(reason for _, _, reason in shares)
    return _device_pool(figures, (kind.capacity(pool), largest), (origin, unattributed, reason))


def with_empty_pools(usage: DeviceUsage) -> tuple[PoolUsage, ...]:
    """Its pools, and those in which nothing ever lay though there is room: if somebody counts there, that is 0."""
    device, named = usage.device, {pool.pool for pool in usage.pools}
    if usage.launch_count is None or usage.doubt:
        return usage.pools
    if usage.is_l1_undivided:  # nobody knows what lies in L1_SMALL
        named.add(Pool.L1_SMALL)
    empty = (
        _empty(pool, device.capacity(pool) or 0, bank_count(device, pool)) for pool in BANKED_POOLS if pool not in named
    )
    return in_order([*usage.pools, *(pool for pool in empty if pool.capacity_bytes)])


def _empty(pool: Pool, capacity_bytes: int, banks: int | None) -> PoolUsage:
    largest = (capacity_bytes, capacity_bytes // banks if banks else None)
    return _device_pool((pool.number, 0, 0, 0, 0, 0, 0, False), (capacity_bytes, largest), ("counted", 0, ""))


def _by_number(table: Iterable[tuple[Any, ...]]) -> dict[int, Table]:
    found: dict[int, Table] = defaultdict(list)
    for row in table:  # by thousands, and slices are the fastest way
        found[row[0]].append(row[1:])
    return found


def _device_pool(
    figures: tuple[Any, ...], room: tuple[int | None, Largest], doubts: tuple[Origin, int, str]
) -> PoolUsage:
    pool, used, requested, count, peak, peak_time_ns, since_ns, lower_bound = figures
    capacity, (largest, largest_of_bank) = room
    origin, unattributed, reason = doubts
    return PoolUsage(
        pool=Pool.numbered(pool),
        used_bytes=used,
        requested_bytes=requested if requested >= 0 else None,
        count=count,
        peak_bytes=peak,
        peak_time_ns=TimeNs(peak_time_ns) if peak_time_ns else None,
        is_lower_bound=lower_bound,
        origin=origin,
        since_ns=TimeNs(since_ns) if since_ns else None,
        capacity_bytes=capacity,
        largest_free_bytes=largest,
        largest_free_bank_bytes=largest_of_bank,
        unattributed_bytes=unattributed,
        reason=reason,
    )
