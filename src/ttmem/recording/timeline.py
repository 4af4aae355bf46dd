"""A recording as it goes over time, for viewers of traces: what every pool of a chip held, its fullest core, phases,
launches, and times in which a process could not be followed.

It is played through once. There are never more points than a viewer can take: then slots of time have three of each
figure, the lowest, the highest and the last, and launches of one program in one slot become one with their number.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ttmem import _native
from ttmem.errors import RecordingDamaged
from ttmem.recording.reader import Recording
from ttmem.recording.segments import EVENTS, NAMES, Segment

__all__ = [
    "FULLEST_CORE",
    "MOST_POINTS",
    "Gap",
    "Timeline",
    "TimelineGapPeak",
    "TimelineSeries",
    "TimelineSpan",
    "Track",
    "Who",
]

FULLEST_CORE = 10  # in place of a pool's number
MOST_POINTS = 5_000_000
_CHUNK = 65_536


class TimelineSeries(NamedTuple):
    """A pool of a chip, or its fullest core."""

    chip: int  # its unique id
    name: str  # of a chip that has none: `server:0`
    pool: int
    point_count: int
    highest_bytes: int
    highest_ns: int  # the first time it was


class Who(NamedTuple):
    """A process."""

    pid: int
    started_ns: int  # since 1970; 0: not known
    label: str
    command: str


class Track(NamedTuple):
    """A thread; 0: which one is not known, or it is the process as a whole."""

    process: int  # its place in `processes`
    thread: int


class TimelineSpan(NamedTuple):
    """A phase. Times are CLOCK_MONOTONIC; a phase that goes on ends with what is shown."""

    track: int
    name: str
    began_ns: int
    ended_ns: int


class Gap(NamedTuple):
    """A time in which a process could not be followed."""

    process: int
    began_ns: int
    ended_ns: int


class TimelineGapPeak(NamedTuple):
    """What a process's own counter says of such a time."""

    chip: int
    pool: int
    size_bytes: int
    at_ns: int


class Timeline:
    """A recording between two moments, in figures over time."""

    def __init__(
        self,
        recording: Recording,
        *,
        from_ns: int | None = None,
        until_ns: int | None = None,
        points: int = MOST_POINTS,
    ) -> None:
        self._recording = recording
        self.from_ns = recording.first_ns if from_ns is None else from_ns
        self.until_ns = recording.last_ns if until_ns is None else until_ns
        segments = self._segments()
        rows = sum(block.row_count for segment in segments for block in segment.blocks)
        self._native = _native.recording.Timeline(self.from_ns, self.until_ns, points, rows)
        self.gap_peaks: list[TimelineGapPeak] = []
        for segment in segments:
            try:
                self._play(segment)
            except ValueError as error:
                raise RecordingDamaged(f"{segment.path}: {error}") from None
        self.series = [TimelineSeries(*row) for row in self._native.series()]
        self.processes = [Who(*row) for row in self._native.processes()]
        self.gaps = [gap for row in self._native.gaps() if (gap := Gap(*row)).ended_ns >= self.from_ns]
        self.phases = [span for row in self._native.phases() if (span := self._shown(TimelineSpan(*row))) is not None]
        self.tracks = [Track(*row) for row in self._native.tracks()]
        counts = self._native.counts()
        self.point_count, self.slot_ns, self.shown_launch_count, self.launch_count = counts[:4]
        self.core_change_count, self.core_look_count = counts[4:]

    def counter_packets(self, series: int, track: int) -> Iterator[bytes]:
        """Its points, in Perfetto's form."""
        for first in range(0, self.series[series].point_count, _CHUNK):
            yield self._native.counter_packets(series, first, _CHUNK, track)

    def launch_packets(self, tracks: list[int]) -> Iterator[bytes]:
        """All launches, in Perfetto's form; `tracks`: the number of each of ours there."""
        for first in range(0, self.shown_launch_count, _CHUNK):
            yield self._native.launch_packets(first, _CHUNK, tracks)

    def _segments(self) -> list[Segment]:
        """Those that have to do with what is asked for: each begins with what was alive."""
        spans = [_span(segment) for segment in self._recording.segments]
        first = next((number for number, (_, last) in enumerate(spans) if last >= self.from_ns), len(spans) - 1)
        if first and spans[first][0] > self.from_ns:
            first -= 1  # what was alive then holds until the next one
        end = max((number for number, (begin, _) in enumerate(spans) if begin <= self.until_ns), default=first)
        return self._recording.segments[first : max(first, end) + 1]

    def _play(self, segment: Segment) -> None:
        ledger = _native.Ledger()
        replay = _native.recording.Replay(ledger)
        self._native.begin_segment()
        for block in segment.blocks:
            if block.kind == NAMES:
                replay.read_names(segment.plain(block))
        for place in _playable(segment):
            block = segment.blocks[place]
            if self._native.play(ledger, replay, segment.plain(block), segment.horizon_ns(place)):
                break
            self._recording.on_read(block.row_count if block.kind == EVENTS else 0)
        self._native.end_segment(ledger, min(replay.time_ns() or self.from_ns, self.until_ns))
        self.gap_peaks += [
            TimelineGapPeak(chip, pool, size_bytes, self._recording.monotonic_ns(time_ns))
            for _, chips, pool, size_bytes, time_ns in replay.gap_peaks()
            for chip in chips
        ]

    def _shown(self, span: TimelineSpan) -> TimelineSpan | None:
        """As far as it is in the time that is asked for."""
        began, ended = max(span.began_ns, self.from_ns), min(span.ended_ns or self.until_ns, self.until_ns)
        return span._replace(began_ns=began, ended_ns=ended) if began <= ended else None


def _span(segment: Segment) -> tuple[int, int]:
    """The times of its first and last event; of one without any, such that it is never the first to be read."""
    return segment.first_ns, segment.last_ns


def _playable(segment: Segment) -> list[int]:
    """Places of blocks."""
    start = next((at for at, block in enumerate(segment.blocks) if block.is_start), None)
    if start is None:
        raise RecordingDamaged(f"{segment.path}: expected a keyframe at its beginning, found none")
    return [place for place in range(start, len(segment.blocks)) if segment.blocks[place].kind != NAMES]
