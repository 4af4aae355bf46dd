"""The history of a recording up to a moment: what a living collector would have sampled, second by second.

The seconds before the moment are played, and a sample is taken at the end of each. Going on takes the seconds in
between; going back begins from the start of the stretch.
"""

from typing import Any

from ttmem.collector.history import HistoryRecorder
from ttmem.collector.playback import Keys, Playback
from ttmem.collector.rates import RatesRecorder
from ttmem.recording import Recording
from ttmem.snapshot import Snapshot
from ttmem.snapshot.history import History
from ttmem.snapshot.values import TimeNs, replace

__all__ = ["RecordedHistory"]

_SECOND_NS = 1_000_000_000


class RecordedHistory:
    """The seconds before a moment, as the history of a living collector has them: whole seconds up to that moment."""

    def __init__(self, recording: Recording, keys: Keys) -> None:
        self._recording = recording
        self._keys = keys
        self._playback: Playback | None = None
        self._recorder: HistoryRecorder | None = None
        self._began_ns = self._shift_ns = self._wall_ns = self._told_ns = 0
        self._lost: dict[int, int] = {}  # by process: records lost up to the last sample
        self._is_leaping = False  # into another ledger, which counts launches from 0

    def take_up(self, recording: Recording) -> None:
        """The same recording, grown."""
        self._recording = recording
        if self._playback is not None:
            self._playback.take_up(recording)

    def history(self, at_ns: int, seconds: int) -> History:
        """The last `seconds` before a moment (CLOCK_MONOTONIC)."""
        wall_ns = self._recording.wall_ns(at_ns)
        shift_ns = wall_ns - at_ns
        last = wall_ns - wall_ns % _SECOND_NS - 1  # the end of the last whole second
        first_ns = max(self._recording.first_ns, last - shift_ns - seconds * _SECOND_NS)
        is_stepped = abs(shift_ns - self._shift_ns) > _SECOND_NS // 10
        if self._recorder is None or is_stepped or self._wall_ns > wall_ns or self._began_ns > first_ns:
            self._begin(first_ns, shift_ns)
        assert self._recorder is not None
        while self._wall_ns + _SECOND_NS <= last:
            self._take(self._wall_ns + _SECOND_NS)
        if self._wall_ns >= first_ns + shift_ns:
            return self._recorder.history(seconds)
        recorder = self._recorder  # not one whole second yet: next time it begins again
        self._take(wall_ns)
        self._recorder = None
        return recorder.history(seconds)

    def _begin(self, first_ns: int, shift_ns: int) -> None:
        self._began_ns, self._shift_ns = first_ns, shift_ns
        wall_ns = first_ns + shift_ns
        self._wall_ns = wall_ns - wall_ns % _SECOND_NS - 1
        self._told_ns = 0
        self._playback = Playback(self._recording, self._keys, has_all_counts=False)
        self._recorder = HistoryRecorder(
            self._sample,
            lambda: (),
            lambda: self._wall_ns,
            self._overview,
            RatesRecorder(stat=lambda pid: None),
        )

    def _take(self, wall_ns: int) -> None:
        """A sample of the second that ends there."""
        assert self._playback is not None
        assert self._recorder is not None
        is_fresh = self._playback.go_to(max(wall_ns - self._shift_ns, self._recording.first_ns))
        self._is_leaping = is_fresh and self._told_ns != 0
        self._wall_ns = wall_ns
        self._recorder.take_due()

    def _sample(self) -> tuple[Any, ...]:
        """As `Ledger.sample`, with the keys of screens; what a keyframe repeats of phases is left out."""
        assert self._playback is not None
        time_ns, chips, processes, events = self._playback.ledger.sample()
        keys = self._playback.raw_processes()
        processes = tuple((keys.get(row[0], -row[0]), *row[1:]) for row in processes)
        fresh = tuple((keys.get(row[0], -row[0]), *row[1:]) for row in events if row[5] > self._told_ns)
        self._told_ns = self._wall_ns
        return time_ns, chips, processes, fresh

    def _overview(self) -> Snapshot:
        assert self._playback is not None
        found = replace(self._playback.overview(), time_ns=TimeNs(self._wall_ns))
        before, self._lost = self._lost, {row.key: row.lost_record_count for row in found.processes}
        gone = {row.key for row in found.processes if row.lost_record_count > before.get(row.key, 0)}
        chips = {number for row in found.processes if row.key in gone for number in row.chips}
        devices = tuple(
            replace(usage, launch_count=None) if self._is_leaping or usage.device.number in chips else usage
            for usage in found.devices
        )
        processes = tuple(
            replace(row, launch_count=None) if self._is_leaping or row.key in gone else row for row in found.processes
        )
        return replace(found, devices=devices, processes=processes)
