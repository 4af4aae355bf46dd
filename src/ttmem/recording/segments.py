"""Segments of a recording: files of blocks, by their heads, and played forward in the order of time."""

import os
import weakref
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from ttmem import _native
from ttmem.errors import RecordingDamaged
from ttmem.recording.meta import SEALED, SEGMENT
from ttmem.recording.sealing import plain_block

__all__ = ["EVENTS", "KEYFRAME", "NAMES", "Balance", "RecordedBlock", "Segment", "SegmentPlayer", "opened_segment"]

NAMES, EVENTS, KEYFRAME = 1, 2, 3
_FIRST_PART = 1
_FULLEST_CORE = 64  # in place of a pool
_FOREVER_NS = (1 << 64) - 1


class Balance(NamedTuple):
    """A pool of a chip within a block."""

    chip: int  # its unique id
    is_known: bool  # False: `chip` is only a number
    pool: int
    start_bytes: int
    highest_bytes: int
    is_of_gap: bool  # by the counter of a process that could not be followed: what was alive then is not known
    is_bound: bool = (
        False  # several processes changed it in the time of this block: it was never higher, but may have been lower
    )


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
        firsts = (one.first_ns if one.kind == EVENTS and one.first_ns else _FOREVER_NS for one in self.blocks[:0:-1])
        self._horizons = [*accumulate(firsts, min, initial=_FOREVER_NS)][::-1]
        latest = accumulate((one.last_ns if one.kind == EVENTS else 0 for one in self.blocks), max, initial=0)
        starts = zip(self.blocks, latest, strict=False)
        self._last_ns = max((one.last_ns for one in self.blocks if one.kind == EVENTS), default=0)
        self._starts = [(place, latest_ns) for place, (block, latest_ns) in enumerate(starts) if block.is_start]

    @property
    def number(self) -> int:
        return int(self.path.name.partition(".")[0])

    @property
    def first_ns(self) -> int:
        """CLOCK_MONOTONIC of its first event; 0: it has none."""
        return 0 if self._horizons[0] == _FOREVER_NS else self._horizons[0]

    @property
    def last_ns(self) -> int:
        """Of its last."""
        return self._last_ns

    @property
    def first_start(self) -> int:
        """The place of its first keyframe."""
        return self.start_before(len(self.blocks) - 1, 0)

    def has_grown(self) -> bool:
        """Whether there is more behind its last block."""
        return bool(self.blocks) and os.fstat(self._file).st_size > self.blocks[-1].offset + self.blocks[-1].size

    def horizon_ns(self, place: int) -> int:
        """The earliest time of an event behind a block."""
        return self._horizons[place]

    def time_of(self, place: int) -> tuple[int, int]:
        """Of a block of events: what it says of pools holds of these times, the first and the last."""
        block = self.blocks[place]
        return block.first_ns, max(block.last_ns, self._horizons[place] - 1)

    def last_place(self, until_ns: int) -> int:
        """The last block that has to do with a moment: of events, and what a gap that ended in it has left alive."""
        first_start = self._starts[0][0] if self._starts else 0
        return self.with_what_follows(max(first_start, bisect_right(self._horizons, until_ns)))

    def with_what_follows(self, place: int) -> int:
        """With what a gap that ended there has left alive."""
        blocks = self.blocks
        while place + 1 < len(blocks) and blocks[place + 1].kind != EVENTS and not blocks[place + 1].is_start:
            place += 1
        return place

    def start_before(self, place: int, before_ns: int | None = None) -> int:
        """The last keyframe to begin at for a block, such that nothing in front of it is later than a moment."""
        starts = [one for one in self._starts if one[0] <= place]
        if not starts:
            raise RecordingDamaged(f"{self.path}: expected a keyframe at its beginning, found none")
        early = (start for start, latest_ns in reversed(starts) if before_ns is None or latest_ns <= before_ns)
        return next(early, starts[0][0])

    def plain(self, block: RecordedBlock) -> bytes:
        """Its bytes, unpacked. A damaged block is a ValueError."""
        return plain_block(os.pread(self._file, block.size, block.offset), block.codec)


def _block(head: Sequence[Any]) -> RecordedBlock:
    balances = [Balance(*one) for one in head[-1]]
    pools = tuple(one for one in balances if one.pool != _FULLEST_CORE)
    return RecordedBlock._make((*head[:-1], pools, tuple(one for one in balances if one.pool == _FULLEST_CORE)))


def opened_segment(path: Path, number: int) -> Segment:
    """Packed or plain; it may be packed while we look."""
    for suffix in (SEALED, SEGMENT, SEALED):
        try:
            return Segment(path / f"{number:06}{suffix}")
        except FileNotFoundError:
            continue
    raise RecordingDamaged(f"{path}: segment {number} was removed while it was being read")


class SegmentPlayer:
    """A segment into a ledger in which nothing is yet, from one of its keyframes on. Events of a block wait for earlier
    ones of later blocks: who is heard first need not have been first."""

    def __init__(self, segment: Segment, ledger: _native.Ledger, start: int, *, on_read: Callable[[int], None]) -> None:
        self.segment, self.ledger, self.start = segment, ledger, start
        self.replay = _native.recording.Replay(ledger)
        self._on_read = on_read
        self._at = start  # the block that comes next
        self._names_read = 0

    @property
    def next_place(self) -> int:
        """Of the block that comes next."""
        return self._at

    def play(self, until_ns: int | None = None, **limits: int) -> bool:
        """Up to a moment (None: the end), until a pool of a chip holds that many bytes, or that many rows; whether it
        came to where it was to stop."""
        last = len(self.segment.blocks) - 1
        if until_ns is not None:
            last = self.segment.last_place(until_ns)
            limits["until_ns"] = until_ns
        if self._at > self.start and self._go_on(limits):
            return True
        while self._at <= last:
            self._take()
            if self._go_on(limits):
                return True
        return False

    def play_blocks(self, last: int) -> None:
        """All blocks up to one."""
        while self._at <= last:
            self._take()
            self._go_on({})

    def _go_on(self, limits: dict[str, int]) -> bool:
        return self.replay.play(self.ledger, self.segment.horizon_ns(self._at - 1), **limits)

    def _take(self) -> None:
        """One more block, with the names that it needs."""
        try:
            for block in self.segment.blocks[self._names_read : self._at + 1]:
                if block.kind == NAMES:
                    self.replay.read_names(self.segment.plain(block))
            self._names_read = self._at + 1
            block = self.segment.blocks[self._at]
            self._at += 1
            if block.kind != NAMES:
                self.replay.take(self.ledger, self.segment.plain(block))
        except ValueError as error:
            raise RecordingDamaged(f"{self.segment.path}: {error}") from None
        if block.kind == EVENTS:
            self._on_read(block.row_count)
