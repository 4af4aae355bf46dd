"""Plays a recording on: from where it stands if that is before, else from a keyframe.

A step of a second then costs what happened in that second; a leap costs at most about a million rows, however long the
recording is. A recording that goes on is taken up by `grown`.
"""

from collections.abc import Callable, Sequence

from ttmem import _native
from ttmem.errors import RecordingDamaged
from ttmem.recording.reader import Recording
from ttmem.recording.sealing import segment_numbers
from ttmem.recording.segments import EVENTS, NAMES, RecordedBlock, Segment

__all__ = ["PhaseBeginnings", "RecordingPlayer", "grown"]

_ROWS_MOST = 1 << 20  # are played where a keyframe would do: what keyframes do not say, as launches, stays exact


class RecordingPlayer:
    """Where a recording stands, and the ledger that it was played into."""

    def __init__(self, recording: Recording, new_ledger: Callable[[], _native.Ledger]) -> None:
        self.recording = recording  # may be replaced by the same one, grown
        self._new_ledger = new_ledger
        self._segment = -1
        self._at_ns = 0
        self._start = self._block = 0  # the keyframe that it began with, and the block that comes next
        self._names_read = 0
        self.ledger = new_ledger()
        self.replay = _native.recording.Replay(self.ledger)
        self.is_from_beginning = False  # of all that was recorded

    def go_to(self, at_ns: int) -> bool:
        """To a moment (CLOCK_MONOTONIC). Whether the ledger is another one now, in which keys are others."""
        segment, block = self.recording.place_at(at_ns)
        blocks = self.recording.segments[segment].blocks
        is_fresh = self._is_elsewhere(segment, at_ns, blocks[self._block : block + 1])
        if is_fresh:
            self._begin(segment, _start(self.recording.segments[segment], block))
        self._at_ns = at_ns
        try:
            self._play(self.recording.segments[segment], block)
        except ValueError as error:
            self._segment = -1
            raise RecordingDamaged(f"{self.recording.segments[segment].path}: {error}") from None
        return is_fresh

    def _is_elsewhere(self, segment: int, at_ns: int, between: list[RecordedBlock]) -> bool:
        if segment != self._segment or at_ns < self._at_ns:
            return True
        return sum(block.row_count for block in between) > _ROWS_MOST and any(one.is_start for one in between[1:])

    def _begin(self, segment: int, start: int) -> None:
        self.ledger = self._new_ledger()
        self.replay = _native.recording.Replay(self.ledger)
        self._segment, self._start, self._block, self._names_read = segment, start, start, 0
        blocks = self.recording.segments[segment].blocks
        self.is_from_beginning = segment == 0 and not any(block.is_start for block in blocks[:start])

    def _play(self, segment: Segment, last: int) -> None:
        """Events of a block that are later than the moment wait for the next one."""
        for block in segment.blocks[self._names_read : last + 1]:
            if block.kind == NAMES:
                self.replay.read_names(segment.plain(block))
        self._names_read = max(self._names_read, last + 1)
        if self._block > self._start:
            self.replay.play(self.ledger, segment.horizon_ns(self._block - 1), until_ns=self._at_ns)
        while self._block <= last:
            block, horizon_ns = segment.blocks[self._block], segment.horizon_ns(self._block)
            self._block += 1
            if block.kind != NAMES:
                self.replay.take(self.ledger, segment.plain(block))
                self.replay.play(self.ledger, horizon_ns, until_ns=self._at_ns)


def _start(segment: Segment, last: int) -> int:
    """The first keyframe from which it is not too far."""
    starts = [at for at, block in enumerate(segment.blocks[: last + 1]) if block.is_start]
    if not starts:
        raise RecordingDamaged(f"{segment.path}: expected a keyframe at its beginning, found none")
    near = (at for at in starts if sum(block.row_count for block in segment.blocks[at : last + 1]) <= _ROWS_MOST)
    return next(near, starts[-1])


def grown(recording: Recording) -> Recording:
    """The recording with what was written since; the same object if nothing was. Segments that were dropped meanwhile
    stay readable."""
    last = recording.segments[-1]
    numbers = [number for number in segment_numbers(recording.path) if number > last.number]
    if not numbers and not last.has_grown():
        return recording
    return recording.with_segments_from(last.number)


class PhaseBeginnings:
    """When phases begin, and their names, block by block, as far as it was read."""

    def __init__(self) -> None:
        self._found: list[tuple[int, str]] = []
        self._segment, self._block = -1, 0
        self._replay = _native.recording.Replay(_native.Ledger())

    def of(self, recording: Recording) -> Sequence[tuple[int, str]]:
        """All of them, by CLOCK_MONOTONIC; only blocks that were not there before are read."""
        for segment in recording.segments:
            if segment.number < self._segment:
                continue
            if segment.number > self._segment:
                self._segment, self._block = segment.number, 0
                self._replay = _native.recording.Replay(_native.Ledger())
            try:
                for block in segment.blocks[self._block :]:
                    self._take(segment, block)
            except ValueError as error:
                raise RecordingDamaged(f"{segment.path}: {error}") from None
            self._block = len(segment.blocks)
        return self._found

    def _take(self, segment: Segment, block: RecordedBlock) -> None:
        if block.kind == NAMES:
            self._replay.read_names(segment.plain(block))
        elif block.kind == EVENTS:
            moments = self._replay.phase_moments(segment.plain(block))
            self._found += [(time_ns, name) for time_ns, is_begin, _, name in moments if is_begin]
