"""A recorded run that is asked several things: its chips and moments are found once."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ttmem.analysis.alive import BY_WORDS, ByWord, Entry, Phases, names_of
from ttmem.analysis.room.answers import RoomAnswer, RunTime
from ttmem.collector.recorded import KeptIncidents, Moment
from ttmem.collector.watched import Walk, walked
from ttmem.devices import Kind
from ttmem.errors import NothingToRead, SelectionError
from ttmem.recording import Batch, LifeProcess, Lives, Peak, PhaseRun, Recording
from ttmem.snapshot import DeviceUsage, ProcessUsage
from ttmem.snapshot.incidents import Incident, Site
from ttmem.snapshot.selection import device_test, known_devices
from ttmem.snapshot.values import ChipName, Device, TimeNs, place_of, replace

__all__ = ["LifeNames", "RoomRun", "Row", "Rows", "says_damage", "site_line"]

INSTANTS = 60
_PROGRAM_ZERO = 0xFFFF_FFFF_FFFF  # the program whose number is 0
_COLUMNS: dict[ByWord, str] = {word: word for word in BY_WORDS} | {"chip": "chips", "core": "core_set"}
_Key = TypeVar("_Key", bound=Hashable)
_Answer = TypeVar("_Answer", bound=RoomAnswer)
_Asked = ParamSpec("_Asked")

Row = Sequence[Any]


class RoomRun:
    """A recording, and which of its chips are meant (`chip` as for `ps -i`; none of them: a SelectionError)."""

    def __init__(self, recording: Recording, *, chip: str | None = None, instant_count: int = INSTANTS) -> None:
        self.recording = recording
        self._instant_count = instant_count
        self._walk: Walk | None = None
        self.usages = _chosen(Moment(recording).snapshot.devices, chip)  # by unique id, in their order
        self.incidents = _incidents(recording)  # all that were recorded, in their order

    @property
    def walk(self) -> Walk:
        """Through all of it, with instants evenly apart and those of incidents; gone once."""
        if self._walk is None:
            self._walk = self._walked()
        return self._walk

    def _walked(self) -> Walk:
        first, last = self.recording.first_ns, self.recording.last_ns
        steps = max(1, self._instant_count)
        times = {first + (last - first) * step // steps for step in range(1, steps + 1)}
        for _, incident in self.incidents:
            times.add(min(max(self.recording.monotonic_ns(incident.time_ns), first), last))
        return walked(self.recording, times)

    @property
    def instants_word(self) -> str:
        """How often it was looked at."""
        return f"{len(self.walk.instants)} instants, evenly apart and at incidents, and not between them"

    def device(self, unique_id: int) -> Device:
        return self.usages[unique_id].device

    def names(self, unique_ids: Iterable[int]) -> tuple[ChipName, ...]:
        return tuple(self.device(one).as_name() for one in unique_ids)

    def when(self, monotonic_ns: int) -> RunTime:
        since = TimeNs(max(0, monotonic_ns - self.recording.first_ns))
        return RunTime(TimeNs(self.recording.wall_ns(monotonic_ns)), since)

    def peak_moment(self, peak: Peak) -> Moment:
        return Moment(self.recording, peak=peak)

    def moment(self, at_ns: int) -> Moment:
        return Moment(self.recording, at_ns=at_ns)

    def grouped(self, keys: Mapping[int, _Key]) -> dict[_Key, list[int]]:
        """Chips that are meant and have the same."""
        groups: dict[_Key, list[int]] = {}
        for unique_id in self.usages:
            if unique_id in keys:
                groups.setdefault(keys[unique_id], []).append(unique_id)
        return groups

    def lives(self, **limits: Any) -> Lives:
        return Lives(self.recording, **limits)


def says_damage(
    report: Callable[Concatenate[RoomRun, _Asked], _Answer],
) -> Callable[Concatenate[RoomRun, _Asked], _Answer]:
    """Of a recording that cannot all be read, no answer is more than "at least"."""

    @wraps(report)
    def said(run: RoomRun, /, *args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
        answer, troubles = report(run, *args, **named), run.recording.troubles
        if not troubles:
            return answer
        why = f"a part of the recording cannot be read ({'; '.join(troubles)}); of the rest: {answer.why}"
        return replace(answer, certainty="at_least", why=why)

    return said


def _chosen(devices: Iterable[DeviceUsage], word: str | None) -> dict[int, DeviceUsage]:
    usages = sorted(devices, key=lambda usage: place_of(usage.device))
    if word is not None:
        is_meant = device_test(word)
        chosen = [usage for usage in usages if is_meant(usage.device)]
        if not chosen:
            raise SelectionError(f"no chip {word} in this recording; {known_devices(one.device for one in usages)}")
        usages = chosen
    return {usage.device.unique_id: usage for usage in usages}


def _incidents(recording: Recording) -> list[tuple[ProcessUsage, Incident]]:
    try:
        processes = KeptIncidents(recording.path).snapshot().processes
    except NothingToRead:
        return []
    found = [(process, one) for process in processes for one in process.incidents]
    return sorted(found, key=lambda one: one[1].time_ns)


class Rows:
    """What is alive at a moment, as entries that can be summed up."""

    def __init__(self, moment: Moment) -> None:
        self.moment = moment
        processes = [one for one in moment.snapshot.processes if one.is_live]
        self._phases = {key: Phases(spans) for key, spans in moment.phases.items()}
        self._labels = {one.key: f"{one.pid} {one.label or one.command}".strip() for one in processes}
        self.by_process: dict[int, Sequence[Row]] = {one.key: list(moment.allocations(one.key)) for one in processes}

    def entry(self, key: int, row: Row, size_bytes: int | None = None, *, chip: str = "", core: str = "") -> Entry:
        phases = self._phases.get(key, Phases(()))
        return Entry(row, self._labels.get(key, ""), phases, row[5] if size_bytes is None else size_bytes, chip, core)

    def on(self, device: int, pool: int) -> Iterable[tuple[int, Row]]:
        """All of one pool of one chip."""
        for key, rows in self.by_process.items():
            for row in rows:
                if row[3] == pool and device in row[0]:
                    yield key, row

    def named(self, sequence: int, device: int, by: Sequence[ByWord]) -> tuple[tuple[str, ...], int] | None:
        """What the life of that sequence is called, and its size in each bank; None if it is not there."""
        for key, rows in self.by_process.items():
            for row in rows:
                if row[13] == sequence and device in row[0]:
                    return names_of(self.entry(key, row), by), row[8]
        return None


class LifeNames:
    """What lives are called by some words, as `names_of` has it for rows. Each name is made once; lives are many."""

    def __init__(self, lives: Lives, by: Sequence[ByWord]) -> None:
        self._lives, self._by = lives, by
        self._columns = tuple(_COLUMNS[word] for word in by)
        self._names: dict[tuple[int, ...], tuple[str, ...]] = {}
        self._phases: list[PhaseRun] = []
        self._processes: list[LifeProcess] = []

    def key(self, batch: Batch, at: int) -> tuple[int, ...]:
        """What `names` wants of the life at some place of a batch."""
        return tuple([batch.lives[column][at] for column in self._columns])

    def names(self, key: tuple[int, ...]) -> tuple[str, ...]:
        """Once all is read."""
        if not self._processes:
            self._phases, self._processes = self._lives.phases, self._lives.processes
        if key not in self._names:
            self._names[key] = tuple(self._name(word, one) for word, one in zip(self._by, key, strict=True))
        return self._names[key]

    def _name(self, word: ByWord, number: int) -> str:
        match word:
            case "site":
                return "\n".join(self._lives.texts[number].split("\n")[:2])
            case "operation" | "tensor":
                return self._lives.texts[number]
            case "core":
                return self._lives.texts[number] or "every core"
            case "phase":
                return self._phases[number - 1].name if number else ""
            case "kind":
                return Kind.numbered(number).word.replace("_", " ")
            case "program":
                return f"program {number % _PROGRAM_ZERO}" if number else ""
            case "thread":
                return f"thread {number}" if number else ""
            case "chip":
                return ",".join(f"0x{one:016x}" for one in self._lives.chip_sets[number])
            case "process":
                process = self._processes[number]
                return f"{process.pid} {process.label or process.command}".strip()


def site_line(site: Site | None) -> str:
    """One line of who asked."""
    if site is None:
        return ""
    if site.frames:
        return f"{site.frames[0].file}:{site.frames[0].line}"
    return site.text_lines[0] if site.text else ""
