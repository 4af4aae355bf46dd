"""A daemon that goes: its last picture stays while a process lives that only it knew."""

import os

import pytest

from tests.support.simulated.overviews import a_row, an_overview
from ttmem.errors import DaemonGone
from ttmem.monitor.feed import DaemonLossCheck
from ttmem.snapshot.usage import Snapshot
from ttmem.snapshot.values import replace

NO_PID = (1 << 22) + 1  # no pid


def of(*pids: int) -> Snapshot:
    return replace(an_overview(1, 0), processes=tuple(replace(a_row(1), pid=pid, key=pid) for pid in pids))


def test_what_can_be_seen_without_it_is_shown_at_once() -> None:
    check = DaemonLossCheck()
    check.check(of(os.getpid()), is_by_daemon=True)

    check.check(of(os.getpid()), is_by_daemon=False)


def test_who_has_ended_is_not_missed() -> None:
    check = DaemonLossCheck()
    check.check(of(NO_PID), is_by_daemon=True)

    check.check(of(), is_by_daemon=False)


def test_a_living_process_that_only_the_daemon_knew_is_waited_for_but_not_for_ever() -> None:
    times = iter([10.0, 12.0, 24.9, 25.0, 26.0])
    check = DaemonLossCheck(lambda: next(times))
    check.check(of(os.getpid()), is_by_daemon=True)

    for _ in range(3):
        with pytest.raises(DaemonGone, match="the daemon is gone, and only it knew of 1 process"):
            check.check(of(), is_by_daemon=False)
    check.check(of(), is_by_daemon=False)
    check.check(of(), is_by_daemon=False)


def test_one_that_is_back_is_believed_again() -> None:
    times = iter([10.0, 30.0])
    check = DaemonLossCheck(lambda: next(times))
    for _ in range(2):
        check.check(of(os.getpid()), is_by_daemon=True)
        with pytest.raises(DaemonGone):
            check.check(of(), is_by_daemon=False)
