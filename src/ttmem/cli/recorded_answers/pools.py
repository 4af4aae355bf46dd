"""Answers of `ttmem report` about pools: at their highest, at a moment, and the one page with all of it."""

from functools import partial

from ttmem.cli.recorded_answers import Answered, RecordedRequest
from ttmem.collector.recorded import Moment
from ttmem.figures.recorded import moment_report, peak_report
from ttmem.figures.room.page import recorded_page
from ttmem.view.pages.recording import recording_page
from ttmem.view.pages.room.page import one_page

__all__ = ["at_moment", "at_peaks", "page"]


def at_peaks(asked: RecordedRequest) -> Answered:
    """Every pool of every chip at its own highest."""
    found = peak_report(asked.recording, by=asked.by, pool=asked.pool, chip=asked.chip, most=asked.most)
    return Answered(found, partial(recording_page, found))


def at_moment(asked: RecordedRequest, moment: Moment) -> Answered:
    """All pools at one moment."""
    found = moment_report(asked.recording, moment, by=asked.by, pool=asked.pool, chip=asked.chip, most=asked.most)
    return Answered(found, partial(recording_page, found))


def page(asked: RecordedRequest) -> Answered:
    """What was recorded, on one page."""
    found = recorded_page(asked.recording, chip=asked.chip, most=asked.most)
    return Answered(found, partial(one_page, found))
