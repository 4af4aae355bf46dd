"""The floor of L1, its lowest buffer over time, and the room that launches had below it."""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

from ttmem.analysis.alive import ByWord
from ttmem.analysis.room.answers import CoursePoint, RoomAnswer, RunTime
from ttmem.snapshot.values import ChipName, Count, Hex, Number, Struct

__all__ = ["ChipFloor", "ChipRoom", "FloorReport", "FloorSetter", "HeadroomReport", "PlacedBuffer", "Stay", "floors"]


class FloorSetter(Struct, frozen=True):
    """Lives of one line, or operation, ... of which one was the lowest L1 buffer."""

    names: tuple[str, ...]
    lowest_address: Hex
    size_bytes: Count  # of the lowest, in each bank
    floor_ns: Count  # how long they were the lowest altogether
    count: Count  # how many of them ever were


class ChipFloor(Struct, frozen=True, kw_only=True):
    """Of chips that had the same; addresses are those of a core's L1."""

    chips: tuple[ChipName, ...]
    lowest_address: Hex | None  # None: there was no L1 buffer that said where it lies
    when: RunTime | None
    cb_end_address: Hex | None  # of the program that reached highest when launched with least room
    l1_begin_address: Hex | None
    l1_end_address: Hex | None
    course: tuple[CoursePoint, ...]  # the lowest address from that moment on; None: no buffer
    setters: tuple[FloorSetter, ...]  # the lowest first
    more_setter_count: Count


class FloorReport(RoomAnswer, frozen=True, kw_only=True):
    """How low L1 buffers came, and which lives came so low."""

    by: tuple[ByWord, ...]
    chips: tuple[ChipFloor, ...]


class ChipRoom(Struct, frozen=True, kw_only=True):
    """Of chips that had the same."""

    chips: tuple[ChipName, ...]
    least_bytes: Number | None  # below the lowest buffer on the cores of a launch; None: no launch had circular buffers
    when: RunTime | None
    program: Count | None
    operation: str
    process: str
    cb_end_address: Hex | None
    lowest_address: Hex | None  # None: there was no buffer; the room is that to the end of L1
    lowest_names: tuple[str, ...]
    planned: tuple[CoursePoint, ...]  # with the circular buffers of all loaded programs, at some instants


class HeadroomReport(RoomAnswer, frozen=True, kw_only=True):
    """How much room launches had between their circular buffers and the lowest L1 buffer on their cores."""

    by: tuple[ByWord, ...]
    chips: tuple[ChipRoom, ...]


class PlacedBuffer(NamedTuple):
    """An L1 buffer, or a part of one, by its address, from when to when (0: to the end)."""

    begin_ns: int
    end_ns: int
    address: int


class Stay(NamedTuple):
    """From one moment to another the lowest buffer was that one; None: there was none."""

    begin_ns: int
    end_ns: int
    place: int | None  # in the list that was given


def floors(placed: list[PlacedBuffer], last_ns: int) -> list[Stay]:
    """Which buffer was the lowest, from the first of them to the end."""
    edges: list[tuple[int, int, int]] = []  # ends before beginnings of the same moment
    for place, one in enumerate(placed):
        edges += [(one.begin_ns, 1, place), *([(one.end_ns, 0, place)] if one.end_ns else [])]
    edges.sort()
    stays: list[Stay] = []
    alive: set[int] = set()
    low: list[tuple[int, int, int]] = []
    for at, (time_ns, is_begin, place) in enumerate(edges):
        if is_begin:
            alive.add(place)
            heapq.heappush(low, (placed[place].address, placed[place].begin_ns, place))
        else:
            alive.discard(place)
        if at + 1 < len(edges) and edges[at + 1][0] == time_ns:
            continue
        while low and low[0][2] not in alive:
            heapq.heappop(low)
        _note(stays, time_ns, low[0][2] if low else None)
    return [*_ended(stays, last_ns)]


def _note(stays: list[Stay], time_ns: int, place: int | None) -> None:
    if stays and stays[-1].place == place:
        return
    if stays:
        stays[-1] = stays[-1]._replace(end_ns=time_ns)
    stays.append(Stay(time_ns, time_ns, place))


def _ended(stays: list[Stay], last_ns: int) -> Iterable[Stay]:
    return [*stays[:-1], stays[-1]._replace(end_ns=max(last_ns, stays[-1].begin_ns))] if stays else []
