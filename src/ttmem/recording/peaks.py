"""How high pools and cores were, by the heads of blocks, and where several processes used one chip by its events.

The head of a block says how high every pool was in the order in which processes were heard. Where several of them
changed it in the time of one block, that need not be the order of time: then the head says how high it can have been at
most, and the blocks in which it can have been highest are played.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ttmem import _native
from ttmem.recording.forward import SegmentPlayer
from ttmem.recording.segments import EVENTS, Balance, Segment

__all__ = ["CorePeak", "Peak", "PeakStretch", "SharedPeaks", "exact_balances"]

_PoolName = tuple[int, bool, int]  # of a chip


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
    """The highest that a core of a chip was, as it was measured: so many rows behind a keyframe."""

    chip: int
    size_bytes: int  # with the kernel ring
    core: tuple[int, int] | None  # its x and y; None: no core differed from the others
    time_ns: int  # CLOCK_MONOTONIC
    segment: int  # place in the recording
    start: int  # place of the keyframe in it
    row_count: int


class PeakStretch(NamedTuple):
    """A pool of a chip at its highest between two moments of a segment."""

    segment: int
    from_ns: int
    until_ns: int
    chip: int
    pool: int
    size_bytes: int


def exact_balances(segment: Segment) -> Iterator[tuple[int, Balance]]:
    """What heads say of pools that one process changed, with the place of the block; of a gap also those of several."""
    earliest: dict[_PoolName, int] = {}  # time of a later block that several changed
    found = []
    for place in range(len(segment.blocks) - 1, -1, -1):
        block = segment.blocks[place]
        for one in block.balances:
            name = (one.chip, one.is_known, one.pool)
            if one.is_bound:
                earliest[name] = min(block.first_ns, earliest.get(name, block.first_ns))
            elif one.is_of_gap or block.kind != EVENTS or name not in earliest or block.last_ns < earliest[name]:
                found.append((place, one))
    return reversed(found)


class SharedPeaks:
    """Pools of a segment that several processes changed: the highest in the order of time."""

    def __init__(self, segment: Segment, number: int, on_read: Callable[[int], None]) -> None:
        self._segment, self._number, self._on_read = segment, number, on_read
        self._bounds: dict[int, list[tuple[_PoolName, int]]] = defaultdict(list)  # by place of the block
        self._shared = {
            (one.chip, one.is_known, one.pool) for block in segment.blocks for one in block.balances if one.is_bound
        }
        for place, block in enumerate(segment.blocks if self._shared else ()):
            for one in block.balances if block.kind == EVENTS else ():
                name = (one.chip, one.is_known, one.pool)
                if name in self._shared and not one.is_of_gap:
                    self._bounds[place].append((name, one.highest_bytes))

    def add_to(self, found: dict[_PoolName, Peak]) -> None:
        """Raises what is found there, where it was higher: first where it can have been highest of all."""
        highest: dict[_PoolName, tuple[int, int]] = {}
        for place, bounds in self._bounds.items():
            for name, size_bytes in bounds:
                highest[name] = max(highest.get(name, (0, 0)), (size_bytes, place))
        for place in sorted({place for _, place in highest.values()}):
            self._look(found, [place])
        self._look(found, sorted(self._bounds))

    def _look(self, found: dict[_PoolName, Peak], places: list[int]) -> None:
        player: SegmentPlayer | None = None
        for place in places:
            sizes = {name: found[name].size_bytes for name, _ in self._bounds[place] if name in found}
            if all(size_bytes <= sizes.get(name, 0) for name, size_bytes in self._bounds[place]):
                continue
            first_ns, last_ns = self._segment.time_of(place)
            start = self._segment.start_before(place, first_ns)
            if player is None or start > player.next_place:
                player = SegmentPlayer(self._segment, _native.Ledger(), start, on_read=self._on_read)
            player.play(first_ns - 1)
            player.ledger.sample()
            player.play(last_ns)
            for _, chip, _, pools in player.ledger.sample()[1]:
                for pool, _, high, _ in pools:
                    name = (chip or 0, True, pool)
                    if chip is None or name not in self._shared:
                        continue
                    if high > (found[name].size_bytes if name in found else 0):
                        found[name] = Peak(*name, high, self._number, place, False, first_ns - 1)
