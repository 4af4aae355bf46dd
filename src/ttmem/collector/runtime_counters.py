"""Joins what the stock runtime's own counters say with what was counted.

A process that reports is shown by its reports; the runtime's figures of it stand apart, and only where they differ. A
process that does not report is shown by the runtime's counters, marked `read`. Chips are one row by their unique id.
Nothing that was read is ever added to what was counted.

   what the counters say of a living process        it is shown as
   bytes, or none and a young stamp                 read
   attached, no bytes, an old stamp or none         unknown: the runtime sees one thread only, it may hold anything
"""

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple, Protocol

from ttmem.collector.chips import chips_of
from ttmem.collector.differences import Differences
from ttmem.collector.rows.structs import with_empty_pools
from ttmem.devices import Pool
from ttmem.snapshot import (
    Device,
    DeviceUsage,
    PoolUsage,
    ProcessDevice,
    ProcessUsage,
    ReadChip,
    Readings,
    ReadProcess,
    Snapshot,
    TimeNs,
    place_of,
    replace,
)
from ttmem.snapshot.usage import first_reason
from ttmem.snapshot.values import clean

__all__ = ["RuntimeCounters"]

OLD_STAMP_NS = 10_000_000_000
_PEAKS_MOST = 10_000  # of processes that came and went; then they start anew
_ALWAYS_TOLD = (Pool.DRAM, Pool.L1)
_Held = list[tuple[Device, ReadChip, ReadProcess]]


class _Look(NamedTuple):
    """What holds for one look at all chips."""

    now_ns: int
    reporting: set[int]  # pids
    unknown: set[int]  # of those that do not report


class _Part(NamedTuple):
    """What one region adds to a pool of its chip."""

    told_bytes: int
    rest_bytes: int
    stale_bytes: int


class Reader(Protocol):
    """Who reads the regions."""

    def read(self) -> Readings: ...


class RuntimeCounters:
    """Reads the runtime's counters and joins them with snapshots; remembers the peaks it has seen. Any thread may."""

    def __init__(self, stock: Reader, *, user_of: Callable[[int], str]) -> None:
        self._stock = stock
        self._user_of = user_of
        self._lock = threading.Lock()
        self._peaks: dict[tuple[object, ...], tuple[int, int]] = {}  # bytes, and when
        self._differences = Differences()

    def read(self) -> Readings:
        """What the counters say now. To be called before the ledger's figures are taken: see `Differences`."""
        with self._lock:
            return self._stock.read()

    def joined(self, snapshot: Snapshot, readings: Readings) -> Snapshot:
        """The snapshot with all that was read."""
        if not readings.places:
            return snapshot
        with self._lock:
            return self._joined(snapshot, readings)

    def _joined(self, snapshot: Snapshot, readings: Readings) -> Snapshot:
        if len(self._peaks) > _PEAKS_MOST:
            self._peaks.clear()
        reporting = {process.pid: process for process in snapshot.live if process.is_visible}
        chips = chips_of(snapshot, readings)
        plain: dict[int, _Held] = defaultdict(list)
        twice: dict[int, _Held] = defaultdict(list)
        for device, chip in chips:
            for process in chip.processes:
                (twice if process.pid in reporting else plain)[process.pid].append((device, chip, process))
        now_ns = readings.time_ns
        unknown = {pid for pid, held in plain.items() if all(_tells_nothing(one, now_ns) for _, _, one in held)}
        look = _Look(now_ns, set(reporting), unknown)
        processes = tuple(
            self._differences.noted(process, twice[process.pid], now_ns)
            if process.is_live and process.pid in twice
            else process
            for process in snapshot.processes
        )
        before = {finding for process in snapshot.processes for finding in process.findings}
        new = (finding for process in processes for finding in process.findings if finding not in before)
        return replace(
            snapshot,
            places=tuple(dict.fromkeys((*snapshot.places, *map(clean, readings.places)))),
            devices=self._devices(snapshot, chips, look),
            processes=(*processes, *(self._process(held, look) for held in plain.values())),
            foreign=(*snapshot.foreign, *(replace(one, path=clean(one.path)) for one in readings.foreign)),
            findings=(*snapshot.findings, *new, *(replace(one, path=clean(one.path)) for one in readings.findings)),
        )

    def _process(self, held: _Held, look: _Look) -> ProcessUsage:
        """A process that only the counters tell about."""
        _, chip, first = held[0]
        is_unknown = first.pid in look.unknown
        stamps = [process.last_update_ns for _, _, process in held if process.last_update_ns]
        return ProcessUsage(
            key=-first.pid,  # the ledger knows nothing of it
            pid=first.pid,
            source="runtime",
            uid=first.uid,
            user=self._user_of(first.uid),
            label=first.command,
            command=first.command,
            path=clean(chip.path),
            state="live",
            is_visible=True,
            container=first.container,
            origin="unknown" if is_unknown else "read",
            reason="uncounted" if is_unknown else "",
            start_time_ns=TimeNs(first.start_time_ns),
            last_event_time_ns=TimeNs(max(stamps)) if stamps else None,
            live_count=None,
            has_details=True,
            devices=tuple(
                ProcessDevice(device.as_name(), self._pools(device, process, look), (), None)
                for device, _, process in held
            ),
        )

    def _pools(self, device: Device, process: ReadProcess, look: _Look) -> tuple[PoolUsage, ...]:
        if process.pid in look.unknown:
            return ()
        life = (process.pid, process.start_time_ns, device.unique_id, device.name)
        return tuple(
            _pool(pool, used, self._peak((*life, pool), used, look.now_ns))
            for pool, used in sorted(process.used.items())
            if used or pool in _ALWAYS_TOLD or (*life, pool) in self._peaks
        )

    def _peak(self, key: tuple[object, ...], used: int, now_ns: int) -> tuple[int, int]:
        """The highest figure seen so far; there may have been higher ones that nobody read."""
        if used > 0 and used >= self._peaks.get(key, (0, 0))[0]:
            self._peaks[key] = (used, now_ns)
        return self._peaks.get(key, (used, now_ns))

    def _devices(
        self, snapshot: Snapshot, chips: list[tuple[Device, ReadChip]], look: _Look
    ) -> tuple[DeviceUsage, ...]:
        usages = {usage.device.number: usage for usage in snapshot.devices}
        for device, chip in chips:
            known = usages.get(device.number)
            has_plain = any(process.pid not in look.reporting for process in chip.processes)
            if known or has_plain or any(chip.stale.values()):
                usages[device.number] = self._device(known or DeviceUsage(device, (), (), None), chip, look)
        return tuple(sorted(usages.values(), key=lambda usage: place_of(usage.device)))

    def _device(self, usage: DeviceUsage, chip: ReadChip, look: _Look) -> DeviceUsage:
        """A chip with what the processes hold that do not report, and what the ended ones left in the counters."""
        plain = [process for process in chip.processes if process.pid not in look.reporting]
        telling = [process for process in plain if process.pid not in look.unknown]
        if plain:
            usage = _unplaced(usage)
        pools = {pool.pool: pool for pool in usage.pools if not pool.is_untouched}
        for pool in chip.used:
            told = sum(process.used[pool] for process in telling)
            # Where processes report, what the counters cannot account for is theirs, on other threads.
            rest = 0 if len(plain) < len(chip.processes) else chip.used[pool] - told
            before = pools.get(pool)
            if before and not before.is_read:
                pools[pool] = _beside(before, told, chip.stale[pool])
            elif before or told or rest or chip.stale[pool] or (telling and pool in _ALWAYS_TOLD):
                part = _Part(told, rest, chip.stale[pool])
                pools[pool] = self._read_pool(usage.device, pool, before, part, now_ns=look.now_ns)
        joined = replace(
            usage,
            device=replace(usage.device, open_count=usage.device.open_count + len(plain)) if plain else usage.device,
            pools=tuple(pools[pool] for pool in sorted(pools)),
            doubt=first_reason([usage.doubt, "uncounted" if len(telling) < len(plain) else ""]),
        )
        if joined.launch_count is None or joined.doubt:
            return joined
        return replace(joined, pools=with_empty_pools(joined.device, joined.pools))

    def _read_pool(
        self, device: Device, pool: Pool, before: PoolUsage | None, part: _Part, *, now_ns: int
    ) -> PoolUsage:
        """A pool of a chip on which nobody reports; `before`: what another region of the same chip said."""
        used = part.told_bytes + part.rest_bytes + (before.used_bytes if before else 0)
        return _pool(
            pool,
            used,
            self._peak((device.unique_id, device.name, pool), used, now_ns),
            capacity_bytes=device.capacity(pool),
            unattributed_bytes=part.rest_bytes + (before.unattributed_bytes if before else 0),
            stale_bytes=part.stale_bytes + ((before.stale_bytes or 0) if before else 0),
        )


def _unplaced(usage: DeviceUsage) -> DeviceUsage:
    """Where somebody does not report, nobody knows what is free in one piece, the fullest core, nor the headroom."""
    pools = (replace(pool, largest_free_bytes=None, largest_free_bank_bytes=None) for pool in usage.pools)
    return replace(
        usage,
        pools=tuple(pools),
        planned_core_bytes=None,
        planned_core=None,
        headroom_bytes=None,
        headroom_programs=(),
        l1_hole_bytes=None,
    )


def _beside(counted: PoolUsage, told: int, stale: int) -> PoolUsage:
    """What was read stands beside what was counted."""
    read = (counted.read_bytes or 0) + told if told or counted.read_bytes is not None else None
    return replace(counted, read_bytes=read, stale_bytes=(counted.stale_bytes or 0) + stale)


def _tells_nothing(process: ReadProcess, now_ns: int) -> bool:
    """Attached, and nothing is counted, or was for long: not idle, but unknown."""
    is_old = process.last_update_ns is None or process.last_update_ns < now_ns - OLD_STAMP_NS
    return is_old and not any(process.used.values())


def _pool(pool: Pool, used: int, peak: tuple[int, int], **more: int | None) -> PoolUsage:
    """The counters hold bytes of tensors; circular buffers are a sample, taken at most ten times a second."""
    peak_bytes, peak_time_ns = peak
    return PoolUsage(
        pool=pool,
        used_bytes=used,
        requested_bytes=None if pool is Pool.CB else used,
        count=None,
        peak_bytes=peak_bytes,
        peak_time_ns=TimeNs(peak_time_ns),
        is_lower_bound=True,
        origin="sample" if pool is Pool.CB else "read",
        **more,  # type: ignore[arg-type]
    )
