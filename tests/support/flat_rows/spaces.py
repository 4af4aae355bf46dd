"""From the ledger's rows about addresses to figures of every chip: its largest free blocks and its fullest core."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ttmem.collector.rows.regions import Bounds, Gaps, SizesOf, bank_count, core_bytes, pool_bounds, share_of
from ttmem.devices import Pool
from ttmem.snapshot.activity import Activity
from ttmem.snapshot.usage import PoolUsage
from ttmem.snapshot.values import Device

__all__ = ["ChipKind", "Fullest", "Headroom", "Largest", "Row", "Spaces"]

Row = tuple[Any, ...]
Largest = tuple[int | None, int | None]  # the largest free block of a chip's pool, and that of each bank
_UNKNOWN: Largest = (None, None)
L1_POOLS = (Pool.L1, Pool.L1_SMALL)


class Fullest(NamedTuple):
    """The fullest core of a chip: what it gives up, where it is, and what a core has."""

    used_bytes: int | None
    core: tuple[int, int] | None
    core_bytes: int | None


class Headroom(NamedTuple):
    """How far the lowest L1 buffer of a core is above its circular buffers, at least; see `DeviceUsage`."""

    size_bytes: int | None
    programs: tuple[tuple[int, int | None], ...] = ()
    hole_bytes: int | None = None


class ChipKind:
    """What chips of one architecture, opened alike, have in common: where their pools lie. There is one of each."""

    def __init__(self, device: Device, sizes_of: SizesOf) -> None:
        self.core_bytes = core_bytes(device)
        self._device = device  # the first of them; only asked for what all have
        self._sizes_of = sizes_of
        self._bounds: dict[Pool, Bounds | None] = {}

    def capacity(self, pool: Pool) -> int | None:
        return self._device.capacity(pool)

    def largest(self, pool: Pool, figures: Row | None) -> Largest:
        """The largest free blocks of a pool; unknown if somebody did not say where something lies."""
        bounds = self.bounds_of(pool) if figures else None
        largest = bounds.largest_free_bytes(Gaps(*figures)) if bounds and figures else None
        return _UNKNOWN if largest is None else (largest * (bank_count(self._device, pool) or 0), largest)

    def bounds_of(self, pool: Pool) -> Bounds | None:
        """Where a pool lies in each bank."""
        if pool not in self._bounds:
            device = self._device
            is_told = share_of(device, pool) is not None  # else its banks do not matter, and nobody looks them up
            self._bounds[pool] = pool_bounds(device, pool, self._sizes_of(device.arch) if is_told else None)
        return self._bounds[pool]


class Spaces:
    """The rows about what lies where: of each chip its free blocks, and its fullest core."""

    def __init__(
        self, gaps: Iterable[Row], worst: Iterable[Row], sizes_of: SizesOf, headrooms: Iterable[Row] = ()
    ) -> None:
        self._gaps = {row[:2]: row[2:] for row in gaps}
        self._worst = {row[0]: row[1:] for row in worst}
        self._headrooms = {row[0]: row[1:] for row in headrooms}
        self._sizes_of = sizes_of

    def kind_of(self, device: Device) -> ChipKind:
        facts = (device.arch, device.capacity_bytes, device.dram_bank_count, device.l1_bank_count)
        name = (*facts, device.kernel_ring_bytes, self._sizes_of)
        if name not in _KINDS:
            if len(_KINDS) >= _KINDS_MOST:
                _KINDS.clear()
            _KINDS[name] = ChipKind(device, self._sizes_of)
        return _KINDS[name]

    def gaps_of(self, number: int, pool: int) -> Row | None:
        """The ledger's row about what a pool's allocations leave free; see `Gaps`."""
        return self._gaps.get((number, pool))

    def fullest(
        self, device: Device, has_bytes: int | None, *, pools: Iterable[PoolUsage], activity: Activity
    ) -> Fullest:
        """The chip's fullest core, by what lies on it; `has_bytes`: what a core has."""
        number = device.number
        if number not in self._worst or has_bytes is None:
            return Fullest(None, None, has_bytes)
        has_worst, x, y, used = self._worst[number]
        if self._unplaced_count(number):
            planned = activity.footprint.worst_planned_bytes if activity.footprint else 0
            held = sum(pool.used_bytes for pool in pools if pool.pool in L1_POOLS)
            used = planned + -(-held // (device.l1_bank_count or 1))
        ring = device.kernel_ring_bytes if device.open_count else 0
        return Fullest(used + (ring or 0), (x, y) if has_worst else None, has_bytes)

    def headroom(self, device: Device) -> Headroom:
        """Of the core that has the least; unknown if somebody did not say where something lies."""
        if device.number not in self._headrooms:
            return Headroom(None)
        least, cb_end, own, lowest, core_count, programs = self._headrooms[device.number]
        bounds = self.kind_of(device).bounds_of(Pool.L1)
        if bounds is None:  # then only cores that have both are known; others have more, unless these have their own
            return Headroom(least if cb_end is None and own is None else None, programs)
        gaps = self.gaps_of(device.number, Pool.L1.number)
        hole = bounds.largest_hole_bytes(Gaps(*gaps)) if gaps else None
        found = [] if least is None else [least]
        if cb_end is not None:
            found.append(bounds.end - cb_end)
        if own is not None:
            found.append(own - bounds.begin)
        if core_count < (device.l1_bank_count or 0):
            found.append((bounds.end if lowest is None else lowest) - bounds.begin)
        return Headroom(min(found, default=None), programs, hole)

    def _unplaced_count(self, number: int) -> int:
        """How many allocations in L1 did not say where they lie."""
        gaps = self._gaps
        return sum([gaps[number, pool.number][0] for pool in L1_POOLS if (number, pool.number) in gaps])


_KINDS: dict[tuple[object, ...], ChipKind] = {}
_KINDS_MOST = 256  # a machine has one or two
