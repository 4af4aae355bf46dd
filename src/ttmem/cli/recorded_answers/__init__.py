"""The answers of `ttmem report`: a function for each, from what was asked to figures and their page.

A new answer is a line in `answered` and a function in one of these modules.
"""

from collections.abc import Callable
from typing import NamedTuple

from ttmem.analysis.alive import ByWord
from ttmem.devices import Pool
from ttmem.recording import Recording
from ttmem.snapshot.values import Struct
from ttmem.view.page import PageOptions
from ttmem.view.table import Line

__all__ = ["Answered", "RecordedRequest", "answered"]


class RecordedRequest(NamedTuple):
    """What was asked of a recording."""

    recording: Recording
    by: tuple[ByWord, ...]
    pool: Pool | None
    chip: str | None
    most: int  # of sums; 0: all
    core: tuple[int, int] | None = None  # None: the fullest


class Answered(NamedTuple):
    """An answer, and how it is shown."""

    figures: Struct
    page: Callable[[PageOptions], list[Line]]


def answered(name: str, asked: RecordedRequest) -> Answered:
    """One of the answers by the name of its flag."""
    from ttmem.cli.recorded_answers import pools, room

    answers: dict[str, Callable[[RecordedRequest], Answered]] = {
        "page": pools.page,
        "core": room.core,
        "holes": room.holes,
        "floor": room.floor,
        "headroom": room.headroom,
        "trace_safety": room.trace_safety,
        "advise": room.advise,
    }
    return answers[name](asked)
