"""`ttmem report --core`: the fullest core of each chip, or one, measured at every event, and what lay on it."""

from collections.abc import Sequence

from ttmem.analysis.alive import ByWord, Entry, chip_word, summed
from ttmem.analysis.room.cores import CoreHighest, CoresReport
from ttmem.collector.recorded import Moment, OnCore
from ttmem.collector.watched import core_peaks
from ttmem.devices import Pool
from ttmem.errors import SelectionError
from ttmem.figures.room.run import RoomRun, Rows, says_damage
from ttmem.recording import CorePeak

__all__ = ["cores_report"]

_MEASURED = "looked at behind every event that could have made it higher"


@says_damage
def cores_report(run: RoomRun, *, by: Sequence[ByWord], asked: tuple[int, int] | None, most: int) -> CoresReport:
    """Every chip's own highest; `asked`: of that core alone. A core that is not on these chips is a SelectionError."""
    if asked is not None:
        _refuse_missing(run, asked)
    peaks = {peak.chip: peak for peak in core_peaks(run.recording, asked) if peak.chip in run.usages}
    groups = run.grouped({chip: peak[1:] for chip, peak in peaks.items()})
    cores = [_highest(run, [peaks[one] for one in chips], by, most) for chips in groups.values()]
    is_known = len(peaks) == len(run.usages)
    return CoresReport(
        path=str(run.recording.path),
        certainty="measured" if is_known and not run.recording.lost_record_count else "at_least",
        why=_MEASURED if is_known else f"{_MEASURED}; chips whose allocations did not say where they lie are missing",
        by=tuple(by),
        asked=asked,
        cores=tuple(cores),
    )


def _refuse_missing(run: RoomRun, asked: tuple[int, int]) -> None:
    grids = [usage.device.grid for usage in run.usages.values() if usage.device.grid]
    if grids and all(asked[0] >= columns or asked[1] >= rows for columns, rows in grids):
        columns, rows = grids[0]
        raise SelectionError(f"no core {asked[0]},{asked[1]}: cores are 0,0 to {columns - 1},{rows - 1}")


def _highest(run: RoomRun, peaks: list[CorePeak], by: Sequence[ByWord], most: int) -> CoreHighest:
    peak = peaks[0]
    moment = Moment(run.recording, core=peak)
    usage = next(one for one in moment.snapshot.devices if one.device.unique_id == peak.chip)
    core = peak.core or (0, 0)  # all cores are alike then
    found = moment.on_core(usage.device, core)
    entries = _entries(moment, found, chip_word(usage.device), f"{core[0]},{core[1]}")
    sums = summed(entries, by)
    ring = (usage.device.kernel_ring_bytes or 0) if usage.device.open_count else 0
    buffers = sum(one.size_bytes for one in found if one.pool is not Pool.CB)
    circular = sum(one.size_bytes for one in found if one.pool is Pool.CB)
    return CoreHighest(
        chips=run.names(one.chip for one in peaks),
        core=peak.core,
        when=run.when(peak.time_ns),
        size_bytes=peak.size_bytes,
        core_bytes=usage.core_bytes,
        ring_bytes=ring,
        buffer_bytes=buffers,
        circular_bytes=max(circular, peak.size_bytes - ring - buffers),
        listed_bytes=sum(one.size_bytes for one in sums),
        sums=tuple(sums[: most or None]),
        more_sum_count=max(0, len(sums) - most) if most else 0,
    )


def _entries(moment: Moment, found: Sequence[OnCore], chip: str, core: str) -> list[Entry]:
    rows = Rows(moment)
    by_sequence = {(key, row[13]): row for key, listed in rows.by_process.items() for row in listed}
    by_id = {(key, row[1], row[2]): row for key, listed in rows.by_process.items() for row in listed}
    entries = []
    for one in found:
        row = by_sequence.get((one.process, one.sequence)) or by_id.get((one.process, one.kind, one.id))
        if row is not None:
            entries.append(rows.entry(one.process, row, one.size_bytes, chip=chip, core=core))
    return entries
