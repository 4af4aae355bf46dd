"""A recording as lives: one row for each allocation, with its beginning and its end, and rows of what else happened.

    player = Lives(Recording(path))
    for batch in player.batches():      # a life comes when it ends; those that are alive come last
        for life in batch.rows():       # or batch.lives["bytes"], columns without an object for each row
            ...
    player.phases, player.processes     # what numbers in columns stand for

The native core decodes; what it keeps is what is alive. Times are nanoseconds of CLOCK_MONOTONIC; `Recording.wall_ns`
makes times of the wall of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum, IntFlag
from typing import Any, NamedTuple

from ttmem import _native
from ttmem.devices import Kind, Pool
from ttmem.errors import RecordingDamaged
from ttmem.recording.reader import Recording
from ttmem.recording.segments import EVENTS, KEYFRAME, NAMES, Segment

__all__ = [
    "EVENT_COLUMNS",
    "LIFE_COLUMNS",
    "Batch",
    "Ending",
    "EventKind",
    "Life",
    "LifeEvent",
    "LifeFlag",
    "LifeProcess",
    "Lives",
    "PhaseRun",
    "WantedLives",
]

# As in native/src/recording/lives/columns.hpp, which says what each is.
LIFE_COLUMNS = (
    *("process", "chips", "target", "kind", "pool", "id", "address", "bytes", "begin_bytes", "requested", "per_bank"),
    *("core_count", "core_set", "page_bytes", "layout", "begin_ns", "end_ns", "latest_end_ns", "ending", "flags"),
    *("thread", "site", "operation", "tensor", "program", "phase", "begin_sequence", "end_sequence", "begin_mark"),
    *("end_mark", "begin_launch", "end_launch"),
)
EVENT_COLUMNS = (
    *("kind", "process", "time_ns", "sequence", "thread", "target", "chips", "pool", "id", "value", "bytes", "name"),
)
_PROGRAM_ZERO = 0xFFFF_FFFF_FFFF  # the program whose number is 0
_TEXT_PLACES = tuple(LIFE_COLUMNS.index(name) for name in ("core_set", "site", "operation", "tensor"))
_PROGRAM = LIFE_COLUMNS.index("program")
_BATCH_ROWS = 50_000

Column = Sequence[int]


class Ending(IntEnum):
    """How a life ended."""

    FREED = 0
    REPLACED = 1  # by another of its id
    DEVICE_CLOSED = 2
    PROCESS_ENDED = 3
    LOST = 4  # between `end_ns` and `latest_end_ns` (0: nobody knows), while its process was not followed
    ALIVE = 5  # at the end of what was read


class LifeFlag(IntFlag):
    """What else is to be said of a life."""

    WAS_LOST = 1
    IS_PART = 2  # not the first part of a buffer that is allocated by core
    IS_VIEW = 4  # belongs to another life: charged 0
    IS_ESTIMATED = 8
    IS_BY_CORE = 16  # `per_bank` are bytes on each of its cores
    WAS_FOUND = 32  # its beginning was not recorded
    IS_TEMPORARY = 64  # freed before its thread allocated again in that pool of that target
    IS_UNCOUNTED = 128  # its process is another way of one that counts already


class EventKind(IntEnum):
    """What happened; what `id`, `value`, `bytes` and `name` say then is in columns.hpp."""

    LAUNCHED = 0
    PHASE_BEGAN = 1
    PHASE_ENDED = 2
    TRACE_CAPTURED = 3
    TRACE_REPLAYED = 4
    TRACE_RELEASED = 5
    INCIDENT = 6
    OUT_OF_MEMORY = 7
    CLASHED = 8
    TARGET_OPENED = 9
    TARGET_CLOSED = 10
    GAP_BEGAN = 11
    GAP_ENDED = 12
    GAP_PEAKED = 13
    PROCESS_BEGAN = 14
    PROCESS_ENDED = 15
    LEFT = 16
    REJOINED = 17
    RESIZED = 18
    PROGRAM_NAMED = 19


class WantedLives(IntEnum):
    """Which lives are put out: fewer are faster."""

    ALL = 0
    LASTING = 1  # that outlast the end of a phase, or that were not freed
    NONE = 2


class LifeProcess(NamedTuple):
    """A process; it is the same one in all segments."""

    pid: int
    start_ticks: int
    started_ns: int  # since 1970
    pid_namespace: int
    uid: int
    is_socket: bool  # reports by the allocation server's protocol
    is_visible: bool
    label: str
    command: str
    ended_ns: int  # 0: not before the end of what was read
    known_until_ns: int
    gap_count: int  # how often it could not be followed
    is_lost: bool  # at the end of what was read
    is_counted: bool  # False: it reports by another way that counts already
    was_found: bool  # it was running before it was recorded
    phase_end_count: int
    launch_count: int


class PhaseRun(NamedTuple):
    """One run of a phase."""

    process: int
    name: str
    run: int  # which of that name in its process, from 1
    parent: int  # number of the phase around it, 0: none
    thread: int
    began_ns: int
    ended_ns: int  # 0: it was not over
    began_sequence: int
    ended_sequence: int
    end_mark: int  # how many phases of its process had ended before this one
    is_unsure: bool  # it ended, or was found, while its process was not followed


class Life(NamedTuple):
    """One allocation. Texts and chips are resolved; `begin_mark` and others are as in the column."""

    process: int
    chips: tuple[int, ...]  # unique ids; empty: not known
    target: int
    kind: Kind
    pool: Pool
    id: int
    address: int
    bytes: int  # on each of its chips, at its end
    begin_bytes: int
    requested: int
    per_bank: int
    core_count: int
    core_set: str
    page_bytes: int
    layout: int
    begin_ns: int
    end_ns: int  # 0: it is alive
    latest_end_ns: int
    ending: Ending
    flags: LifeFlag
    thread: int
    site: str
    operation: str
    tensor: str
    program: int | None
    phase: int  # number of `Lives.phases`, from 1; 0: none was open when it began
    begin_sequence: int
    end_sequence: int
    begin_mark: int
    end_mark: int
    begin_launch: int
    end_launch: int


class LifeEvent(NamedTuple):
    """Anything else that happened."""

    kind: EventKind
    process: int
    time_ns: int
    sequence: int
    thread: int
    target: int
    chips: tuple[int, ...]
    pool: Pool
    id: int
    value: int
    bytes: int
    name: str


class Batch:
    """Some lives that ended, and what happened meanwhile: columns of numbers by name."""

    def __init__(self, lives: Sequence[bytes], events: Sequence[bytes], tables: "Lives") -> None:
        self.lives: Mapping[str, Column] = _columns(LIFE_COLUMNS, lives)
        self.events: Mapping[str, Column] = _columns(EVENT_COLUMNS, events)
        self._tables = tables

    @property
    def life_count(self) -> int:
        return len(self.lives["process"])

    @property
    def event_count(self) -> int:
        return len(self.events["kind"])

    def rows(self) -> Iterator[Life]:
        """The lives with what their numbers stand for."""
        texts, chips = self._tables.texts, self._tables.chip_sets
        for row in zip(*self.lives.values(), strict=True):
            its: list[Any] = list(row)
            its[1] = chips[row[1]]
            its[3], its[4] = Kind.numbered(row[3]), Pool.numbered(row[4])
            its[18], its[19] = Ending(row[18]), LifeFlag(row[19])
            for place in _TEXT_PLACES:
                its[place] = texts[row[place]]
            its[_PROGRAM] = None if row[_PROGRAM] == 0 else row[_PROGRAM] % _PROGRAM_ZERO
            yield Life._make(its)

    def event_rows(self) -> Iterator[LifeEvent]:
        """The events in their order, which is also the order of beginnings and ends by their sequences in a process."""
        texts, chips = self._tables.texts, self._tables.chip_sets
        for kind, process, time_ns, sequence, thread, target, its, pool, *rest, name in zip(
            *self.events.values(), strict=True
        ):
            place = (process, time_ns, sequence, thread, target, chips[its], Pool.numbered(pool))
            yield LifeEvent._make((EventKind(kind), *place, *rest, texts[name]))


def _columns(names: Sequence[str], columns: Sequence[bytes]) -> dict[str, Column]:
    """Numbers, where they are: nothing is copied."""
    return {name: memoryview(one).cast("Q") for name, one in zip(names, columns, strict=True)}


class Lives:
    """Plays a recording, or the part from `from_ns` to `until_ns` (CLOCK_MONOTONIC): lives that ended before are left
    out, those that began before are not. `events`: which kinds are wanted; all."""

    def __init__(
        self,
        recording: Recording,
        *,
        from_ns: int = 0,
        until_ns: int | None = None,
        events: Iterable[EventKind] | None = None,
        wanted: WantedLives = WantedLives.ALL,
    ) -> None:
        self.recording = recording
        self._from_ns = from_ns
        mask = sum(1 << kind for kind in (EventKind if events is None else set(events)))
        limits = {"until_ns": until_ns} if until_ns is not None else {}
        self._native = _native.recording.Lives(from_ns=from_ns, events=mask, wanted=wanted, **limits)
        self._texts: list[str] = []
        self._chip_sets: list[tuple[int, ...]] = []

    @property
    def texts(self) -> Sequence[str]:
        """What sites, operations, tensors, core sets and names of events stand for."""
        self._texts += self._native.texts(len(self._texts))
        return self._texts

    @property
    def chip_sets(self) -> Sequence[tuple[int, ...]]:
        """Unique ids of chips; number 0 is the empty one."""
        self._chip_sets += self._native.chip_sets(len(self._chip_sets))
        return self._chip_sets

    @property
    def processes(self) -> list[LifeProcess]:
        """By number, as far as was read."""
        return [LifeProcess._make(row) for row in self._native.processes()]

    @property
    def phases(self) -> list[PhaseRun]:
        """Number n stands at place n - 1; as far as was read."""
        texts = self.texts
        return [PhaseRun._make((process, texts[name], *rest)) for process, name, *rest in self._native.phases()]

    @property
    def chips(self) -> list[tuple[int, int, str, str, int, int, int, int, int, tuple[int, ...]]]:
        """What processes said of chips: (unique id, index, arch, board, grid x, y, DRAM banks, L1 banks, kernel ring
        bytes, capacity by pool)."""
        return self._native.chips()

    @property
    def alive_count(self) -> int:
        return self._native.alive_count()

    def batches(self, row_count: int = _BATCH_ROWS) -> Iterator[Batch]:
        """Some `row_count` lives and events at a time; once. What cannot be read is a RecordingDamaged."""
        first = self._first_segment()
        for segment in self.recording.segments[first:]:
            self._native.begin_segment()
            start = self._first_block(segment) if segment is self.recording.segments[first] else 0
            for place, block in enumerate(segment.blocks):
                if block.kind != NAMES and place < start:
                    continue
                has_stopped = self._apply(segment, place)
                self.recording.on_read(block.row_count if block.kind == EVENTS else 0)
                if self._native.life_count() + self._native.event_count() >= row_count:
                    yield self._take()
                if has_stopped:
                    break
            else:
                continue
            break
        self._native.finish()
        yield self._take()

    def rows(self) -> Iterator[Life]:
        """All lives."""
        for batch in self.batches():
            yield from batch.rows()

    def _take(self) -> Batch:
        return Batch(self._native.take_lives(), self._native.take_events(), self)

    def _apply(self, segment: Segment, place: int) -> bool:
        block = segment.blocks[place]
        try:
            if block.kind == NAMES:
                self._native.read_names(segment.plain(block))
                return False
            return self._native.apply(segment.plain(block))
        except ValueError as error:
            raise RecordingDamaged(f"{segment.path}: block {place}: {error}") from None

    def _first_segment(self) -> int:
        """The last that begins before the range does."""
        found = 0
        for number, segment in enumerate(self.recording.segments):
            events = [block.first_ns for block in segment.blocks if block.kind == EVENTS and block.first_ns]
            if events and events[0] <= self._from_ns:
                found = number
        return found

    def _first_block(self, segment: Segment) -> int:
        """The last keyframe of all before the range begins."""
        found, is_before = 0, True
        for place, block in enumerate(segment.blocks):
            is_before = is_before and (block.kind != EVENTS or block.last_ns < self._from_ns)
            if is_before and block.kind == KEYFRAME and block.is_start:
                found = place
        return found
