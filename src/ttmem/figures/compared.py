"""Two recordings beside each other: every pool of every chip at its highest, of all and in phases of the same name."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ttmem.analysis.alive import ByWord, Phases, sums_of
from ttmem.analysis.growth.diff import (
    ComparedHolding,
    ComparedRecording,
    PoolChange,
    RecordingDiff,
    State,
    line_changes,
    unlike_boards,
)
from ttmem.collector.recorded import Moment
from ttmem.devices import BANKED_POOLS, Pool
from ttmem.errors import SelectionError
from ttmem.recording import Lives, Peak, Recording
from ttmem.snapshot.values import ChipName, Device, TimeNs, place_of, replace

__all__ = ["recording_diff"]

_DETAILS: tuple[ByWord, ...] = ("operation", "tensor")
_ChipPool = tuple[int, int]


class _ChipPair(NamedTuple):
    """The same chip in both, or one that only one of them has."""

    before: Device | None
    after: Device | None

    @property
    def name(self) -> ChipName:
        device = self.after or self.before
        assert device is not None
        return device.as_name()

    @property
    def state(self) -> State:
        return "new" if self.before is None else "gone" if self.after is None else "same"


class _Side:
    """One recording, and what is asked of it more than once."""

    def __init__(self, recording: Recording, by: Sequence[ByWord]) -> None:
        self.recording = recording
        self._by = by
        self._moments: dict[tuple[object, ...], Moment] = {}
        end = Moment(recording)
        self.devices = sorted((usage.device for usage in end.snapshot.devices), key=place_of)
        self.peaks = {(peak.chip, peak.pool): peak for peak in recording.peaks() if peak.is_known}
        self.phase_peaks = _phase_peaks(recording)

    def holdings(self, device: Device | None, peak: Peak | None) -> tuple[list[ComparedHolding], bool]:
        """What was alive then, and whether that is known."""
        if device is None or peak is None:
            return [], True
        if peak.is_of_gap:
            return [], False
        moment = self._moment(peak)
        number = next(
            (one.device.number for one in moment.snapshot.devices if one.device.unique_id == device.unique_id), -1
        )
        live = moment.snapshot.live
        sums = sums_of(
            {one.key: moment.allocations(one.key) for one in live},
            {key: Phases(spans) for key, spans in moment.phases.items()},
            {one.key: one.label or one.command for one in live},
            device=number,
            pool=peak.pool,
            by=(*self._by, *_DETAILS),
        )
        count = len(self._by)
        found = [
            ComparedHolding(one.names[:count], one.names[count], one.names[count + 1], one.size_bytes, one.count)
            for one in sums
        ]
        return found, not moment.lost_keys and sum(one.size_bytes for one in sums) == peak.size_bytes

    def _moment(self, peak: Peak) -> Moment:
        """Chips of a mesh have their peaks at the same moment."""
        name = (peak.pool, peak.size_bytes, peak.segment, peak.block, peak.from_ns)
        if name not in self._moments:
            self._moments[name] = Moment(self.recording, peak=peak)
        return self._moments[name]

    def facts(self) -> ComparedRecording:
        recording = self.recording
        return ComparedRecording(
            path=str(recording.path),
            label=recording.meta.label,
            command=recording.meta.command,
            host=recording.meta.host,
            began_ns=TimeNs(recording.wall_ns(recording.first_ns)),
            duration_ns=TimeNs(recording.last_ns - recording.first_ns),
            troubles=tuple(recording.troubles),
            lost_record_count=recording.lost_record_count,
        )


def recording_diff(
    before: Recording, after: Recording, *, by: Sequence[ByWord], pool: Pool | None = None
) -> RecordingDiff:
    """What changed. Recordings of different boards are a SelectionError."""
    old, new = _Side(before, by), _Side(after, by)
    unlike = unlike_boards(*([(one.arch, one.board) for one in side.devices] for side in (old, new)))
    if unlike:
        raise SelectionError(
            f"expected two recordings of the same boards, found {unlike[0]} in {before.path} and {unlike[1]} in "
            f"{after.path}; compare runs on equal boards"
        )
    pairs = _paired(old.devices, new.devices)
    pools = [pool] if pool else [*BANKED_POOLS]
    names = [name for name in old.phase_peaks if name in new.phase_peaks]
    return RecordingDiff(
        before=old.facts(),
        after=new.facts(),
        by=tuple(by),
        pools=tuple(_changes("", pairs, pools, old, new, old.peaks, new.peaks)),
        phases=tuple(
            change
            for name in names
            for change in _changes(name, pairs, pools, old, new, old.phase_peaks[name], new.phase_peaks[name])
        ),
        new_phases=tuple(name for name in new.phase_peaks if name not in old.phase_peaks),
        gone_phases=tuple(name for name in old.phase_peaks if name not in new.phase_peaks),
    )


def _paired(olds: Sequence[Device], news: Sequence[Device]) -> list[_ChipPair]:
    """By their own ids if any chip is in both; else, as on two machines, by their places."""
    by_id = {one.unique_id: one for one in news}
    if any(one.unique_id in by_id for one in olds):
        pairs = [_ChipPair(one, by_id.pop(one.unique_id, None)) for one in olds]
        return pairs + [_ChipPair(None, one) for one in news if one.unique_id in by_id]
    most = max(len(olds), len(news))
    return [_ChipPair(olds[at] if at < len(olds) else None, news[at] if at < len(news) else None) for at in range(most)]


def _changes(
    phase: str,
    pairs: Sequence[_ChipPair],
    pools: Sequence[Pool],
    old: _Side,
    new: _Side,
    old_peaks: dict[_ChipPool, Peak],
    new_peaks: dict[_ChipPool, Peak],
) -> list[PoolChange]:
    """One for all chips of which the same is to be said; the largest change first."""
    found: list[PoolChange] = []
    for pool in pools:
        for pair in pairs:
            peaks = [
                side.get((device.unique_id, pool.number)) if device is not None else None
                for device, side in ((pair.before, old_peaks), (pair.after, new_peaks))
            ]
            if any(peaks):
                _fold(found, _change(phase, pair, pool, old, new, *peaks))
    return sorted(found, key=lambda one: (-abs(one.change_bytes), one.pool.number, one.chips[0].index or 0))


def _change(
    phase: str, pair: _ChipPair, pool: Pool, old: _Side, new: _Side, was: Peak | None, now: Peak | None
) -> PoolChange:
    before, is_before_known = old.holdings(pair.before, was)
    after, is_after_known = new.holdings(pair.after, now)
    sizes = [peak.size_bytes if peak is not None else 0 for peak in (was, now)]
    return PoolChange(
        phase=phase,
        chips=(pair.name,),
        state=pair.state,
        pool=pool,
        before_bytes=sizes[0],
        after_bytes=sizes[1],
        change_bytes=sizes[1] - sizes[0],
        is_alive_known=is_before_known and is_after_known,
        lines=tuple(line_changes(before, after)),
    )


def _fold(found: list[PoolChange], change: PoolChange) -> None:
    for at, other in enumerate(found):
        if replace(other, chips=change.chips) == change:
            found[at] = replace(other, chips=(*other.chips, *change.chips))
            return
    found.append(change)


class _Span(NamedTuple):
    """One run of a phase, CLOCK_MONOTONIC."""

    name: str
    began_ns: int
    ended_ns: int


def _phase_peaks(recording: Recording) -> dict[str, dict[_ChipPool, Peak]]:
    """By name of the phase: what every pool of every chip was at its highest within any of its runs."""
    spans = _spans(recording)
    cuts = sorted({at for span in spans for at in (span.began_ns, span.ended_ns)})
    stretches = sorted(recording.stretches(cuts), key=lambda one: one.from_ns) if len(cuts) > 1 else []
    starts = [one.from_ns for one in stretches]
    found: dict[str, dict[_ChipPool, Peak]] = defaultdict(dict)
    for span in spans:
        highest = found[span.name]
        for one in stretches[bisect_left(starts, span.began_ns) : bisect_left(starts, span.ended_ns)]:
            name = (one.chip, one.pool)
            if name not in highest or one.size_bytes > highest[name].size_bytes:
                highest[name] = Peak(one.chip, True, one.pool, one.size_bytes, one.segment, 0, False, one.from_ns)
    return dict(found)


def _spans(recording: Recording) -> list[_Span]:
    """All runs of all phases of all processes."""
    lives = Lives(recording, events=())
    for _ in lives.batches():
        pass
    last_ns = recording.last_ns
    return sorted(_Span(run.name, run.began_ns, run.ended_ns or last_ns) for run in lives.phases)
