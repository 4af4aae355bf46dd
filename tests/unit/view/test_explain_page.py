"""The page of `ttmem explain` beyond the story itself: which incidents are not shown, and what there is without one."""

import re

import msgspec

from tests.support.metal.refused_memory import KIB, RefusingChip
from tests.support.simulated.figures import a_busy_snapshot
from ttmem.analysis import explain
from ttmem.snapshot import ProcessUsage
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.values import replace
from ttmem.view import plain
from ttmem.view.incidents.page import explanation_page, no_incident_page
from ttmem.view.incidents.run_summary import run_incidents
from ttmem.view.page import PageOptions

WIDE = PageOptions()


def a_refusal(number: int, kib: int = 700) -> Incident:
    chip = RefusingChip()
    chip.hold("a", chip.l1(1000 * KIB), "model.py:1 a")
    return msgspec.structs.replace(chip.refused(chip.l1(kib * KIB)).incident, number=number, entry_count=None)


def with_incidents(count: int, *kept: Incident, at: int = 0) -> ProcessUsage:
    process = a_busy_snapshot().processes[at]
    return replace(process, incidents=kept, incident_count=count, refusal_count=count, clash_count=0)


def page_of(process: ProcessUsage) -> str:
    newest = process.incidents[-1]
    found = explain(RefusingChip().copy(newest))
    snapshot = replace(a_busy_snapshot(), processes=(process,))
    return plain(explanation_page([(process, found)], snapshot, WIDE, is_whole=False, chosen=[process]))


def test_incidents_whose_slots_were_taken_are_counted() -> None:
    process = with_incidents(12, a_refusal(1), a_refusal(12))

    text = page_of(process)

    assert f"Other incidents of pid {process.pid}: {process.pid}-1 (out of memory, L1)" in text
    assert f"10 earlier incidents of pid {process.pid}, details not kept." in text


def test_what_comes_next_is_asked_of_the_same_file() -> None:
    process, other = with_incidents(2, a_refusal(1), a_refusal(2)), with_incidents(1, a_refusal(1), at=1)
    snapshot = replace(a_busy_snapshot(), processes=(process, other))
    found = explain(RefusingChip().copy(process.incidents[-1]))

    text = plain(
        explanation_page([(process, found)], snapshot, WIDE, is_whole=False, chosen=[process, other], path="run.ttmem")
    )

    assert "(ttmem explain run.ttmem --all)" in text
    assert f"pid {other.pid} (ttmem explain run.ttmem --incident PID-N)" in text


def test_nothing_is_never_said_where_something_was() -> None:
    lost = plain(no_incident_page((), [with_incidents(3)], WIDE))
    none = plain(no_incident_page(a_busy_snapshot().devices, [with_incidents(0)], WIDE))

    assert re.fullmatch(r" 3 incidents of pid \d+ \(.*\), details not kept\.\n", lost)
    assert none.startswith(" No incidents of pid ")
    assert " HEADROOM " in none


def test_a_run_shows_at_most_three_blocks_and_lines_for_the_others() -> None:
    processes = [replace(with_incidents(1, a_refusal(1, 500 + size)), pid=100 + size) for size in range(5)]

    lines = plain(
        run_incidents(processes, lambda one, found: explain(RefusingChip().copy(found)), WIDE, has_failed=True)
    )

    assert lines.count("  OUT OF MEMORY  ") == 3
    assert len(re.findall(r"^ pid 10\d out of memory; newest: ", lines, flags=re.MULTILINE)) == 2


def test_an_incident_of_an_unconfirmed_process_is_found_by_its_journal() -> None:
    process = replace(with_incidents(2, a_refusal(1), a_refusal(2)), pid=0, path="/dev/shm/ttmem-7/1-2-3.journal")

    run = plain(run_incidents([process], lambda one, found: explain(RefusingChip().copy(found)), WIDE, has_failed=True))

    assert "ttmem explain /dev/shm/ttmem-7/1-2-3.journal " in run
    assert "(ttmem explain /dev/shm/ttmem-7/1-2-3.journal --all)" in page_of(process)
