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
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from ttmem.collector.rows.structs import with_empty_pools
from ttmem.devices import BANKED_POOLS, Pool
from ttmem.snapshot import (
    Device,
    DeviceUsage,
    Finding,
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

__all__ = ["Differences", "RuntimeCounters", "chips_of"]

OLD_STAMP_NS = 10_000_000_000
_PEAKS_MOST = 10_000  # of processes that came and went; then they start over
_ALWAYS_SHOWN = (Pool.DRAM, Pool.L1)
_Held = list[tuple[Device, ReadChip, ReadProcess]]


class _Look(NamedTuple):
    """What holds for one look at all chips."""

    now_ns: int
    reporting: set[int]  # pids
    unknown: set[int]  # of those that do not report


class _RegionShare(NamedTuple):
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
        """A process that only the counters list."""
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
            if used or pool in _ALWAYS_SHOWN or (*life, pool) in self._peaks
        )

    def _peak(self, key: tuple[object, ...], used: int, now_ns: int) -> tuple[int, int]:
        """The highest figure seen so far; there may have been higher ones that were not read."""
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
        counting = [process for process in plain if process.pid not in look.unknown]
        if plain:
            usage = _unplaced(usage)
        pools = {pool.pool: pool for pool in usage.pools if not pool.is_untouched}
        for pool in chip.used:
            counted_bytes = sum(process.used[pool] for process in counting)
            # Where processes report, what the counters cannot account for is theirs, on other threads.
            rest = 0 if len(plain) < len(chip.processes) else chip.used[pool] - counted_bytes
            before = pools.get(pool)
            if before and not before.is_read:
                pools[pool] = _beside(before, counted_bytes, chip.stale[pool])
            elif before or counted_bytes or rest or chip.stale[pool] or (counting and pool in _ALWAYS_SHOWN):
                part = _RegionShare(counted_bytes, rest, chip.stale[pool])
                pools[pool] = self._read_pool(usage.device, pool, before, part, now_ns=look.now_ns)
        joined = replace(
            usage,
            device=replace(usage.device, open_count=usage.device.open_count + len(plain)) if plain else usage.device,
            pools=tuple(pools[pool] for pool in sorted(pools)),
            doubt=first_reason([usage.doubt, "uncounted" if len(counting) < len(plain) else ""]),
        )
        if joined.launch_count is None or joined.doubt:
            return joined
        return replace(joined, pools=with_empty_pools(joined.device, joined.pools))

    def _read_pool(
        self, device: Device, pool: Pool, before: PoolUsage | None, part: _RegionShare, *, now_ns: int
    ) -> PoolUsage:
        """A pool of a chip on which no process reports; `before`: what another region of the same chip said."""
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
    """Where a process does not report, the largest free block, the fullest core and the headroom are unknown."""
    pools = (replace(pool, largest_free_bytes=None, largest_free_bank_bytes=None) for pool in usage.pools)
    return replace(
        usage,
        pools=tuple(pools),
        planned_core_bytes=None,
        planned_core=None,
        fullest_core_bytes=None,
        fullest_core=None,
        headroom_bytes=None,
        headroom_programs=(),
        l1_hole_bytes=None,
    )


def _beside(counted: PoolUsage, counted_bytes: int, stale: int) -> PoolUsage:
    """What was read stands beside what was counted."""
    read = (counted.read_bytes or 0) + counted_bytes if counted_bytes or counted.read_bytes is not None else None
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


_QUIET_NS = 10_000_000
_VERDICTS_MOST = 10_000

Held = Sequence[tuple[Device, ReadChip, ReadProcess]]


class _Verdict(NamedTuple):
    """What the last comparison said."""

    finding: str = ""
    others: tuple[ProcessDevice, ...] = ()


_EQUAL = _Verdict()


class Differences:
    """Remembers, for every process that two sources report, what the last comparison said."""

    def __init__(self) -> None:
        self._verdicts: dict[int, _Verdict] = {}

    def noted(self, process: ProcessUsage, held: Held, read_ns: int) -> ProcessUsage:
        """The process, with a finding and the runtime's figures apart if they differ from what was counted."""
        if len(self._verdicts) > _VERDICTS_MOST:
            self._verdicts.clear()
        if _is_comparable(process, held, read_ns):
            self._verdicts[process.key] = _verdict(process, held)
        verdict = self._verdicts.get(process.key, _EQUAL)
        if not verdict.finding:
            return process
        finding = Finding(verdict.finding, 1, process.pid, process.path)
        others = (*process.other_devices, *verdict.others)
        return replace(process, findings=(*process.findings, finding), other_devices=others)


def _is_comparable(process: ProcessUsage, held: Held, read_ns: int) -> bool:
    """A process whose every allocation is counted, and which had nothing to report for a moment."""
    if process.source != "journal" or process.origin != "counted" or process.reason:
        return False
    stamps = [process.last_event_time_ns, *(read.last_update_ns for _, _, read in held)]
    return all(stamp is None or stamp + _QUIET_NS <= read_ns for stamp in stamps)


def _verdict(process: ProcessUsage, held: Held) -> _Verdict:
    counted = {one.device.number: {usage.pool: _asked_for(usage) for usage in one.pools} for one in process.devices}
    is_missing, is_beyond = False, False
    others = []
    for device, _, read in held:
        ours = counted.get(device.number)
        if ours is None:
            continue  # it reports, but not on this chip: by what it reports, the two cannot be compared
        gaps = [
            ours.get(pool, 0) - read.used.get(pool, 0) for pool in BANKED_POOLS
        ]  # circular buffers cannot be compared
        if any(gaps):
            is_missing |= any(gap > 0 for gap in gaps)
            is_beyond |= any(gap < 0 for gap in gaps)
            others.append(ProcessDevice(device.as_name(), tuple(_read_pools(read)), (), None))
    if not others:
        return _EQUAL
    return _Verdict("runtime_misses" if is_missing or not is_beyond else "runtime_exceeds", tuple(others))


def _asked_for(usage: PoolUsage) -> int:
    """What the runtime sums up as well: bytes of tensors, before banks and alignment."""
    return usage.used_bytes if usage.requested_bytes is None else usage.requested_bytes


def _read_pools(read: ReadProcess) -> list[PoolUsage]:
    return [
        PoolUsage(
            pool=pool,
            used_bytes=used,
            requested_bytes=None if pool is Pool.CB else used,
            count=None,
            peak_bytes=used,
            peak_time_ns=None if read.last_update_ns is None else TimeNs(read.last_update_ns),
            is_lower_bound=True,
            origin="sample" if pool is Pool.CB else "read",
        )
        for pool, used in sorted(read.used.items())
        if used or pool in (Pool.DRAM, Pool.L1)
    ]


def chips_of(snapshot: Snapshot, readings: Readings) -> list[tuple[Device, ReadChip]]:
    """Every region with its chip: one that was reported, by its unique id, or one of its own."""
    by_id: dict[int, Device] = {device.unique_id: device for device in _all_devices(snapshot) if device.is_known}
    next_number = max((device.number for device in _all_devices(snapshot)), default=-1) + 1
    found = []
    for chip in readings.chips:
        device = by_id.get(chip.unique_id) if chip.unique_id is not None else None
        if device is None:
            is_known = chip.unique_id is not None
            index, name = (chip.device_index, "") if is_known else (None, chip.name)
            device = Device.bare(next_number, chip.unique_id, index=index, name=name)
            next_number += 1
            if chip.unique_id is not None:
                by_id[chip.unique_id] = device
        found.append((device, chip))
    return found


def _all_devices(snapshot: Snapshot) -> Iterable[Device]:
    """Those that are shown come last, and count: of the others only names are known."""
    for process in snapshot.processes:
        for held in process.devices:
            chip = held.device
            yield Device(chip.number, chip.unique_id, chip.index, chip.is_known, chip.name)
    yield from (usage.device for usage in snapshot.devices)
