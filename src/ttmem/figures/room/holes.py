"""`ttmem report --holes`: what was free and not usable, over time, and which lives lie between the holes."""

from collections.abc import Iterable, Sequence

from ttmem.analysis.alive import ByWord, names_of
from ttmem.analysis.room.holes import FreeSpan, HolePoint, HolesReport, Pin, PoolHoles, pinned
from ttmem.collector.chips import BANK_SIZES
from ttmem.collector.rows.regions import bank_count, pool_bounds
from ttmem.devices import Pool
from ttmem.figures.room.run import RoomRun, Row, Rows, says_damage

__all__ = ["holes_report", "worst_holes"]

_POOLS = (Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.TRACE)


@says_damage
def holes_report(run: RoomRun, *, by: Sequence[ByWord], pool: Pool | None, most: int) -> HolesReport:
    """Each pool of each chip at the instant at which most of it was free and not usable for one buffer."""
    found = []
    for one in [pool] if pool else _POOLS:
        for chips, course, at_ns in worst_holes(run, one):
            pins = _pins(run, chips[0], one, at_ns, by)
            found.append(
                PoolHoles(
                    chips=run.names(chips),
                    pool=one,
                    capacity_bytes=run.device(chips[0]).capacity(one),
                    worst=_worst(course),
                    course=tuple(course),
                    pins=tuple(pins[: most or None]),
                    more_pin_count=max(0, len(pins) - most) if most else 0,
                )
            )
    return HolesReport(
        path=str(run.recording.path),
        certainty="sampled",
        why=f"exact at {run.instants_word}",
        by=tuple(by),
        instant_count=len(run.walk.instants),
        pools=tuple(found),
    )


def worst_holes(run: RoomRun, pool: Pool) -> list[tuple[list[int], list[HolePoint], int]]:
    """Chips that had the same holes, their course, and the time (CLOCK_MONOTONIC) of the worst. Of used pools only."""
    courses: dict[int, list[HolePoint]] = {}
    times: dict[int, list[int]] = {}
    for instant in run.walk.instants:
        for usage in instant.snapshot.devices:
            for one in usage.pools:
                if one.pool is not pool or one.largest_free_bytes is None or one.free_bytes is None:
                    continue
                when = run.when(instant.monotonic_ns)
                point = HolePoint(when, one.used_bytes, one.free_bytes, one.largest_free_bytes, one.hole_count or 0)
                courses.setdefault(usage.device.unique_id, []).append(point)
                times.setdefault(usage.device.unique_id, []).append(instant.monotonic_ns)
    used = {chip: tuple(course) for chip, course in courses.items() if any(point.used_bytes for point in course)}
    return [
        (chips, list(course), times[chips[0]][course.index(_worst(course))])
        for course, chips in run.grouped(used).items()
    ]


def _worst(course: Sequence[HolePoint]) -> HolePoint:
    """The first with most unusable bytes; where none ever was, the fullest."""
    return max(course, key=lambda point: (point.unusable_bytes, point.used_bytes))


def _pins(run: RoomRun, chip: int, pool: Pool, at_ns: int, by: Sequence[ByWord]) -> list[Pin]:
    rows = Rows(run.moment(at_ns))
    device = next(one.device for one in rows.moment.snapshot.devices if one.device.unique_id == chip)
    bounds, banks = pool_bounds(device, pool, BANK_SIZES.get(device.arch)), bank_count(device, pool)
    if bounds is None or not banks:
        return []
    listed = [(key, row) for key, row in rows.on(device.number, pool.number) if row[5] and not row[4] & 1]
    spans = [span for place, (_, row) in enumerate(listed) for span in _spans(row, place, banks)]
    found, sizes = pinned(spans, bounds.begin, bounds.end)
    lines: dict[tuple[str, ...], tuple[dict[int, int], set[int]]] = {}
    for place, beside in found:
        key, row = listed[place]
        lives, holes = lines.setdefault(names_of(rows.entry(key, row), by), ({}, set()))
        lives[place] = row[5]
        holes |= beside
    pins = [
        Pin(names, sum(lives.values()), len(lives), sum(sizes[hole] for hole in holes) * banks)
        for names, (lives, holes) in lines.items()
    ]
    return sorted(pins, key=lambda pin: (-pin.hole_bytes, pin.size_bytes, pin.names))


def _spans(row: Row, place: int, banks: int) -> Iterable[FreeSpan]:
    """What an allocation takes of each bank; one that is allocated by core, what it takes of some core."""
    if row[-1]:
        return [FreeSpan(address, address + row[8], place) for address, *_ in row[-1] if address]
    size = max(-(-row[5] // banks), row[8])
    return [FreeSpan(row[7], row[7] + size, place)] if row[7] else []
