"""The verdicts of a doctor: what was looked at, how it is, and what to do about it."""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

__all__ = ["Check", "Status", "worst"]


class Status(IntEnum):
    """How something is; the number is the exit code that says so."""

    PASS = 0
    WARN = 1
    FAIL = 2


class Check(NamedTuple):
    """One line: of what, how it is, and the next step if there is one."""

    status: Status
    topic: str
    text: str
    next_step: str = ""


def worst(checks: Iterable[Check]) -> Status:
    """What all of them together amount to."""
    return max((check.status for check in checks), default=Status.PASS)
