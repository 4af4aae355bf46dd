"""Reads a recording, also one that goes on, was cut off, or is damaged in places. It never writes into it.

A peak is found by the heads of blocks, which say how high every pool was within; then one block is gone through. What
was alive at a moment follows from the keyframe before it and the blocks between.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import pairwise
from pathlib import Path

from ttmem import _native
from ttmem.errors import RecordingDamaged
from ttmem.recording.meta import Meta, read_meta
from ttmem.recording.peaks import CorePeak, Peak, PeakStretch, SharedPeaks, exact_balances
from ttmem.recording.sealing import segment_numbers
from ttmem.recording.segments import EVENTS, RecordedBlock, SegmentPlayer, opened_segment

__all__ = ["Recording"]


def _ignore(row_count: int) -> None:
    """Who does not ask how far it is."""


class Recording:
    """A recording by its path. What is no recording is a RecordingDamaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.on_read: Callable[[int], None] = _ignore  # told how many events were gone through
        self.meta: Meta = read_meta(path)
        found = [opened_segment(path, number) for number in segment_numbers(path)]
        self.segments = [segment for segment in found if segment.blocks]
        if not self.segments:
            why = next((f" ({one.path.name}: {one.trouble})" for one in found if one.trouble), "")
            raise RecordingDamaged(
                f"{path}: expected a segment with a whole block, found none{why}; "
                "wait if it is recorded now, else record again"
            )

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
        for number, segment in enumerate(self.segments):
            for place, one in exact_balances(segment):
                name = (one.chip, one.is_known, one.pool)
                if one.highest_bytes > (found[name].size_bytes if name in found else 0):
                    found[name] = Peak(*name, one.highest_bytes, number, place, one.is_of_gap)
            SharedPeaks(segment, number, self.on_read).add_to(found)
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
        player = self.player(ledger, number, before_ns=cuts[0])
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
        found = [opened_segment(self.path, one) for one in segment_numbers(self.path) if one >= number]
        kept = [one for one in self.segments if one.number < number or not found]
        fresh.segments = kept + [segment for segment in found if segment.blocks]
        return fresh

    def place_at(self, at_ns: int) -> tuple[int, int]:
        """The segment and the block in which a moment (CLOCK_MONOTONIC) lies."""
        number = latest_ns = 0
        for at, segment in enumerate(self.segments):
            if segment.first_ns and max(segment.first_ns, latest_ns) <= at_ns:
                number = at
            latest_ns = max(latest_ns, segment.last_ns)
        return number, self.segments[number].last_place(at_ns)

    def player(
        self,
        ledger: _native.Ledger,
        number: int,
        *,
        before_ns: int | None = None,
        place: int | None = None,
        start: int | None = None,
    ) -> SegmentPlayer:
        """What plays a segment forward into an empty ledger: from its first keyframe, the last before a moment or a
        block, or one that is given."""
        segment = self.segments[number]
        if start is None:
            start = segment.start_before(len(segment.blocks) - 1 if place is None else place, before_ns)
        return SegmentPlayer(segment, ledger, start, on_read=self.on_read)

    def play(
        self,
        ledger: _native.Ledger,
        *,
        until_ns: int | None = None,
        peak: Peak | None = None,
        core: CorePeak | None = None,
    ) -> "_native.recording.Replay":
        """Brings a ledger, in which nothing is yet, to a moment: that of a time, of a peak, of a core's, or the end."""
        if core is not None:
            player = self.player(ledger, core.segment, start=core.start)
            player.play(rows=core.row_count)
        elif peak is not None and peak.from_ns:
            player = self.player(ledger, peak.segment, before_ns=peak.from_ns)
            player.play(peak.from_ns)  # before, it may have been higher
            _play_to(peak, player)
        elif peak is not None:
            block = self.segments[peak.segment].blocks[peak.block]
            before_ns = block.first_ns if block.kind == EVENTS else None
            player = self.player(ledger, peak.segment, before_ns=before_ns, place=peak.block)
            player.play_blocks(peak.block - 1)
            if peak.is_of_gap:
                player.play_blocks(self.segments[peak.segment].with_what_follows(peak.block))
            else:
                _play_to(peak, player)
        elif until_ns is not None:
            player = self.player(ledger, self.place_at(until_ns)[0], before_ns=until_ns)
            player.play(until_ns)
        else:
            player = self.player(ledger, len(self.segments) - 1)
            player.play()
        return player.replay


def _play_to(peak: Peak, player: SegmentPlayer) -> None:
    """Until its pool is as high. It may be so from the beginning, and the next event may already lower it."""
    held = {(chip, pool): used for _, chip, _, pools in player.ledger.sample()[1] for pool, used, *_ in pools}
    if held.get((peak.chip, peak.pool), 0) < peak.size_bytes:
        player.play(chip=peak.chip, pool=peak.pool, bytes=peak.size_bytes)
