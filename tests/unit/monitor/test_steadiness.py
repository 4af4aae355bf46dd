"""A daemon that goes: its last picture stays while it alone told of somebody who lives."""

import os

import pytest

from tests.support.simulated.sights import a_row, an_overview
from ttmem.errors import DaemonGone
from ttmem.monitor.steadiness import Steadiness
from ttmem.snapshot.usage import Snapshot
from ttmem.snapshot.values import replace

NOBODY = (1 << 22) + 1  # no pid


def of(*pids: int) -> Snapshot:
    return replace(an_overview(1, 0), processes=tuple(replace(a_row(1), pid=pid, key=pid) for pid in pids))


def test_what_can_be_seen_without_it_is_shown_at_once() -> None:
    steadiness = Steadiness()
    steadiness.check(of(os.getpid()), is_by_daemon=True)

    steadiness.check(of(os.getpid()), is_by_daemon=False)


def test_who_has_ended_is_not_missed() -> None:
    steadiness = Steadiness()
    steadiness.check(of(NOBODY), is_by_daemon=True)

    steadiness.check(of(), is_by_daemon=False)


def test_who_lives_and_was_told_of_by_the_daemon_alone_is_waited_for_but_not_for_ever() -> None:
    times = iter([10.0, 12.0, 24.9, 25.0, 26.0])
    steadiness = Steadiness(lambda: next(times))
    steadiness.check(of(os.getpid()), is_by_daemon=True)

    for _ in range(3):
        with pytest.raises(DaemonGone, match="the daemon has gone that alone told of 1 process"):
            steadiness.check(of(), is_by_daemon=False)
    steadiness.check(of(), is_by_daemon=False)
    steadiness.check(of(), is_by_daemon=False)


def test_one_that_is_back_is_believed_again() -> None:
    times = iter([10.0, 30.0])
    steadiness = Steadiness(lambda: next(times))
    for _ in range(2):
        steadiness.check(of(os.getpid()), is_by_daemon=True)
        with pytest.raises(DaemonGone):
            steadiness.check(of(), is_by_daemon=False)
