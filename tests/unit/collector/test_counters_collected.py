"""What the runtime's counters say in a collector's snapshots and overviews."""

import os
import time
from pathlib import Path

from tests.support.machine.stock_regions import Slot, a_region, put
from tests.support.processes.programs import a_program
from tests.support.simulated.read_figures import Canned, a_read_snapshot
from tests.support.simulated.timeless import timeless
from tests.support.timing.waiting import wait_until
from ttmem.collector import Collector
from ttmem.collector.rows.sums import overview_of
from ttmem.collector.runtime_counters import RuntimeCounters
from ttmem.devices import Pool
from ttmem.snapshot import Finding, Foreign, Readings
from ttmem.sources import Places


def test_regions_without_chips_are_named_besides() -> None:
    before = a_read_snapshot()
    foreign = (Foreign("/dev/shm/tt_device_6_memory", 1002, "1002", "counters"),)
    readings = Readings(places=("/elsewhere",), foreign=foreign, findings=(Finding("region_ignored", 1),))

    joined = RuntimeCounters(Canned(), user_of=str).joined(before, readings)

    assert joined.places == (*before.places, "/elsewhere")
    assert (joined.foreign, joined.findings) == ((*before.foreign, *foreign), (*before.findings, *readings.findings))


def test_a_program_that_reports_and_one_that_does_not_are_shown_alike(tmp_path: Path) -> None:
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
        overview, snapshot = collector.overview(), collector.snapshot()

    rows = {row.source: row for row in overview.processes}
    assert {source: row.finding_count for source, row in rows.items()} == {"journal": 1, "runtime": 0}
    assert {source: row.parent_pid for source, row in rows.items()} == {
        "journal": os.getpid(),
        "runtime": os.getppid(),
    }
    assert {source: (row.used_bytes(Pool.DRAM), row.chips) for source, row in rows.items()} == {
        "journal": (4096, (0,)),
        "runtime": (9, (0,)),
    }
    assert timeless(overview) == timeless(overview_of(snapshot))
