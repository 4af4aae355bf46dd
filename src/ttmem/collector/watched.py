"""What no single moment of a recording says: the fullest core of all times, how low L1 buffers came, how much room
launches had, how far pools were ever used, and what chips were at many instants on the way.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ttmem import _native
from ttmem.collector.recorded import context_of, empty_ledger
from ttmem.collector.rows import Snapshots
from ttmem.collector.rows.regions import Gaps
from ttmem.devices import BANKED_POOLS, Pool
from ttmem.recording import CorePeak, Recording
from ttmem.recording.segments import EVENTS
from ttmem.snapshot import Snapshot
from ttmem.snapshot.values import TimeNs, replace

__all__ = ["Extent", "Instant", "LaunchRoom", "Walk", "core_peaks", "walked"]


class LaunchRoom(NamedTuple):
    """Of a chip: the lowest L1 buffer ever, and the launch with least room below the buffers on its cores."""

    floor_address: int | None
    floor_life: int  # its sequence
    floor_ns: int  # CLOCK_MONOTONIC, as all times here
    least_bytes: int | None  # None: nothing with circular buffers was launched
    least_ns: int
    program: int
    pid: int
    cb_end_address: int
    lowest_address: int  # of the buffers on its cores; 0: there were none
    lowest_life: int
    has_unplaced: bool  # some buffers did not say where they lie


class Extent(NamedTuple):
    """Between which addresses of a bank a pool of a chip was ever used."""

    lowest: int | None  # None: nothing said where it lies
    lowest_ns: int
    highest: int | None
    highest_ns: int
    begin: int  # of the pool
    end: int  # 0: not known
    has_unplaced: bool


class Instant(NamedTuple):
    """All chips at one time."""

    monotonic_ns: int
    snapshot: Snapshot
    gaps: dict[
        int, dict[Pool, Gaps]
    ]  # by number of the chip: what lies in each bank of a pool, and what is free between


class Walk(NamedTuple):
    """What one walk through a recording has found; chips by their unique ids."""

    instants: list[Instant]
    room: dict[int, LaunchRoom]
    extents: dict[tuple[int, Pool], Extent]


def core_peaks(
    recording: Recording, core: tuple[int, int] | None = None, *, from_ns: int = 0, until_ns: int | None = None
) -> list[CorePeak]:
    """The fullest core of each chip, or one core by its x and y, measured where heads of blocks say that it may be; of
    blocks that have to do with a time only."""
    bounds: dict[int, list[tuple[int, int, int]]] = {}
    for number, place, block in recording.blocks:
        if recording.segments[number].time_of(place)[1] < from_ns or (
            until_ns is not None and block.first_ns > until_ns
        ):
            continue
        for one in block.cores:
            if one.is_known:
                highest = max(one.start_bytes, one.highest_bytes)
                bounds.setdefault(one.chip, []).append((-highest, number, place))
    measured: dict[tuple[int, int], dict[int, CorePeak]] = {}
    found: list[CorePeak] = []
    for chip, blocks in bounds.items():
        best: CorePeak | None = None
        for bound, number, place in sorted(blocks):
            if best is not None and best.size_bytes >= -bound:
                break
            if (number, place) not in measured:
                measured[number, place] = _measured(recording, number, place, core)
            peak = measured[number, place].get(chip)
            if peak is not None and (best is None or peak.size_bytes > best.size_bytes):
                best = peak
        if best is not None:
            found.append(best)
    return found


def _measured(recording: Recording, number: int, place: int, core: tuple[int, int] | None) -> dict[int, CorePeak]:
    """The fullest core of every chip in the time of one block."""
    segment = recording.segments[number]
    ledger = empty_ledger()
    is_timed = segment.blocks[place].kind == EVENTS
    first_ns, last_ns = segment.time_of(place)
    player = recording.player(ledger, number, before_ns=first_ns - 1 if is_timed else None, place=place)
    player.replay.watch(ledger, core=-1 if core is None else core[1] * 256 + core[0])
    if is_timed:
        player.play(first_ns - 1)
    else:
        player.play_blocks(place - 1)
    player.replay.watch(ledger, measure=True)
    if is_timed:
        player.play(last_ns)
    else:
        player.play_blocks(place)
    return {
        chip: CorePeak(chip, size_bytes, its, time_ns, number, player.start, rows)
        for chip, size_bytes, its, rows, time_ns in player.replay.watched(ledger)[0]
    }


def walked(recording: Recording, instants_ns: Iterable[int] = ()) -> Walk:
    """Goes through all of it once, and looks at every chip at each of these times (CLOCK_MONOTONIC)."""
    asked = sorted(instants_ns)
    walk = Walk([], {}, {})
    begins = [segment.first_ns or None for segment in recording.segments]
    for number in range(len(recording.segments)):
        later = min((one for one in begins[number + 1 :] if one is not None), default=None)
        due = [at for at in asked if later is None or at < later]
        del asked[: len(due)]
        _SegmentWalk(recording, number, due).go(walk)
    return walk


class _SegmentWalk:
    """One segment, from its first keyframe to its end."""

    def __init__(self, recording: Recording, number: int, due: list[int]) -> None:
        self._recording, self._number, self._due = recording, number, due
        self._ledger = empty_ledger()
        self._snapshots = Snapshots(self._ledger)
        self._context = context_of(recording)
        self._player = recording.player(self._ledger, number, place=recording.segments[number].first_start)
        self._player.replay.watch(self._ledger)

    def go(self, walk: Walk) -> None:
        for at in self._due:
            self._player.play(at)
            snapshot = self._snapshots.snapshot(self._context)
            timed = replace(snapshot, time_ns=TimeNs(self._recording.wall_ns(at)))
            walk.instants.append(Instant(at, timed, gaps_in(self._ledger, timed)))
        self._player.play()
        self._take(walk)

    def _take(self, walk: Walk) -> None:
        pids = {one.key: one.pid for one in self._snapshots.snapshot(self._context).processes}
        _, rooms, extents = self._player.replay.watched(self._ledger)
        for row in rooms:
            walk.room[row[0]] = _less(walk.room.get(row[0]), _room(row, pids))
        for chip, pool, *row in extents:
            if row[0] is not None or row[-1]:
                name = (chip, Pool.numbered(pool))
                walk.extents[name] = _wider(walk.extents.get(name), Extent(*row))


def gaps_in(ledger: _native.Ledger, snapshot: Snapshot) -> dict[int, dict[Pool, Gaps]]:
    """Of every chip; chips whose pools are alike have the same."""
    alike: dict[tuple[object, ...], dict[Pool, Gaps]] = {}
    found = {}
    for usage in snapshot.devices:
        key = (usage.pools, usage.headroom_bytes, usage.device.grid)
        if key not in alike:
            rows = ledger.chip(usage.device.number, 1)["pools"]
            alike[key] = {pool: Gaps(*row[:-1]) for pool, row in zip(BANKED_POOLS, rows, strict=True)}
        found[usage.device.number] = alike[key]
    return found


def _room(row: Sequence[Any], pids: dict[int, int]) -> LaunchRoom:
    _, floor, floor_life, _, floor_ns, least, least_ns, program, process, cb_end, lowest, lowest_life, unplaced = row
    pid = pids.get(process, 0)
    return LaunchRoom(floor, floor_life, floor_ns, least, least_ns, program, pid, cb_end, lowest, lowest_life, unplaced)


def _less(one: LaunchRoom | None, other: LaunchRoom) -> LaunchRoom:
    """The lower floor and the smaller room, of equal ones the earlier."""
    if one is None:
        return other
    is_lower = other.floor_address is not None and (
        one.floor_address is None or other.floor_address < one.floor_address
    )
    is_tighter = other.least_bytes is not None and (one.least_bytes is None or other.least_bytes < one.least_bytes)
    floor, least = other if is_lower else one, other if is_tighter else one
    return least._replace(
        floor_address=floor.floor_address,
        floor_life=floor.floor_life,
        floor_ns=floor.floor_ns,
        has_unplaced=one.has_unplaced or other.has_unplaced,
    )


def _wider(one: Extent | None, other: Extent) -> Extent:
    if one is None:
        return other
    is_unplaced = one.has_unplaced or other.has_unplaced
    if one.lowest is None or one.highest is None:
        return other._replace(has_unplaced=is_unplaced)
    if other.lowest is None or other.highest is None:
        return one._replace(has_unplaced=is_unplaced)
    low = one if one.lowest <= other.lowest else other
    high = one if one.highest >= other.highest else other
    return Extent(low.lowest, low.lowest_ns, high.highest, high.highest_ns, other.begin, other.end, is_unplaced)
