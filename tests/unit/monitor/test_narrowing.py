"""-i, -u and -p leave the rest out; sums stay whole."""

import pytest

from tests.support.sights import an_overview
from ttmem.errors import SelectionError
from ttmem.monitor.narrowing import narrowed
from ttmem.snapshot import Selection

OVERVIEW = an_overview(chips=4, processes=6)


def test_nothing_asked_for_leaves_everything() -> None:
    assert narrowed(OVERVIEW, Selection()) == OVERVIEW


def test_devices_are_chosen_with_the_processes_on_them() -> None:
    few = narrowed(OVERVIEW, Selection(devices=("1", OVERVIEW.devices[3].device.uuid or "")))

    assert [usage.device.number for usage in few.devices] == [1, 3]
    assert list(few.processes) == [row for row in OVERVIEW.processes if {1, 3} & set(row.devices)]
    assert 0 < len(few.processes) < len(OVERVIEW.processes)


def test_processes_are_chosen_by_user_uid_and_pid() -> None:
    assert {row.user for row in narrowed(OVERVIEW, Selection(users=("ada",))).processes} == {"ada"}
    uid = OVERVIEW.processes[0].uid
    assert {row.uid for row in narrowed(OVERVIEW, Selection(users=(str(uid),))).processes} == {uid}
    assert [row.pid for row in narrowed(OVERVIEW, Selection(pids=(4002, 1))).processes] == [4002]
    assert narrowed(OVERVIEW, Selection(pids=(4002,))).devices == OVERVIEW.devices


def test_a_device_that_is_not_there_is_said_with_those_that_are() -> None:
    with pytest.raises(SelectionError, match=r"no device 9 here; known are 0, 1, 2, 3"):
        narrowed(OVERVIEW, Selection(devices=("9",)))
