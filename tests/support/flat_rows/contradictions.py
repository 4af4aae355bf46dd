"""What chips are said to be, where that cannot be true: openers that contradict each other or the driver, and more
memory in use than a chip has."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ttmem.devices import Pool
from ttmem.snapshot.host import Finding
from ttmem.snapshot.usage import DeviceUsage
from ttmem.snapshot.values import Device

__all__ = ["chip_findings", "chip_name"]

Rows = dict[str, Any]


def chip_findings(rows: Rows, devices: Mapping[int, Device], usages: Iterable[DeviceUsage]) -> Iterator[Finding]:
    """Those of all chips, by the ledger's rows and what was made of them."""
    contradictions = rows.get("contradictions", ())
    processes = {row["key"]: row for row in rows["processes"]} if contradictions else {}
    for number, believed, other, what, told, said, count in contradictions:
        if number in devices:
            second = processes.get(other, _GONE)
            first = _opener(processes.get(believed, _GONE)) if believed else "the driver"
            text = f"{_opener(second)} says {what} {said}, {first} says {told} and is believed"
            yield Finding("contradicted", count, path=second["path"], text=f"{chip_name(devices[number])}: {text}")
    for usage in usages:
        for pool in usage.pools if usage.doubt in ("over_capacity", "contradicted") else ():
            if not pool.is_planned and pool.used_bytes > (pool.capacity_bytes or pool.used_bytes):
                yield Finding("over_capacity", 1, text=_excess(usage.device, pool.pool, pool.used_bytes))


_GONE: Rows = {"pid": "?", "uid": "?", "path": ""}


def _opener(process: Rows) -> str:
    return f"pid {process['pid']} (uid {process['uid']})"


def _excess(device: Device, pool: Pool, used_bytes: int) -> str:
    has = device.capacity(pool) or 0
    return f"{chip_name(device)}: {used_bytes:,} bytes of {pool.word} are reported, it has {has:,}"


def chip_name(device: Device) -> str:
    """How findings call a chip."""
    return f"device {device.index if device.index is not None else device.uuid or device.name}"
