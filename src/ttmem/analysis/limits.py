"""Which chips are fuller than they may be, grow faster, or have too little left in one piece.

A limit is a size or a share of what there is. Growth is that of the low mark: the least that was used in the second
half of the watched time against the least in the first, so that what comes and goes with every step does not count.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ttmem.devices import BANKED_POOLS, Pool
from ttmem.snapshot.usage import DeviceUsage, PoolUsage, ProcessUsage, Snapshot
from ttmem.snapshot.values import ChipName, Device

__all__ = ["Amount", "Limit", "Verdict", "Which", "growths", "judged"]

_NOT_BELIEVED = ("contradicted", "over_capacity")  # doubts for which a figure of a chip crosses nothing


@dataclass(frozen=True, slots=True)
class Amount:
    """A size, or a share of what there is."""

    size_bytes: int | None = None
    fraction: float | None = None

    def of(self, total_bytes: int | None) -> int | None:
        """In bytes; None if it is a share of something unknown."""
        if self.fraction is None:
            return self.size_bytes
        return None if total_bytes is None else int(self.fraction * total_bytes)


Which = Literal["dram", "l1", "core", "free", "largest_free", "growth"]


@dataclass(frozen=True, slots=True)
class Limit:
    """One flag of `ttmem check`."""

    which: Which
    amount: Amount

    @property
    def is_least(self) -> bool:
        return self.which in ("free", "largest_free")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one limit on one chip."""

    device: Device
    limit: Limit
    what: str  # dram, l1 core 3-4, ...
    figure_bytes: int | None  # per second, of growth; None: unknown
    limit_bytes: int | None
    holder: tuple[ProcessUsage, int] | None  # who holds, or grew, most of it
    is_partial: bool = False  # a process that does not report holds more

    @property
    def is_crossed(self) -> bool | None:
        """None: unknown."""
        if self.figure_bytes is None or self.limit_bytes is None:
            return None
        if self.limit.is_least:
            is_over = self.figure_bytes < self.limit_bytes
        else:
            is_over = self.figure_bytes > self.limit_bytes
        return None if self.is_partial and not is_over else is_over


def judged(limits: Sequence[Limit], watched: Sequence[Snapshot]) -> Iterator[Verdict]:
    """Every limit on every chip; of several snapshots the last one counts, all of them for growth."""
    last = watched[-1]
    for limit in limits:
        for usage in last.devices:
            if limit.which == "growth":
                yield from _grown(limit, usage, watched)
            else:
                yield _RULES[limit.which](limit, usage, last)


def _dram(limit: Limit, usage: DeviceUsage, snapshot: Snapshot) -> Verdict:
    total = usage.device.capacity(Pool.DRAM)
    used = usage.used_bytes(Pool.DRAM)
    return _verdict(limit, usage, "dram", used, total, holder=_holder(snapshot, usage.device, (Pool.DRAM,)))


def _l1(limit: Limit, usage: DeviceUsage, snapshot: Snapshot) -> Verdict:
    """Buffers alone, of banks x bank size."""
    used, total = usage.used_bytes(Pool.L1), usage.device.capacity(Pool.L1)
    holder = _holder(snapshot, usage.device, (Pool.L1,))
    return _verdict(limit, usage, "l1", used, total, holder=holder)


def _core(limit: Limit, usage: DeviceUsage, snapshot: Snapshot) -> Verdict:
    """The fullest core now: what is only planned is no limit that was crossed."""
    where = f" {usage.fullest_core[0]}-{usage.fullest_core[1]}" if usage.fullest_core else ""
    holder = _holder(snapshot, usage.device, (Pool.L1, Pool.L1_SMALL, Pool.CB))
    used, total = usage.fullest_core_bytes, usage.core_bytes
    return _verdict(limit, usage, f"l1 core{where}", used, total, holder=holder)


def _free(limit: Limit, usage: DeviceUsage, snapshot: Snapshot) -> Verdict:
    total, used = usage.device.capacity(Pool.DRAM), usage.used_bytes(Pool.DRAM)
    free = None if total is None or used is None else max(0, total - used)
    return _verdict(limit, usage, "dram free", free, total, holder=_holder(snapshot, usage.device, (Pool.DRAM,)))


def _largest_free(limit: Limit, usage: DeviceUsage, snapshot: Snapshot) -> Verdict:
    total, pool = usage.device.capacity(Pool.DRAM), _pool(usage, Pool.DRAM)
    block = pool.largest_free_bytes if pool else total if usage.launch_count is not None else None
    holder = _holder(snapshot, usage.device, (Pool.DRAM,))
    return _verdict(limit, usage, "dram largest free block", block, total, holder=holder)


_RULES: dict[str, Callable[[Limit, DeviceUsage, Snapshot], Verdict]] = {
    "dram": _dram,
    "l1": _l1,
    "core": _core,
    "free": _free,
    "largest_free": _largest_free,
}


def _verdict(
    limit: Limit,
    usage: DeviceUsage,
    what: str,
    figure_bytes: int | None,
    total_bytes: int | None,
    *,
    holder: tuple[ProcessUsage, int] | None,
) -> Verdict:
    return Verdict(
        device=usage.device,
        limit=limit,
        what=what,
        figure_bytes=None if usage.doubt in _NOT_BELIEVED else figure_bytes,
        limit_bytes=limit.amount.of(total_bytes),
        holder=holder,
        is_partial=_is_partial(usage),
    )


def _is_partial(usage: DeviceUsage) -> bool:
    """Whether others hold something there who do not report."""
    return any(pool.read_bytes for pool in usage.pools if pool.pool in BANKED_POOLS)


def _pool(usage: DeviceUsage, pool: Pool) -> PoolUsage | None:
    return next((found for found in usage.pools if found.pool is pool), None)


def _holder(snapshot: Snapshot, device: Device, pools: Sequence[Pool]) -> tuple[ProcessUsage, int] | None:
    """Who holds most of some pools of a chip."""
    held = [(process, _held(process, device, pools)) for process in snapshot.live if process.is_verified]
    return max((pair for pair in held if pair[1]), key=lambda pair: pair[1], default=None)


def _held(process: ProcessUsage, device: Device, pools: Sequence[Pool]) -> int:
    """As the last snapshot says; of circular buffers what cores give up for them."""
    there = (held for held in process.devices if _name(held.device) == _name(device))
    return sum(usage.used_bytes for held in there for usage in held.shown_pools if usage.pool in pools)


def _name(device: ChipName) -> tuple[str | None, int | None, str]:
    """What a chip is known by from one look to the next; its number is not."""
    return device.uuid, device.index, device.name


def _grown(limit: Limit, usage: DeviceUsage, watched: Sequence[Snapshot]) -> Iterator[Verdict]:
    for pool in BANKED_POOLS:
        if pool is not Pool.DRAM and _pool(usage, pool) is None:
            continue
        series = [(one.time_ns, _used_on(one, usage.device, pool)) for one in watched]
        before, after = watched[0], watched[-1]
        grown = {
            process.key: _held(process, usage.device, (pool,)) - _held_before(before, process, usage.device, pool)
            for process in after.live
            if process.is_verified
        }
        holders = [(process, grown[process.key]) for process in after.live if grown.get(process.key, 0) > 0]
        rate = growths(series)
        yield Verdict(
            device=usage.device,
            limit=limit,
            what=f"{pool.word} growth",
            figure_bytes=rate,
            limit_bytes=limit.amount.size_bytes,
            holder=max(holders, key=lambda pair: pair[1], default=None),
            is_partial=_is_partial(usage),
        )


def _used_on(snapshot: Snapshot, device: Device, pool: Pool) -> int | None:
    return next((usage.used_bytes(pool) for usage in snapshot.devices if _name(usage.device) == _name(device)), None)


def _held_before(snapshot: Snapshot, process: ProcessUsage, device: Device, pool: Pool) -> int:
    same = (one for one in snapshot.live if (one.pid, one.start_time_ns) == (process.pid, process.start_time_ns))
    return next((_held(one, device, (pool,)) for one in same), 0)


def growths(series: Sequence[tuple[int, int | None]]) -> int | None:
    """Bytes per second by which the low mark rose; None if a figure is missing. Times are nanoseconds."""
    figures = [(time_ns, used) for time_ns, used in series if used is not None]
    if len(figures) < len(series) or len(figures) < 2:
        return None
    half = (len(figures) + 1) // 2
    first, second = figures[:half], figures[half:]
    (early_ns, low), (late_ns, high) = min(first, key=lambda pair: pair[1]), min(second, key=lambda pair: pair[1])
    return (high - low) * 1_000_000_000 // max(1, late_ns - early_ns)
