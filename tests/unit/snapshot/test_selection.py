"""Choosing devices, users and processes: what is kept, and that totals of a device stay everybody's."""

import pytest

from tests.support.simulated.figures import GIB, a_busy_snapshot, a_device, a_process, a_snapshot, an_incident
from ttmem.errors import SelectionError
from ttmem.snapshot import Selection, Snapshot, selected


def chosen(**parts: object) -> Snapshot:
    return selected(a_busy_snapshot(), Selection(**parts))  # type: ignore[arg-type]


def test_nothing_asked_for_keeps_everything() -> None:
    assert selected(a_busy_snapshot(), Selection()) == a_busy_snapshot()


def test_a_device_is_chosen_by_its_index() -> None:
    snapshot = chosen(devices=("1",))

    assert [usage.device.index for usage in snapshot.devices] == [1]
    assert [[held.device.index for held in process.devices] for process in snapshot.processes] == [[1], [1]]


def test_a_device_is_chosen_by_its_unique_id() -> None:
    assert [usage.device.index for usage in chosen(devices=("0x0100014511703061",)).devices] == [1]


def test_stories_of_other_devices_are_left_out() -> None:
    [_, second] = chosen(devices=("1",)).processes

    assert (second.programs, second.phases, second.out_of_memory) == ((), (), ())


def test_incidents_are_those_of_the_chosen_devices() -> None:
    process = a_process(1, incidents=[an_incident(2, devices=(0,)), an_incident(3)], incident_count=4)
    snapshot = a_snapshot(devices=[a_device(0), a_device(1)], processes=[process])
    [first], [second] = (selected(snapshot, Selection(devices=(word,))).processes for word in ("0", "1"))

    assert [incident.number for incident in first.incidents] == [2, 3]
    assert [incident.number for incident in second.incidents] == [3]
    assert (first.unlisted_incident_count, second.unlisted_incident_count) == (2, 2)


def test_a_process_is_chosen_by_pid_and_the_device_keeps_its_total() -> None:
    snapshot = chosen(pids=(4001,))

    assert [process.pid for process in snapshot.processes] == [4001]
    assert snapshot.devices[0].pools[0].used_bytes == 9 * GIB


@pytest.mark.parametrize("user", ["grace", "1001"])
def test_a_user_is_chosen_by_name_or_number(user: str) -> None:
    assert [process.user for process in chosen(users=(user,)).processes] == ["grace"]


def test_ended_processes_can_be_left_out() -> None:
    assert [process.state for process in chosen(is_with_ended=False).processes] == ["live", "live"]


def test_a_device_that_is_not_there_is_an_error_that_names_the_others() -> None:
    with pytest.raises(SelectionError, match=r"no device 7 here; known are 0, 1, unknown:2$"):
        chosen(devices=("7",))


def test_a_device_without_an_index_is_chosen_by_its_name() -> None:
    [usage] = chosen(devices=("unknown:2",)).devices

    assert usage.device.name == "unknown:2"


def test_of_many_devices_a_few_are_named() -> None:
    snapshot = a_snapshot(devices=[a_device(index) for index in range(32)])

    with pytest.raises(SelectionError, match=r"no device 77 here; known are 0, 1, .*, 9, \.\.\. and 22 more$"):
        selected(snapshot, Selection(("77",)))


def test_a_word_that_is_no_device_is_an_error() -> None:
    with pytest.raises(SelectionError, match="'pci' is no device"):
        chosen(devices=("pci",))
