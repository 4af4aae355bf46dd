"""What a recording says: every pool at its highest, or all of them at one moment, and what was alive then."""

from collections.abc import Iterable, Sequence

from ttmem.analysis.alive import (
    AliveSum,
    AliveView,
    ByWord,
    GapPeak,
    Phases,
    PoolAlive,
    RecordingReport,
    chip_word,
    sums_by_device,
)
from ttmem.collector.recorded import Moment
from ttmem.devices import BANKED_POOLS, Pool
from ttmem.errors import SelectionError
from ttmem.recording import Peak, Recording
from ttmem.snapshot import DeviceUsage
from ttmem.snapshot.selection import device_test, known_devices
from ttmem.snapshot.values import ChipId, TimeNs, replace

__all__ = ["moment_report", "peak_report", "process_word"]


def peak_report(
    recording: Recording,
    *,
    by: Sequence[ByWord],
    pool: Pool | None = None,
    chip: str | None = None,
    most: int = 5,
    views: Sequence[ByWord] = (),
) -> RecordingReport:
    """Every pool of every chip at its own highest; `pool` and `chip` (as `ps -i` names it) choose. One that is not
    there is a SelectionError. `views`: what else to sum up by, each word for itself."""
    end = Moment(recording)
    wanted = {usage.device.unique_id for usage in _chosen(end, chip)}
    shown = [pool] if pool else BANKED_POOLS
    peaks = [
        peak
        for peak in recording.peaks()
        if peak.is_known and Pool.numbered(peak.pool) in shown and peak.chip in wanted
    ]
    found: list[PoolAlive] = []
    for group in _grouped(peaks):
        moment = Moment(recording, peak=group[0])
        chips = {peak.chip for peak in group}
        usages = [usage for usage in moment.snapshot.devices if usage.device.unique_id in chips]
        if group[0].is_of_gap:
            found.append(_of_gap(recording, moment, usages, group[0]))
            continue
        alive = _alive(recording, moment, usages, Pool.numbered(group[0].pool), by, most, views)
        found += [one if one.size_bytes == group[0].size_bytes else _unknown(one, group[0]) for one in alive]
    found.sort(key=lambda one: (one.chips[0].index or 0, one.chips[0].unique_id, one.pool.number))
    return _report(recording, end, found, by, is_of_peaks=True)


def moment_report(
    recording: Recording,
    moment: Moment,
    *,
    by: Sequence[ByWord],
    pool: Pool | None = None,
    chip: str | None = None,
    most: int = 5,
) -> RecordingReport:
    """All pools at one moment."""
    usages = _chosen(moment, chip)
    found: list[PoolAlive] = []
    for one in [pool] if pool else BANKED_POOLS:
        for group in _alike(usages, one):
            found += _alive(recording, moment, group, one, by, most)
    return _report(recording, moment, found, by, is_of_peaks=False)


def process_word(pid: int, name: str) -> str:
    """pid 4711 (python model.py); a redacted recording has its number alone."""
    return f"pid {pid} ({name})" if name else f"pid {pid}"


def _chosen(moment: Moment, word: str | None) -> list[DeviceUsage]:
    usages = list(moment.snapshot.devices)
    if word is None:
        return usages
    is_meant = device_test(word)
    chosen = [usage for usage in usages if is_meant(usage.device)]
    if not chosen:
        raise SelectionError(f"no chip {word} in this recording; {known_devices(usage.device for usage in usages)}")
    return chosen


def _grouped(peaks: Iterable[Peak]) -> list[list[Peak]]:
    """Chips of a mesh have the same peaks in the same blocks."""
    groups: dict[tuple[object, ...], list[Peak]] = {}
    for peak in peaks:
        groups.setdefault((peak.pool, peak.size_bytes, peak.segment, peak.block, peak.is_of_gap), []).append(peak)
    return list(groups.values())


def _unknown(alive: PoolAlive, peak: Peak) -> PoolAlive:
    """The moment itself could not be found again."""
    return replace(alive, size_bytes=peak.size_bytes, is_alive_known=False, sums=(), listed_bytes=0, more_sum_count=0)


def _of_gap(recording: Recording, moment: Moment, usages: Sequence[DeviceUsage], peak: Peak) -> PoolAlive:
    """When it was is known, what was alive is not."""
    times = [
        time_ns
        for _, chips, pool, size_bytes, time_ns in moment.gap_peaks
        if peak.chip in chips and (pool, size_bytes) == (peak.pool, peak.size_bytes)
    ]
    pool, at = Pool.numbered(peak.pool), max(times, default=moment.time_ns)
    return PoolAlive(
        chips=tuple(usage.device.as_name() for usage in usages),
        pool=pool,
        size_bytes=peak.size_bytes,
        capacity_bytes=usages[0].device.capacity(pool) if usages else None,
        time_ns=TimeNs(at),
        since_start_ns=TimeNs(max(0, at - recording.wall_ns(recording.first_ns))),
        is_alive_known=False,
        listed_bytes=0,
        sums=(),
        more_sum_count=0,
    )


def _alike(usages: Iterable[DeviceUsage], pool: Pool) -> list[list[DeviceUsage]]:
    groups: dict[int, list[DeviceUsage]] = {}
    for usage in usages:
        if used := _used(usage, pool):
            groups.setdefault(used, []).append(usage)
    return list(groups.values())


def _used(usage: DeviceUsage, pool: Pool) -> int:
    return next((one.used_bytes for one in usage.pools if one.pool is pool), 0)


def _alive(
    recording: Recording,
    moment: Moment,
    usages: Sequence[DeviceUsage],
    pool: Pool,
    by: Sequence[ByWord],
    most: int,
    views: Sequence[ByWord] = (),
) -> list[PoolAlive]:
    """One for all chips that have the same alive, in the same sums."""
    processes = [one for one in moment.snapshot.processes if one.is_live]
    phases = {key: Phases(spans) for key, spans in moment.phases.items()}
    labels = {one.key: f"{one.pid} {one.label or one.command}".strip() for one in processes}

    def sums_on(usages: Iterable[DeviceUsage], ways: Sequence[Sequence[ByWord]]) -> dict[int, list[list[AliveSum]]]:
        rows = {one.key: moment.allocations(one.key) for one in processes}
        devices = {usage.device.number: chip_word(usage.device) for usage in usages}
        return sums_by_device(rows, phases, labels, devices=devices, pool=pool.number, ways=ways)

    found: dict[tuple[tuple[AliveSum, ...], int, int | None], list[DeviceUsage]] = {}
    by_device = sums_on(usages, [by])
    for usage in usages:
        [sums] = by_device[usage.device.number]
        found.setdefault((tuple(sums), _used(usage, pool), usage.device.capacity(pool)), []).append(usage)
    seen = sums_on([group[0] for group in found.values()], [(word,) for word in views]) if views else {}

    def view(word: ByWord, sums: list[AliveSum]) -> AliveView:
        return AliveView(word, tuple(sums[: most or None]), max(0, len(sums) - most) if most else 0)

    return [
        PoolAlive(
            chips=tuple(usage.device.as_name() for usage in group),
            pool=pool,
            size_bytes=size_bytes,
            capacity_bytes=capacity,
            time_ns=moment.time_ns,
            since_start_ns=TimeNs(max(0, moment.monotonic_ns - recording.first_ns)),
            is_alive_known=not moment.lost_keys,
            listed_bytes=sum(one.size_bytes for one in sums),
            sums=sums[: most or None],
            more_sum_count=max(0, len(sums) - most) if most else 0,
            views=tuple(map(view, views, seen.get(group[0].device.number, ()))),
        )
        for (sums, size_bytes, capacity), group in found.items()
    ]


def _report(
    recording: Recording, moment: Moment, pools: Sequence[PoolAlive], by: Sequence[ByWord], *, is_of_peaks: bool
) -> RecordingReport:
    names = {one.key: process_word(one.pid, one.label or one.command) for one in moment.snapshot.processes}
    return RecordingReport(
        path=str(recording.path),
        label=recording.meta.label,
        command=recording.meta.command,
        host=recording.meta.host,
        began_ns=TimeNs(recording.wall_ns(recording.first_ns)),
        duration_ns=TimeNs(recording.last_ns - recording.first_ns),
        event_count=recording.row_count,
        lost_record_count=recording.lost_record_count,
        size_bytes=recording.size_bytes,
        troubles=tuple(recording.troubles),
        by=tuple(by),
        is_of_peaks=is_of_peaks,
        pools=tuple(pools),
        gaps=tuple(
            GapPeak(
                process=names.get(key, ""),
                chip_ids=tuple(map(ChipId, chips)),
                pool=Pool.numbered(pool),
                size_bytes=size,
                time_ns=TimeNs(time_ns),
            )
            for key, chips, pool, size, time_ns in moment.gap_peaks
        ),
        processes=tuple(names.values()),
    )
