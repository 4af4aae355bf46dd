"""What every answer about room has in common: whose recording, how sure it is, and a moment of it."""

from typing import Literal

from ttmem.snapshot.values import Answer, Number, Struct, TimeNs

__all__ = ["Certainty", "CoursePoint", "RoomAnswer", "RunTime"]

# measured: at every event. sampled: at some instants, and between them it may have been otherwise. inferred: by a rule
# that may be wrong. at_least: something was not seen, so it was that or more.
Certainty = Literal["measured", "sampled", "inferred", "at_least"]


class RunTime(Struct, frozen=True):
    """A moment of a recording."""

    time_ns: TimeNs
    since_start_ns: TimeNs  # since its first event


class RoomAnswer(Answer, frozen=True, kw_only=True):
    """An answer from a recording, and how sure it is."""

    path: str
    certainty: Certainty
    why: str  # it is as sure as that


class CoursePoint(Struct, frozen=True):
    """A figure at one moment; None: not known, or there was nothing."""

    when: RunTime
    value: Number | None
