"""`ttmem report --floor`, `--headroom`: how low L1 buffers came, which lives did, and what launches had below them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ttmem.analysis.alive import ByWord
from ttmem.analysis.room.answers import CoursePoint
from ttmem.analysis.room.floor import (
    ChipFloor,
    ChipRoom,
    FloorReport,
    FloorSetter,
    HeadroomReport,
    PlacedBuffer,
    Stay,
    floors,
)
from ttmem.collector.chips import BANK_SIZES
from ttmem.collector.rows.regions import pool_bounds
from ttmem.collector.watched import LaunchRoom
from ttmem.devices import Kind, Pool
from ttmem.figures.room.run import LifeNames, RoomRun, Rows, says_damage
from ttmem.recording import Batch, LifeFlag
from ttmem.snapshot.values import Hex

__all__ = ["floor_report", "headroom_report"]

_COURSE_POINTS = 60


class _Buffer(NamedTuple):
    """An L1 buffer, or a part of one."""

    placed: PlacedBuffer
    per_bank: int
    chips: int  # number of a set
    key: tuple[int, ...]  # of its name


@says_damage
def floor_report(run: RoomRun, *, by: Sequence[ByWord], most: int) -> FloorReport:
    """Exact: of every L1 buffer it is known when it began and ended."""
    reader = run.lives(events=())
    named = LifeNames(reader, by)
    lives = [one for batch in reader.batches() for one in _buffers(batch, named)]
    chip_sets = reader.chip_sets
    of_chip = {chip: tuple(at for at, one in enumerate(lives) if chip in chip_sets[one.chips]) for chip in run.usages}
    found = []
    for places, chips in run.grouped(of_chip).items():
        its = [lives[at] for at in places]
        stays = floors([one.placed for one in its], run.recording.last_ns)
        found.append(_floor(run, chips, its, stays, named, most))
    has_gaps = bool(run.recording.lost_record_count)
    return FloorReport(
        path=str(run.recording.path),
        certainty="at_least" if has_gaps else "measured",
        why="some records were lost: a buffer that came and went meanwhile may have been lower"
        if has_gaps
        else "of every L1 buffer it is known when it began and ended",
        by=tuple(by),
        chips=tuple(found),
    )


def _buffers(batch: Batch, named: LifeNames) -> Iterator[_Buffer]:
    columns = batch.lives
    pools, kinds, addresses, flags = (columns[name] for name in ("pool", "kind", "address", "flags"))
    begins, ends, sizes, chips = (columns[name] for name in ("begin_ns", "end_ns", "per_bank", "chips"))
    for at in range(batch.life_count):
        if pools[at] != Pool.L1.number or kinds[at] != Kind.BUFFER.number or not addresses[at]:
            continue
        if not flags[at] & LifeFlag.IS_VIEW:
            placed = PlacedBuffer(begins[at], ends[at], addresses[at])
            yield _Buffer(placed, sizes[at], chips[at], named.key(batch, at))


def _floor(
    run: RoomRun, chips: list[int], lives: list[_Buffer], stays: list[Stay], named: LifeNames, most: int
) -> ChipFloor:
    device = run.device(chips[0])
    bounds = pool_bounds(device, Pool.L1, BANK_SIZES.get(device.arch))
    room = run.walk.room.get(chips[0])
    lowest = _lowest(lives, stays)
    setters = _setters(lives, stays, named)
    return ChipFloor(
        chips=run.names(chips),
        lowest_address=Hex(_address(lives, lowest)) if lowest else None,
        when=run.when(lowest.begin_ns) if lowest else None,
        cb_end_address=Hex(room.cb_end_address) if room and room.least_bytes is not None else None,
        l1_begin_address=Hex(bounds.begin) if bounds else None,
        l1_end_address=Hex(bounds.end) if bounds else None,
        course=tuple(_course(run, lives, stays)),
        setters=tuple(setters[: most or None]),
        more_setter_count=max(0, len(setters) - most) if most else 0,
    )


def _address(lives: list[_Buffer], stay: Stay) -> int:
    return lives[stay.place or 0].placed.address


def _lowest(lives: list[_Buffer], stays: Sequence[Stay]) -> Stay | None:
    occupied = [stay for stay in stays if stay.place is not None]
    return min(occupied, key=lambda stay: _address(lives, stay), default=None)


def _course(run: RoomRun, lives: list[_Buffer], stays: list[Stay]) -> Iterator[CoursePoint]:
    """The changes; of very many, the lowest of every stretch of them."""
    step = max(1, -(-len(stays) // _COURSE_POINTS))
    for at in range(0, len(stays), step):
        low = _lowest(lives, stays[at : at + step])
        if low is None:
            yield CoursePoint(run.when(stays[at].begin_ns), None)
        else:
            yield CoursePoint(run.when(low.begin_ns), _address(lives, low))


def _setters(lives: list[_Buffer], stays: list[Stay], named: LifeNames) -> list[FloorSetter]:
    lowest: dict[tuple[str, ...], _Buffer] = {}
    spent: Counter[tuple[str, ...]] = Counter()
    ever: dict[tuple[str, ...], set[int]] = {}
    for stay in stays:
        if stay.place is None:
            continue
        life = lives[stay.place]
        name = named.names(life.key)
        if name not in lowest or life.placed.address < lowest[name].placed.address:
            lowest[name] = life
        spent[name] += stay.end_ns - stay.begin_ns
        ever.setdefault(name, set()).add(stay.place)
    found = [
        FloorSetter(name, Hex(life.placed.address), life.per_bank, spent[name], len(ever[name]))
        for name, life in lowest.items()
    ]
    return sorted(found, key=lambda one: (one.lowest_address, -one.floor_ns, one.names))


@says_damage
def headroom_report(run: RoomRun, *, by: Sequence[ByWord]) -> HeadroomReport:
    """Exact for launches; the headroom that is planned, at some instants."""
    planned: dict[int, list[CoursePoint]] = {}
    for instant in run.walk.instants:
        for usage in instant.snapshot.devices:
            point = CoursePoint(run.when(instant.monotonic_ns), usage.headroom_bytes)
            planned.setdefault(usage.device.unique_id, []).append(point)
    rooms = {chip: run.walk.room.get(chip) for chip in run.usages}
    groups = run.grouped({chip: (rooms[chip], tuple(planned.get(chip, ()))) for chip in run.usages})
    is_whole = not any(room and room.has_unplaced for room in rooms.values()) and not run.recording.lost_record_count
    return HeadroomReport(
        path=str(run.recording.path),
        certainty="measured" if is_whole else "at_least",
        why=f"every launch was compared; what all loaded programs would need is exact at {run.instants_word}"
        if is_whole
        else "some buffers did not say where they lie, or records were lost: some launch may have had less room",
        by=tuple(by),
        chips=tuple(_room(run, chips, room, course, by) for (room, course), chips in groups.items()),
    )


def _room(
    run: RoomRun, chips: list[int], room: LaunchRoom | None, planned: tuple[CoursePoint, ...], by: Sequence[ByWord]
) -> ChipRoom:
    if room is None or room.least_bytes is None:
        return ChipRoom(
            chips=run.names(chips),
            least_bytes=None,
            when=None,
            program=None,
            operation="",
            process="",
            cb_end_address=None,
            lowest_address=None,
            lowest_names=(),
            planned=planned,
        )
    rows = Rows(run.moment(room.least_ns))
    number = next(one.device.number for one in rows.moment.snapshot.devices if one.device.unique_id == chips[0])
    named = rows.named(room.lowest_life, number, by) if room.lowest_life else None
    return ChipRoom(
        chips=run.names(chips),
        least_bytes=room.least_bytes,
        when=run.when(room.least_ns),
        program=room.program,
        operation=_operation(rows, room),
        process=f"pid {room.pid}",
        cb_end_address=Hex(room.cb_end_address),
        lowest_address=Hex(room.lowest_address) if room.lowest_address else None,
        lowest_names=named[0] if named else (),
        planned=planned,
    )


def _operation(rows: Rows, room: LaunchRoom) -> str:
    """Of the program that was launched."""
    for listed in rows.by_process.values():
        for row in listed:
            if row[17] == room.program and row[-5]:
                return str(row[-5])
    return ""
