"""An overview joined with the runtime's counters says what a joined snapshot says."""

import os
import time
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.machine.stock_regions import Slot, a_region, put
from tests.support.processes.programs import a_program
from tests.support.simulated.figures import surroundings
from tests.support.simulated.made_up_rows import snapshots
from tests.support.simulated.overviews import without_times
from tests.support.simulated.read_figures import CHIP, QUIET, Canned, a_chip, a_read_snapshot, a_reading, readings_of
from tests.support.timing.waiting import wait_until
from ttmem.collector import Collector
from ttmem.collector.joined_overview import joined_overview, surrounding
from ttmem.collector.runtime_counters import RuntimeCounters
from ttmem.snapshot import Finding, Foreign, Readings, Snapshot
from ttmem.snapshot.sights.overview import no_parent, overview_of
from ttmem.sources import Places

PIDS = st.sets(st.sampled_from([1, 2, 77, 4001, 4002]), max_size=3)


@st.composite
def some_readings(draw: st.DrawFn) -> Readings:
    chips = [
        a_chip(
            *(a_reading(pid, last_update_ns=draw(st.sampled_from([None, 1, QUIET]))) for pid in draw(PIDS)),
            unique_id=unique_id,
            beyond=draw(st.integers(0, 9)),
            stale=draw(st.integers(0, 9)),
        )
        for unique_id in (CHIP, CHIP + 1, CHIP + 9)
    ]
    return readings_of(*chips, findings=(Finding("region_ignored", 1, path="/dev/shm/x"),))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(snapshot=snapshots(), readings=some_readings())
def test_whatever_is_read(snapshot: Snapshot, readings: Readings) -> None:
    held = {held.device.number for process in snapshot.processes for held in process.devices}
    if not held <= {usage.device.number for usage in snapshot.devices}:
        return  # a chip that is not shown has a number, and chips of the counters then have others
    slow = overview_of(RuntimeCounters(Canned(), user_of=str).joined(snapshot, readings))
    twice = [process for process in snapshot.live if process.pid in readings.pids]

    fast = joined_overview(RuntimeCounters(Canned(), user_of=str), overview_of(snapshot), twice, readings, no_parent)

    assert fast == slow


def test_regions_without_chips_are_told_besides() -> None:
    foreign = (Foreign("/dev/shm/tt_device_6_memory", 1002, "1002", "counters"),)
    readings = Readings(places=("/dev/shm",), foreign=foreign, findings=(Finding("region_ignored", 1),))

    beside = surrounding(surroundings(), readings)
    joined = RuntimeCounters(Canned(), user_of=str).joined(a_read_snapshot(), readings)

    assert beside.places == (*surroundings().places, "/dev/shm")
    assert (beside.foreign, beside.findings) == (foreign, readings.findings)
    assert joined.foreign[-1:] == foreign


def test_a_program_that_reports_and_one_that_does_not_are_told_alike(tmp_path: Path) -> None:
    (journals := tmp_path / "journals").mkdir()
    (stock := tmp_path / "stock").mkdir()
    lines = ("chip = ttmem.open_device(0x55, index=0)", "ttmem.report_buffer_alloc(chip, 1, 4096)", "meet()")
    places = Places(uid=os.geteuid(), directory=str(journals), stock_directory=str(stock))
    with a_program(journals, *lines) as program, Collector(places) as collector:
        program.arrive()
        now = time.time_ns() - 10**9
        put(stock, 0x55, a_region(Slot(program.pid, (64, 0, 0, 0, 0), now), Slot(os.getpid(), (9, 0, 0, 0, 0), now)))
        assert collector.wait_settled(5)
        wait_until(lambda: collector.overview().findings)  # compared once the program has been quiet for a moment
        fast = collector.overview()
        slow = overview_of(collector.snapshot(), lambda pid, start: os.getpid() if pid == program.pid else os.getppid())

    assert {row.source: row.finding_count for row in fast.processes} == {"journal": 1, "runtime": 0}
    assert without_times(fast) == without_times(slow)
