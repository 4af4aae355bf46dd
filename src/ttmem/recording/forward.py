"""Plays a segment forward, in the order of time: from moment to moment, or until something is reached."""

from collections.abc import Callable

from ttmem import _native
from ttmem.errors import RecordingDamaged
from ttmem.recording.segments import EVENTS, NAMES, Segment

__all__ = ["SegmentPlayer"]


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
        """Up to a moment (None: the end), until a pool of a chip holds so many bytes, or so many rows; whether it came
        to where it was to stop."""
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
