"""From the ledger's rows about addresses to figures of every chip: its largest free blocks and its fullest core."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ttmem.devices import Device
from ttmem.snapshot.sights.regions import Gaps, SizesOf, bank_count, core_bytes, pool_bounds
from ttmem.snapshot.usage import L1_POOLS, DeviceUsage, PoolUsage

__all__ = ["Spaces"]

Row = Sequence[Any]


class Spaces:
    """The rows about what lies where: of each chip its free blocks, and its fullest core."""

    def __init__(self, gaps: Iterable[Row], worst: Iterable[Row], sizes_of: SizesOf) -> None:
        self._gaps = {(number, pool): Gaps(*figures) for number, pool, *figures in gaps}
        self._worst = {number: figures for number, *figures in worst}
        self._sizes_of = sizes_of

    def measured(self, usage: DeviceUsage) -> DeviceUsage:
        """The chip with its largest free blocks and its fullest core, where they are known."""
        device = usage.device
        worst_bytes, worst = self._fullest(usage)
        return replace(
            usage,
            pools=tuple(self._with_largest(device, pool) for pool in usage.pools),
            worst_core_bytes=worst_bytes,
            worst_core=worst,
            core_bytes=core_bytes(device),
        )

    def _with_largest(self, device: Device, usage: PoolUsage) -> PoolUsage:
        gaps = self._gaps.get((device.number, usage.pool))
        bounds = pool_bounds(device, usage.pool, self._sizes_of(device.arch)) if gaps else None
        largest = bounds.largest_free_bytes(gaps) if bounds and gaps else None
        if largest is None:
            return usage
        banks = bank_count(device, usage.pool) or 0
        return replace(usage, largest_free_bytes=largest * banks, largest_free_bank_bytes=largest)

    def _fullest(self, usage: DeviceUsage) -> tuple[int | None, tuple[int, int] | None]:
        """What the fullest core gives up, and where it is."""
        device, number = usage.device, usage.device.number
        if number not in self._worst or core_bytes(device) is None:
            return None, None
        has_worst, x, y, used = self._worst[number]
        if any(self._gaps.get((number, pool), Gaps()).unplaced_count for pool in L1_POOLS):
            planned = usage.activity.footprint.worst_planned_bytes if usage.activity.footprint else 0
            held = sum(pool.used_bytes for pool in usage.pools if pool.pool in L1_POOLS)
            used = planned + -(-held // (device.l1_bank_count or 1))
        ring = device.kernel_ring_bytes if device.open_count else 0
        return used + (ring or 0), (x, y) if has_worst else None
