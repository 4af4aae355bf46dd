"""A recording as a source of figures: what a monitor asks, answered of the moment at which a `ReplayClock` stands.

What no recording holds is not there: the driver's telemetry, and what processes take of the host.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from ttmem.collector.playback import Keys, Playback
from ttmem.collector.recorded import KeptIncidents
from ttmem.collector.recorded_history import RecordedHistory
from ttmem.errors import NothingToRead
from ttmem.figures.replay_clock import ReplayClock, ReplayMark
from ttmem.recording import Recording
from ttmem.recording.playing import PhaseBeginnings, grown
from ttmem.snapshot import Snapshot
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.history import History
from ttmem.snapshot.incidents import Incident, IncidentCopy
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import ProcessUsage
from ttmem.snapshot.values import replace

__all__ = ["RecordedFigures"]

_LOOK_SECONDS = 1.0  # between two looks at whether a recording has grown

_Name = tuple[int, int | None]  # of a process: its pid, and when it began


class RecordedFigures:
    """Figures of a recording. `overview` decides of which moment; what is asked until the next one is of the same."""

    def __init__(self, recording: Recording, clock: ReplayClock, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._looked_at = now()
        self.clock = clock
        keys = Keys()
        self._playback = Playback(recording, keys)
        self._history = RecordedHistory(recording, keys)
        self._phases = PhaseBeginnings()
        self._incidents = _Incidents(recording)
        self._take_up(recording, has_grown=False)

    @property
    def recording(self) -> Recording:
        """As far as it goes by now."""
        return self._playback.recording

    def __enter__(self) -> "RecordedFigures":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def overview(self) -> Snapshot:
        """Everything at the moment at which the clock stands now."""
        return self._moment(is_whole=False)

    def snapshot(self) -> Snapshot:
        """The same with all details of processes."""
        return self._moment(is_whole=True)

    def _moment(self, *, is_whole: bool) -> Snapshot:
        self._look_for_more()
        self._playback.go_to(self.clock.take())
        found = self._playback.overview("all" if is_whole else ())
        return replace(found, processes=self._incidents.added(found.processes, found.time_ns))

    def chip(self, word: str) -> ChipMap:
        return self._playback.chip(word)

    def kernels(self, word: str, most: int) -> KernelTable:
        return self._playback.kernels(word, most)

    def process(self, pid: int, *, key: int | None = None) -> ProcessDetail:
        found = self._playback.process(pid, key=key)
        [row] = self._incidents.added((found.process,), found.time_ns)
        return replace(found, process=row)

    def history(self, seconds: int) -> History:
        return self._history.history(self._playback.at_ns, seconds)

    def telemetry(self) -> tuple[ChipTelemetry, ...]:
        return ()

    def incident_copy(self, pid: int, number: int, *, key: int | None = None) -> IncidentCopy | None:
        return self._incidents.copy(pid, number)

    def reset_peaks(self) -> None:
        """Peaks of a recording stay as they were."""

    def _look_for_more(self) -> None:
        if self._now() - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = self._now()
        before = self._playback.recording
        after = grown(before)
        if after is not before:
            self._take_up(after, has_grown=after.last_ns > before.last_ns)

    def _take_up(self, recording: Recording, *, has_grown: bool) -> None:
        self._playback.take_up(recording)
        self._history.take_up(recording)
        self._incidents = _Incidents(recording)
        phases = [ReplayMark(time_ns, "phase", name) for time_ns, name in self._phases.of(recording)]
        marks = [*phases, *self._incidents.marks()]
        self.clock.grow(recording.last_ns, marks, has_grown=has_grown)


class _Incidents:
    """What was recorded of incidents, by the process they happened to."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._rows: Mapping[_Name, ProcessUsage] = {}
        try:
            self._kept: KeptIncidents | None = KeptIncidents(recording.path)
        except NothingToRead:
            self._kept = None
            return
        rows = self._kept.snapshot().processes
        self._rows = {(row.pid, row.start_ticks): row for row in rows if row.incidents}

    def added(self, rows: Sequence[ProcessUsage], time_ns: int) -> tuple[ProcessUsage, ...]:
        """Rows with the incidents that had happened by then."""
        return tuple(self._with_incidents(row, time_ns) for row in rows)

    def _with_incidents(self, row: ProcessUsage, time_ns: int) -> ProcessUsage:
        told = self._rows.get((row.pid, row.start_ticks))
        found: tuple[Incident, ...] = tuple(one for one in told.incidents if one.time_ns <= time_ns) if told else ()
        if not found and not row.incidents:
            return row
        return replace(row, incidents=found, incident_count=max((one.number for one in found), default=0))

    def copy(self, pid: int, number: int) -> IncidentCopy | None:
        for row in self._rows.values():
            if self._kept is not None and row.pid == pid and any(one.number == number for one in row.incidents):
                return self._kept.incident_copy(pid, number, key=row.key)
        return None

    def marks(self) -> list[ReplayMark]:
        return [
            ReplayMark(self._moment_of(one), "incident", f"{row.pid}-{one.number}")
            for row in self._rows.values()
            for one in row.incidents
        ]

    def _moment_of(self, incident: Incident) -> int:
        """It may be the last event, and clocks are rounded."""
        at_ns = self._recording.monotonic_ns(incident.time_ns)
        return min(max(at_ns, self._recording.first_ns), self._recording.last_ns)
