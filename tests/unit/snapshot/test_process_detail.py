"""One process close up: which one is meant, what its lists say, and that it is read back as it was."""

from typing import Any

import pytest

from tests.support.simulated.figures import NOON_NS, a_busy_snapshot, a_process, a_row, a_snapshot
from tests.support.simulated.overviews import a_detail
from ttmem.collector.rows.allocations import process_detail_of
from ttmem.errors import SelectionError, VersionMismatch
from ttmem.snapshot import ChipId, replace
from ttmem.snapshot.codec import decoded, encoded
from ttmem.snapshot.process_detail import ProcessDetail, found_process

PID = 40


def found(*processes: dict[str, Any], key: int | None = None) -> int:
    """The key of the process that is meant by the pid all of them have."""
    given = [a_process(number, pid=PID, **changes) for number, changes in enumerate(processes, start=1)]
    return found_process(a_snapshot(processes=given).processes, PID, key).key


def test_of_several_processes_of_a_pid_the_living_one_is_meant() -> None:
    assert found({"state": "ended"}, {}, {"state": "ended"}) == 2


def test_a_pid_of_our_own_namespace_comes_before_one_of_another() -> None:
    assert found({}, {"visible": False}) == 1


def test_of_ended_ones_the_last_is_meant() -> None:
    assert found({"state": "ended"}, {"state": "ended"}) == 2


def test_a_key_says_which_one() -> None:
    assert found({"state": "ended"}, {}, key=1) == 1


def test_a_key_that_is_no_longer_there_does_not_hide_the_process() -> None:
    assert found({"state": "ended"}, {}, key=99) == 2


def test_a_pid_of_no_process_is_an_error_that_names_it() -> None:
    with pytest.raises(SelectionError, match="no process 41 here"):
        found_process(a_busy_snapshot().processes, 41)


def test_lists_that_are_cut_say_how_much_is_missing() -> None:
    process = a_snapshot(processes=[a_process(live_count=9)]).processes[0]
    sites = [("model.py:3 f\nrun.py:1 g", 12, 2)]
    rows = {"largest": [a_row(5), a_row(4)], "oldest": [a_row(4)], "sites": sites, "site_count": 7}

    detail = process_detail_of(process, rows, time_ns=NOON_NS)

    assert [holding.allocation.size_bytes for holding in detail.largest] == [5, 4]
    assert (detail.more_count, detail.more_site_count) == (7, 6)
    assert (detail.sites[0].stack, detail.sites[0].size_bytes) == (("model.py:3 f", "run.py:1 g"), 12)
    assert detail.largest[0].allocation.owner.pid == process.pid


def test_a_process_is_read_back_as_it_was() -> None:
    detail = a_detail(more_site_count=4)

    assert decoded(encoded(detail), ProcessDetail) == detail


def test_a_chip_known_by_a_phase_alone_keeps_its_number() -> None:
    detail = a_detail()
    phase = detail.process.phases[0]
    apart = replace(phase, device=replace(phase.device, number=9, index=9, unique_id=ChipId(77)))

    again = decoded(encoded(replace(detail, process=replace(detail.process, phases=(apart,)))), ProcessDetail)

    assert again.process.phases[0].device.number == 9


def test_an_answer_without_a_field_is_refused_by_its_name() -> None:
    told = encoded(a_detail()).replace(b'"size_bytes":', b'"size":', 1)

    with pytest.raises(
        VersionMismatch, match=r"missing required field `size_bytes` - at `\$\.largest\[0\]\.allocation`"
    ):
        decoded(told, ProcessDetail)
