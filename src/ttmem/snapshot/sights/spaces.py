"""From the ledger's rows about addresses to figures of every chip: its largest free blocks and its fullest core."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ttmem.devices import Device, Pool
from ttmem.snapshot.activity import Activity
from ttmem.snapshot.sights.regions import Bounds, Gaps, SizesOf, bank_count, core_bytes, pool_bounds, share_of
from ttmem.snapshot.usage import L1_POOLS, PoolUsage

__all__ = ["Fullest", "Largest", "Spaces"]

Row = Sequence[Any]
Largest = tuple[int | None, int | None]  # the largest free block of a chip's pool, and that of each bank
_UNKNOWN: Largest = (None, None)


class Fullest(NamedTuple):
    """The fullest core of a chip: what it gives up, where it is, and what a core has."""

    used_bytes: int | None
    core: tuple[int, int] | None
    core_bytes: int | None


class Spaces:
    """The rows about what lies where: of each chip its free blocks, and its fullest core."""

    def __init__(self, gaps: Iterable[Row], worst: Iterable[Row], sizes_of: SizesOf) -> None:
        self._gaps = {(number, pool): Gaps(*figures) for number, pool, *figures in gaps}
        self._worst = {number: figures for number, *figures in worst}
        self._sizes_of = sizes_of
        self._bounds: dict[tuple[object, ...], Bounds | None] = {}  # most chips are of one kind

    def largest(self, device: Device, pool: Pool) -> Largest:
        """The largest free blocks of a pool; unknown if somebody did not say where something lies."""
        gaps = self._gaps.get((device.number, pool))
        bounds = self._bounds_of(device, pool) if gaps else None
        largest = bounds.largest_free_bytes(gaps) if bounds and gaps else None
        return _UNKNOWN if largest is None else (largest * (bank_count(device, pool) or 0), largest)

    def fullest(self, device: Device, pools: Iterable[PoolUsage], activity: Activity) -> Fullest:
        """The chip's fullest core, by what lies on it."""
        number, has_bytes = device.number, core_bytes(device)
        if number not in self._worst or has_bytes is None:
            return Fullest(None, None, has_bytes)
        has_worst, x, y, used = self._worst[number]
        if any(self._gaps.get((number, pool), _NO_GAPS).unplaced_count for pool in L1_POOLS):
            planned = activity.footprint.worst_planned_bytes if activity.footprint else 0
            held = sum(pool.used_bytes for pool in pools if pool.pool in L1_POOLS)
            used = planned + -(-held // (device.l1_bank_count or 1))
        ring = device.kernel_ring_bytes if device.open_count else 0
        return Fullest(used + (ring or 0), (x, y) if has_worst else None, has_bytes)

    def _bounds_of(self, device: Device, pool: Pool) -> Bounds | None:
        kind = (device.arch, device.capacity_bytes, device.dram_bank_count, device.l1_bank_count, pool)
        if kind not in self._bounds:
            is_told = share_of(device, pool) is not None  # else its banks do not matter, and nobody looks them up
            self._bounds[kind] = pool_bounds(device, pool, self._sizes_of(device.arch) if is_told else None)
        return self._bounds[kind]


_NO_GAPS = Gaps()
