"""Reads a recording, also one that goes on, was cut off, or is damaged in places. It never writes into it.

A peak is found by the heads of blocks, which say how high every pool was within; then one block is gone through. What
was alive at a moment follows from the keyframe before it and the blocks between.
"""

import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ttmem import _native
from ttmem.errors import RecordingDamaged
from ttmem.recording.meta import SEALED, SEGMENT, Meta, read_meta
from ttmem.recording.sealing import plain_block, segment_numbers

__all__ = ["CorePeak", "Peak", "PeakStretch", "RecordedBlock", "Recording", "Segment"]

NAMES, EVENTS, KEYFRAME = 1, 2, 3
_FIRST_PART = 1
_FULLEST_CORE = 64  # in place of a pool
_LATE_MOST_NS = 1_000_000_000  # how far rows of one process may stand behind later ones of another: replay.hpp


class Balance(NamedTuple):
    """A pool of a chip within a block."""

    chip: int  # its unique id
    is_known: bool  # False: `chip` is only a number
    pool: int
    start_bytes: int
    highest_bytes: int
    is_of_gap: bool  # by the counter of a process that could not be followed: what was alive then is not known


class RecordedBlock(NamedTuple):
    """One block, by its head."""

    offset: int
    size: int
    kind: int
    parts: int
    codec: int
    row_count: int
    first_ns: int  # CLOCK_MONOTONIC
    last_ns: int
    wall_offset_ns: int
    lost_records: int
    segment: int
    number: int
    balances: tuple[Balance, ...]
    cores: tuple[Balance, ...] = ()  # of the fullest core of each chip; it was never higher, but may have been lower

    @property
    def is_start(self) -> bool:
        """A moment from which one can begin to read."""
        return self.kind == KEYFRAME and bool(self.parts & _FIRST_PART)


class Segment:
    """One file, with all blocks up to the first that is not as it was written; `trouble` says what is wrong there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # it may be packed, and removed, while we read
        weakref.finalize(self, os.close, self._file)
        heads, self.trouble = _native.recording.scan(str(path))
        self.blocks = [_block(head) for head in heads]

    @property
    def number(self) -> int:
        return int(self.path.name.partition(".")[0])

    def has_grown(self) -> bool:
        """Whether there is more behind its last block."""
        return bool(self.blocks) and os.fstat(self._file).st_size > self.blocks[-1].offset + self.blocks[-1].size

    def plain(self, block: RecordedBlock) -> bytes:
        """Its bytes, unpacked. A damaged block is a ValueError."""
        return plain_block(os.pread(self._file, block.size, block.offset), block.codec)


def _ignore(row_count: int) -> None:
    """Who does not ask how far it is."""


def _block(head: Sequence[Any]) -> RecordedBlock:
    balances = [Balance(*one) for one in head[-1]]
    pools = tuple(one for one in balances if one.pool != _FULLEST_CORE)
    return RecordedBlock._make((*head[:-1], pools, tuple(one for one in balances if one.pool == _FULLEST_CORE)))


class Peak(NamedTuple):
    """The highest that a pool of a chip was, and in which block that is."""

    chip: int
    is_known: bool
    pool: int
    size_bytes: int
    segment: int  # place in the recording
    block: int  # place in the segment
    is_of_gap: bool
    from_ns: int = 0  # CLOCK_MONOTONIC: the highest since then; 0: of all


class CorePeak(NamedTuple):
    """The highest that a core of a chip was, as it was measured: behind some rows of a block."""

    chip: int
    size_bytes: int  # with the kernel ring
    core: tuple[int, int] | None  # its x and y; None: no core differed from the others
    time_ns: int  # CLOCK_MONOTONIC
    segment: int
    block: int
    row_count: int


class Recording:
    """A recording by its path. What is no recording is a RecordingDamaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.on_read: Callable[[int], None] = _ignore  # told how many events were gone through
        self.meta: Meta = read_meta(path)
        self.segments = [segment for number in segment_numbers(path) if (segment := _segment(path, number)).blocks]
        if not self.segments:
            raise RecordingDamaged(f"{path}: nothing was recorded yet: no segment has a whole block")

    @property
    def blocks(self) -> Iterator[tuple[int, int, RecordedBlock]]:
        """All blocks with their places."""
        for number, segment in enumerate(self.segments):
            for place, block in enumerate(segment.blocks):
                yield number, place, block

    @property
    def troubles(self) -> list[str]:
        """What of it cannot be read."""
        return [f"{segment.path.name}: {segment.trouble}" for segment in self.segments if segment.trouble]

    @property
    def row_count(self) -> int:
        return sum(block.row_count for _, _, block in self.blocks if block.kind == EVENTS)

    @property
    def lost_record_count(self) -> int:
        return max(block.lost_records for _, _, block in self.blocks)

    @property
    def size_bytes(self) -> int:
        return sum(block.size for _, _, block in self.blocks)

    @property
    def first_ns(self) -> int:
        """CLOCK_MONOTONIC of the first event; without any, of its beginning."""
        found = [block.first_ns for _, _, block in self.blocks if block.kind == EVENTS and block.first_ns]
        return min(found, default=self._began_ns)

    @property
    def last_ns(self) -> int:
        return max((block.last_ns for _, _, block in self.blocks if block.kind == EVENTS), default=self._began_ns)

    @property
    def _began_ns(self) -> int:
        return self.meta.began_ns - self.segments[0].blocks[0].wall_offset_ns

    def wall_ns(self, monotonic_ns: int) -> int:
        """By the clock of that moment: of the last block that had begun by then."""
        offset = 0
        for _, _, block in self.blocks:
            if offset and block.kind == EVENTS and block.first_ns > monotonic_ns:
                break
            offset = block.wall_offset_ns or offset
        return monotonic_ns + offset

    def monotonic_ns(self, wall_ns: int) -> int:
        """The first moment that had that wall-clock time."""
        events = [block for _, _, block in self.blocks if block.kind == EVENTS]
        for block in events:
            if wall_ns - block.wall_offset_ns <= block.last_ns:
                return wall_ns - block.wall_offset_ns
        return wall_ns - events[-1].wall_offset_ns if events else 0

    def peaks(self, from_ns: int | None = None, until_ns: int | None = None) -> list[Peak]:
        """Of every pool of every chip the highest, or the highest between two moments (CLOCK_MONOTONIC), where what was
        held at the first counts; of equal ones the first."""
        if from_ns is not None or until_ns is not None:
            return self._peaks_between(from_ns or 1, self.last_ns if until_ns is None else until_ns)
        found: dict[tuple[int, bool, int], Peak] = {}
        for number, place, block in self.blocks:
            for one in block.balances:
                name = (one.chip, one.is_known, one.pool)
                if one.highest_bytes > (found[name].size_bytes if name in found else 0):
                    found[name] = Peak(*name, one.highest_bytes, number, place, one.is_of_gap)
        return list(found.values())

    def _peaks_between(self, from_ns: int, until_ns: int) -> list[Peak]:
        found: dict[tuple[int, int], Peak] = {}
        for one in self.stretches([from_ns, until_ns]):
            name = (one.chip, one.pool)
            if name not in found or one.size_bytes > found[name].size_bytes:
                found[name] = Peak(one.chip, True, one.pool, one.size_bytes, one.segment, 0, False, from_ns)
        return list(found.values())

    def stretches(self, cuts: Sequence[int]) -> list["PeakStretch"]:
        """What every pool of every chip was at its highest between one moment and the next (CLOCK_MONOTONIC), with what
        it held at the first. A stretch that goes on in another segment is listed for each of them."""
        found: list[PeakStretch] = []
        for number, segment in enumerate(self.segments):
            times = [block for block in segment.blocks if block.kind == EVENTS and block.first_ns]
            if not times:
                continue
            first, last = min(block.first_ns for block in times), max(block.last_ns for block in times)
            inside = [at for at, end in pairwise(cuts) if end >= first and at <= last]
            if inside:
                found += self._stretches_in(number, [*inside, cuts[cuts.index(inside[-1]) + 1]])
        return found

    def _stretches_in(self, number: int, cuts: Sequence[int]) -> Iterator["PeakStretch"]:
        ledger = _native.Ledger()
        player = _Player(self, number, ledger, cuts[0])
        player.play(cuts[0])
        ledger.sample()
        for from_ns, until_ns in pairwise(cuts):
            player.play(until_ns)
            for _, chip, _, pools in ledger.sample()[1]:
                for pool, _, highest, _ in pools:
                    if chip is not None and highest:
                        yield PeakStretch(number, from_ns, until_ns, chip, pool, highest)

    def with_segments_from(self, number: int) -> "Recording":
        """The same recording, whose segments from that number on are read again."""
        fresh = copy(self)
        found = [_segment(self.path, one) for one in segment_numbers(self.path) if one >= number]
        kept = [one for one in self.segments if one.number < number or not found]
        fresh.segments = kept + [segment for segment in found if segment.blocks]
        return fresh

    def place_at(self, at_ns: int) -> tuple[int, int]:
        """The segment and the block in which a moment (CLOCK_MONOTONIC) lies."""
        return self._place_of(at_ns, None)

    def begin(
        self, ledger: _native.Ledger, number: int, place: int, until_ns: int | None = None
    ) -> "tuple[_native.recording.Replay, int]":
        """What plays a segment into an empty ledger, and the block to begin with for that at `place`."""
        segment = self.segments[number]
        start = _start_of(segment.blocks[: place + 1], until_ns)
        if start is None:
            raise RecordingDamaged(f"{segment.path}: expected a keyframe at its beginning, found none")
        replay = _native.recording.Replay(ledger)
        try:
            for block in segment.blocks[: place + 1]:
                if block.kind == NAMES:
                    replay.read_names(segment.plain(block))
        except ValueError as error:
            raise RecordingDamaged(f"{segment.path}: {error}") from None
        return replay, start

    def apply(
        self,
        replay: "_native.recording.Replay",
        ledger: _native.Ledger,
        number: int,
        place: int,
        **limits: Any,
    ) -> bool:
        """Plays one block, as far as limits say; whether it stopped there."""
        segment = self.segments[number]
        block = segment.blocks[place]
        try:
            is_there = replay.apply(ledger, segment.plain(block), **limits)
        except ValueError as error:
            raise RecordingDamaged(f"{segment.path}: {error}") from None
        if block.kind == EVENTS:
            self.on_read(replay.position() - limits.get("skip", 0))
        return is_there

    def play(
        self,
        ledger: _native.Ledger,
        *,
        until_ns: int | None = None,
        peak: Peak | None = None,
        core: CorePeak | None = None,
    ) -> "_native.recording.Replay":
        """Brings a ledger, in which nothing is yet, to a moment: that of a time, of a peak, of a core's, or the end."""
        if peak is not None and peak.from_ns:
            return self._play_to(ledger, peak)
        number, place = (core.segment, core.block) if core is not None else self._place_of(until_ns, peak)
        if until_ns is not None:
            place = _last_place(self.segments[number].blocks, until_ns + _LATE_MOST_NS)
        replay, start = self.begin(ledger, number, place, until_ns)
        for at in range(start, place + 1):
            if self.segments[number].blocks[at].kind == NAMES:
                continue
            limits = {"until_ns": until_ns, "of_each": True} if until_ns is not None else {}
            if peak is not None and at >= peak.block and not peak.is_of_gap:
                limits |= {"chip": peak.chip, "pool": peak.pool, "bytes": peak.size_bytes}
            if core is not None and at == core.block:
                limits["rows"] = core.row_count
            if self.apply(replay, ledger, number, at, **limits):
                break
        return replay

    def _play_to(self, ledger: _native.Ledger, peak: Peak) -> "_native.recording.Replay":
        """To a peak since a moment; before, it may have been higher."""
        player = _Player(self, peak.segment, ledger, peak.from_ns)
        player.play(peak.from_ns)
        held = {(chip, pool): used for _, chip, _, pools in ledger.sample()[1] for pool, used, *_ in pools}
        if held.get((peak.chip, peak.pool), 0) < peak.size_bytes:
            player.play(None, peak)
        return player.replay

    def _place_of(self, until_ns: int | None, peak: Peak | None) -> tuple[int, int]:
        if peak is not None:
            return peak.segment, _with_what_follows(self.segments[peak.segment].blocks, peak.block)
        last = len(self.segments) - 1
        if until_ns is None:
            return last, len(self.segments[last].blocks) - 1
        number = 0
        for at, segment in enumerate(self.segments):
            events = [block for block in segment.blocks if block.kind == EVENTS]
            if events and events[0].first_ns <= until_ns:
                number = at
        return number, _last_place(self.segments[number].blocks, until_ns)


class PeakStretch(NamedTuple):
    """A pool of a chip at its highest between two moments of a segment."""

    segment: int
    from_ns: int
    until_ns: int
    chip: int
    pool: int
    size_bytes: int


class _Player:
    """A segment into an empty ledger, from the last keyframe before a moment on, and forward from moment to moment."""

    def __init__(self, recording: Recording, number: int, ledger: _native.Ledger, before_ns: int) -> None:
        self._recording, self._number, self._ledger = recording, number, ledger
        self._blocks = recording.segments[number].blocks
        self.replay, _ = recording.begin(ledger, number, len(self._blocks) - 1)
        self._at = _start_before(self._blocks, before_ns)
        self._skip = 0  # rows of the block at which it stands that were applied

    def play(self, until_ns: int | None, peak: Peak | None = None) -> None:
        """Up to a moment (None: the end), or until a pool of a chip is as high as a peak has it."""
        limits: dict[str, int] = {} if until_ns is None else {"until_ns": until_ns}
        if peak is not None:
            limits |= {"chip": peak.chip, "pool": peak.pool, "bytes": peak.size_bytes}
        while self._at < len(self._blocks):
            if self._blocks[self._at].kind != NAMES:
                place = (self._number, self._at)
                if self._recording.apply(self.replay, self._ledger, *place, **limits, skip=self._skip):
                    self._skip = self.replay.position()
                    return
            self._at += 1
            self._skip = 0


def _start_before(blocks: Sequence[RecordedBlock], time_ns: int) -> int:
    """The last keyframe before a moment; those on the way from there are skipped."""
    found: int | None = None
    for at, block in enumerate(blocks):
        if block.kind == EVENTS and block.last_ns > time_ns and found is not None:
            break
        if block.is_start:
            found = at
    return found or 0


def _start_of(blocks: list[RecordedBlock], until_ns: int | None) -> int | None:
    """The last keyframe to begin at. Rows before it may be later than some behind it: none may be beyond the moment."""
    start, latest_ns = None, 0
    for at, block in enumerate(blocks):
        if block.is_start and (start is None or until_ns is None or latest_ns <= until_ns):
            start = at
        if block.kind == EVENTS:
            latest_ns = max(latest_ns, block.last_ns)
    return start


def _last_place(blocks: list[RecordedBlock], until_ns: int) -> int:
    """The last block that has to do with a moment: of events, and what a gap that ended in it has left alive."""
    place = next((at for at, block in enumerate(blocks) if block.is_start), 0)
    for at, block in enumerate(blocks):
        if block.kind == EVENTS and block.first_ns <= until_ns:
            place = at
    return _with_what_follows(blocks, place)


def _with_what_follows(blocks: list[RecordedBlock], place: int) -> int:
    """With what a gap that ended there has left alive."""
    while place + 1 < len(blocks) and blocks[place + 1].kind != EVENTS and not blocks[place + 1].is_start:
        place += 1
    return place


def _segment(path: Path, number: int) -> Segment:
    """Packed or plain; it may be packed while we look."""
    for suffix in (SEALED, SEGMENT, SEALED):
        try:
            return Segment(path / f"{number:06}{suffix}")
        except FileNotFoundError:
            continue
    raise RecordingDamaged(f"{path}: segment {number} was removed while it was being read")
