"""A recording as a trace for Perfetto (ui.perfetto.dev): counters per chip and pool with the fullest core, phases as
slices, launches and incidents as instants.

Packets stand behind each other, each one a field of the whole. Tracks are described once, before what happens on them:

    chip 0 ─┬─ DRAM of chip 0            model.py 4711 ─┬─ thread 4711: phases, launches
            ├─ L1 of chip 0                             ├─ incidents
            └─ fullest core of chip 0                   └─ not followed
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ttmem.collector.recorded import KeptIncidents, Moment
from ttmem.devices import Pool
from ttmem.errors import NothingToRead
from ttmem.export.protobuf import data, number, text
from ttmem.recording import Recording
from ttmem.recording.timeline import FULLEST_CORE, MOST_POINTS, Timeline, TimelineSeries, TimelineSpan
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.values import Device
from ttmem.view.texts import size_text

__all__ = ["PerfettoCounts", "write_perfetto"]

_REALTIME, _BOOTTIME = 1, 6  # clocks
_BEGIN, _END, _INSTANT = 1, 2, 3  # what an event is
_BYTES_UNIT = 3
_SEQUENCE = 1
_POOL_NAMES = {Pool.DRAM: "DRAM", Pool.TRACE: "trace", Pool.L1: "L1", Pool.L1_SMALL: "L1_SMALL"}
_TEXT_MOST = 400


class PerfettoCounts(NamedTuple):
    """What a trace has."""

    counter_count: int
    point_count: int
    slice_count: int
    instant_count: int
    slot_ns: int  # of how long the slots are of which three points were kept; 0: all are there
    is_core_sampled: bool  # whether some changes of the fullest core were passed over


class Tracks:
    """Descriptions of tracks, each with a number of its own."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._last = 0

    def add(self, name: str, *parts: bytes, parent: int = 0) -> int:
        """A new track; `parts` say of what kind."""
        self._last += 1
        above = number(5, parent) if parent else b""
        self._write(_packet(data(60, number(1, self._last), text(2, name), above, *parts)))
        return self._last

    def counter(self, name: str, parent: int) -> int:
        """A track of bytes."""
        return self.add(name, data(8, number(3, _BYTES_UNIT)), parent=parent)


class _Events:
    """Slices and instants, counted."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self.slice_count = self.instant_count = 0

    def instant(self, track: int, at_ns: int, name: str, notes: Iterable[bytes] = ()) -> None:
        self.instant_count += 1
        self._write(_event(at_ns, number(9, _INSTANT), number(11, track), text(23, name), *notes))

    def slices(self, track: int, spans: Iterable[TimelineSpan]) -> None:
        """Spans of one lane, each of which ends before or with those that it began in."""
        open_ends: list[int] = []
        for span in spans:
            while open_ends and open_ends[-1] <= span.began_ns:
                self._end(track, open_ends.pop())
            self._write(_event(span.began_ns, number(9, _BEGIN), number(11, track), text(23, span.name)))
            self.slice_count += 1
            open_ends.append(span.ended_ns)
        while open_ends:
            self._end(track, open_ends.pop())

    def _end(self, track: int, at_ns: int) -> None:
        self._write(_event(at_ns, number(9, _END), number(11, track)))


def write_perfetto(
    recording: Recording,
    write: Callable[[bytes], object],
    *,
    from_ns: int | None = None,
    until_ns: int | None = None,
    points: int = MOST_POINTS,
) -> PerfettoCounts:
    """Writes the trace of a recording, or of a time of it."""
    timeline = Timeline(recording, from_ns=from_ns, until_ns=until_ns, points=points)
    write(_clocks(recording, timeline.from_ns))
    tracks, events = Tracks(write), _Events(write)
    _write_counters(recording, timeline, tracks, write)
    _write_processes(recording, timeline, tracks, events, write)
    return PerfettoCounts(
        counter_count=len(timeline.series),
        point_count=timeline.point_count,
        slice_count=events.slice_count,
        instant_count=events.instant_count + timeline.shown_launch_count,
        slot_ns=timeline.slot_ns,
        is_core_sampled=timeline.core_look_count < timeline.core_change_count,
    )


def _clocks(recording: Recording, at_ns: int) -> bytes:
    """What the wall's clock was at one moment; all events have the clock since boot."""
    clocks = {_BOOTTIME: at_ns, _REALTIME: recording.wall_ns(at_ns)}
    said = (data(1, number(1, clock), number(2, time_ns)) for clock, time_ns in clocks.items())
    return _packet(data(6, *said, number(2, _BOOTTIME)), at_ns)


def _write_counters(recording: Recording, timeline: Timeline, tracks: Tracks, write: Callable[[bytes], object]) -> None:
    devices: dict[int, Device] = {one.device.unique_id: one.device for one in Moment(recording).snapshot.devices}
    numbered = sorted(enumerate(timeline.series), key=lambda one: _order(one[1], devices))
    for (chip, own_name), counters in groupby(numbered, key=lambda one: (one[1].chip, one[1].name)):
        name = own_name or _chip_name(devices.get(chip), chip)
        above = tracks.add(name)
        for place, series in counters:
            what = "fullest core" if series.pool == FULLEST_CORE else _POOL_NAMES[Pool.numbered(series.pool)]
            track = tracks.counter(f"{what} of {name}", above)
            for packets in timeline.counter_packets(place, track):
                write(packets)


def _order(series: TimelineSeries, devices: dict[int, Device]) -> tuple[int, int, str, int]:
    device = devices.get(series.chip)
    return (device.index if device and device.index is not None else 1 << 32, series.chip, series.name, series.pool)


def _chip_name(device: Device | None, chip: int) -> str:
    return f"chip {device.index}" if device is not None and device.index is not None else f"chip {chip:#x}"


def _write_processes(
    recording: Recording, timeline: Timeline, tracks: Tracks, events: _Events, write: Callable[[bytes], object]
) -> None:
    of_processes = [
        tracks.add(who.label or who.command, data(3, number(1, who.pid), text(6, who.label or who.command)))
        for who in timeline.processes
    ]
    of_threads = [_thread_track(timeline, tracks, of_processes, place) for place in range(len(timeline.tracks))]
    for place, found in groupby(sorted(timeline.phases, key=lambda span: span.track), key=lambda span: span.track):
        for lane, spans in enumerate(lanes(found)):
            above = of_processes[timeline.tracks[place].process]
            track = of_threads[place] if lane == 0 else tracks.add(f"phases {lane + 1}", parent=above)
            events.slices(track, spans)
    for packets in timeline.launch_packets(of_threads):
        write(packets)
    _write_gaps(timeline, tracks, events, of_processes)
    _write_incidents(recording, timeline, tracks, events, of_processes)


def _thread_track(timeline: Timeline, tracks: Tracks, of_processes: Sequence[int], place: int) -> int:
    number_of, thread = timeline.tracks[place]
    pid = timeline.processes[number_of].pid
    if not thread:
        return tracks.add("phases and launches", parent=of_processes[number_of])
    described = data(4, number(1, pid), number(2, thread), text(5, f"thread {thread}"))
    return tracks.add(f"thread {thread}", described, parent=of_processes[number_of])


def lanes(spans: Iterable[TimelineSpan]) -> list[list[TimelineSpan]]:
    """Spans in as few rows as it takes for each to lie within, or behind, all that began before it in its row."""
    rows: list[list[TimelineSpan]] = []
    open_ends: list[list[int]] = []
    for span in sorted(spans, key=lambda one: (one.began_ns, -one.ended_ns)):
        for ends in open_ends:
            while ends and ends[-1] <= span.began_ns:
                ends.pop()
        fitting = (place for place, ends in enumerate(open_ends) if not ends or span.ended_ns <= ends[-1])
        place = next(fitting, len(rows))
        if place == len(rows):
            rows.append([])
            open_ends.append([])
        rows[place].append(span)
        open_ends[place].append(span.ended_ns)
    return rows


def _write_gaps(timeline: Timeline, tracks: Tracks, events: _Events, of_processes: Sequence[int]) -> None:
    spans = [(gap.process, TimelineSpan(0, "not followed", gap.began_ns, gap.ended_ns)) for gap in timeline.gaps]
    for process, found in groupby(sorted(spans), key=lambda one: one[0]):
        events.slices(tracks.add("not followed", parent=of_processes[process]), [span for _, span in found])
    shown = [peak for peak in timeline.gap_peaks if timeline.from_ns <= peak.at_ns <= timeline.until_ns]
    if not shown:
        return
    track = tracks.add("peaks while not followed")
    for peak in shown:
        name = f"{Pool.numbered(peak.pool).word} {size_text(peak.size_bytes)}"
        notes = [_note("chip", f"{peak.chip:#x}"), _note("bytes", peak.size_bytes)]
        events.instant(track, peak.at_ns, name, notes)


def _write_incidents(
    recording: Recording, timeline: Timeline, tracks: Tracks, events: _Events, of_processes: Sequence[int]
) -> None:
    by_pid = {who.pid: track for who, track in zip(timeline.processes, of_processes, strict=True)}
    for pid, found in groupby(_incidents(recording), key=lambda one: one[0]):
        incidents = [(recording.monotonic_ns(incident.time_ns), incident) for _, incident in found]
        shown = [one for one in incidents if timeline.from_ns <= one[0] <= timeline.until_ns + 1_000_000]
        if not shown:
            continue
        track = tracks.add("incidents", parent=by_pid.get(pid, 0))
        for at_ns, incident in shown:
            events.instant(track, at_ns, f"{incident.kind.replace('_', ' ')}: {incident.memory}", _notes(incident))


def _incidents(recording: Recording) -> list[tuple[int, Incident]]:
    try:
        snapshot = KeptIncidents(recording.path).snapshot()
    except NothingToRead:
        return []
    return [(process.pid, incident) for process in snapshot.processes for incident in process.incidents]


def _notes(incident: Incident) -> Iterator[bytes]:
    for name, value in (
        ("number", incident.number),
        ("requested bytes", incident.requested_bytes),
        ("largest free bytes", incident.largest_free_bytes),
        ("operation", incident.operation),
        ("phase", incident.phase),
        ("text", incident.text[:_TEXT_MOST]),
    ):
        if value:
            yield _note(name, value)


def _note(name: str, value: int | str) -> bytes:
    return data(4, text(10, name), number(4, value) if isinstance(value, int) else text(6, value))


def _event(at_ns: int, *parts: bytes) -> bytes:
    return _packet(data(11, *parts), at_ns)


def _packet(content: bytes, at_ns: int = 0) -> bytes:
    time = number(8, at_ns) if at_ns else b""
    return data(1, time, number(10, _SEQUENCE), content)
