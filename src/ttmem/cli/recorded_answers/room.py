"""Answers of `ttmem report` about room: cores, holes, floor, headroom, traces, advice."""

from functools import partial

from ttmem.cli.recorded_answers import Answered, RecordedRequest
from ttmem.figures.room import (
    RoomRun,
    advice_report,
    cores_report,
    floor_report,
    headroom_report,
    holes_report,
    trace_report,
)
from ttmem.view.pages.room import advice_page, cores_page, floor_page, headroom_page, holes_page, traces_page

__all__ = ["advise", "core", "floor", "headroom", "holes", "trace_safety"]


def core(asked: RecordedRequest) -> Answered:
    """The fullest core of each chip, or one core."""
    found = cores_report(_run(asked), by=asked.by, asked=asked.core, most=asked.most)
    return Answered(found, partial(cores_page, found))


def holes(asked: RecordedRequest) -> Answered:
    """Fragmentation over time, and what lies between the holes."""
    found = holes_report(_run(asked), by=asked.by, pool=asked.pool, most=asked.most)
    return Answered(found, partial(holes_page, found))


def floor(asked: RecordedRequest) -> Answered:
    """The lowest L1 buffer over time."""
    found = floor_report(_run(asked), by=asked.by, most=asked.most)
    return Answered(found, partial(floor_page, found))


def headroom(asked: RecordedRequest) -> Answered:
    """What launches had below L1 buffers."""
    found = headroom_report(_run(asked), by=asked.by)
    return Answered(found, partial(headroom_page, found))


def trace_safety(asked: RecordedRequest) -> Answered:
    """What was allocated while traces could be replayed."""
    found = trace_report(_run(asked), by=asked.by, most=asked.most)
    return Answered(found, partial(traces_page, found))


def advise(asked: RecordedRequest) -> Answered:
    """The smallest settings that would have done."""
    found = advice_report(_run(asked))
    return Answered(found, partial(advice_page, found))


def _run(asked: RecordedRequest) -> RoomRun:
    return RoomRun(asked.recording, chip=asked.chip)
