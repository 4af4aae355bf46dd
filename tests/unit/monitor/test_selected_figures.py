"""-i, -u and -p leave the rest out; sums stay whole."""

from functools import partial

import pytest

from tests.support.machine.driver_chips import a_driver_chip
from tests.support.simulated.overviews import an_overview
from ttmem.cli.common.request import device_words
from ttmem.errors import SelectionError
from ttmem.figures.source import FigureSource
from ttmem.monitor.feed import SelectedFigures, selected_overview
from ttmem.snapshot import Selection
from ttmem.snapshot.values import ChipId, replace

OVERVIEW = an_overview(chips=4, processes=6)


def test_nothing_asked_for_leaves_everything() -> None:
    assert selected_overview(OVERVIEW, Selection()) == OVERVIEW


def test_devices_are_chosen_with_the_processes_on_them() -> None:
    few = selected_overview(OVERVIEW, Selection(devices=("1", OVERVIEW.devices[3].device.uuid or "")))

    assert [usage.device.number for usage in few.devices] == [1, 3]
    assert list(few.processes) == [row for row in OVERVIEW.processes if {1, 3} & set(row.chips)]
    assert 0 < len(few.processes) < len(OVERVIEW.processes)


def test_processes_are_chosen_by_user_uid_and_pid() -> None:
    assert {row.user for row in selected_overview(OVERVIEW, Selection(users=("ada",))).processes} == {"ada"}
    uid = OVERVIEW.processes[0].uid
    assert {row.uid for row in selected_overview(OVERVIEW, Selection(users=(str(uid),))).processes} == {uid}
    assert [row.pid for row in selected_overview(OVERVIEW, Selection(pids=(4002, 1))).processes] == [4002]
    assert selected_overview(OVERVIEW, Selection(pids=(4002,))).devices == OVERVIEW.devices


def test_a_device_that_is_not_there_is_said_with_those_that_are() -> None:
    with pytest.raises(SelectionError, match=r"no device 9 here; known are 0, 1, 2, 3"):
        selected_overview(OVERVIEW, Selection(devices=("9",)))


def test_a_chip_is_named_as_the_tables_name_it_and_found_again_once_it_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also by file and address of a card whose unique id the driver does not report."""
    serial = 0x0461_0000_0012
    opened = replace(OVERVIEW.devices[1].device, unique_id=ChipId(serial << 5 | 1))
    chip = a_driver_chip(3, card_type="p150a", serial=f"{serial:x}", asic_id=None)
    before = replace(OVERVIEW, devices=OVERVIEW.devices[:1])
    seen = [before, replace(before, devices=(*before.devices, replace(OVERVIEW.devices[1], device=opened)))]
    monkeypatch.setattr(FigureSource, "overview", lambda looking: seen[0])
    monkeypatch.setattr(FigureSource, "telemetry", lambda looking: (chip,))
    looking = SelectedFigures({}, uid=0)

    looking.words_of = partial(device_words, "/dev/tenstorrent/3")
    with pytest.raises(SelectionError, match="the driver does not say which chip that is"):
        looking.overview()
    del seen[0]
    for words in ("/dev/tenstorrent/3", "04:00.0", "0000:04:00.0", opened.uuid):
        looking.words_of = partial(device_words, words)
        looking._known = None
        assert [usage.device for usage in looking.overview().devices] == [opened]
    looking.words_of, looking._known = partial(device_words, "/dev/tenstorrent/4"), None
    with pytest.raises(SelectionError, match=r"no device /dev/tenstorrent/4 here; the driver has /dev/tenstorrent/3"):
        looking.overview()
