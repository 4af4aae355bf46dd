"""Every chip, from the ledger's rows: what it is, what everybody together has there, and how sure that is."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ttmem.devices import Device, Kind, Pool
from ttmem.snapshot.activity import activity_from_rows, together
from ttmem.snapshot.sights.regions import SizesOf
from ttmem.snapshot.sights.spaces import Spaces
from ttmem.snapshot.usage import DeviceUsage, KindUsage, PoolUsage, ProcessDevice, first_reason

__all__ = ["Holders", "device_usages", "devices_from_rows", "in_order", "kind_from_row", "place_of"]

Rows = dict[str, Any]


class Holders(NamedTuple):
    """What the living hold on each device, by its number, and of which devices anybody has something to tell."""

    on: Mapping[int, Sequence[ProcessDevice]]
    spoken_of: frozenset[int]


def devices_from_rows(rows: Rows) -> dict[int, Device]:
    """Every device, by number."""
    return {row["number"]: _device(row) for row in rows["devices"]}


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


def kind_from_row(figures: Sequence[Any]) -> KindUsage:
    kind, used, count, estimated = figures
    return KindUsage(Kind(kind), used, count, estimated)


def in_order(pools: Iterable[PoolUsage]) -> tuple[PoolUsage, ...]:
    return tuple(sorted(pools, key=lambda usage: usage.pool))


def device_usages(
    devices: Mapping[int, Device], rows: Rows, holders: Holders, sizes_of: SizesOf
) -> tuple[DeviceUsage, ...]:
    """Every chip, in order. One that nobody opened and of which there is nothing to tell (a stray free named it) is
    left out, and so is one without a name of its own once all are gone who spoke of it: each of them had another."""
    pools, kinds = _by_number(rows["device_pools"]), _by_number(rows["device_kinds"])
    cores = _by_number(rows["device_cores"])
    named = {*pools, *kinds, *holders.spoken_of}
    spaces = Spaces(rows["spaces"], rows["worst_cores"], sizes_of)
    found = []
    for device in sorted(devices.values(), key=place_of):
        number = device.number
        held = holders.on.get(number, ())
        if device.is_known or device.open_count or (number in named and (device.is_seed or held)):
            usage = DeviceUsage(
                device,
                in_order(_device_pool(device, figures, held) for figures in pools[number]),
                tuple(map(kind_from_row, kinds[number])),
                sum(holder.launch_count or 0 for holder in held),
                together([holder.activity for holder in held], activity_from_rows(cores=cores[number]).cores),
            )
            found.append(spaces.measured(usage))
    return tuple(found)


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
