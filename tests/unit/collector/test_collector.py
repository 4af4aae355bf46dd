"""The collector on real processes: late, alongside another, in a thread, and after a death."""

import os
from pathlib import Path

import pytest

from tests.support.processes.programs import a_program
from tests.support.timing.waiting import wait_until
from ttmem.collector import Collector
from ttmem.snapshot import Snapshot
from ttmem.sources import Places

REPORTS = ("chip = ttmem.open_device(5, index=0)", "ttmem.report_buffer_alloc(chip, 1, 4096)", "meet()")
MORE = ("ttmem.report_buffer_alloc(chip, 2, 1 << 20)", "meet()")


def a_collector(directory: Path) -> Collector:
    return Collector(Places(uid=os.geteuid(), directory=str(directory)))


def dram(snapshot: Snapshot) -> int:
    return sum(usage.used_bytes for device in snapshot.devices for usage in device.pools)


def test_an_empty_place_gives_an_empty_snapshot(tmp_path: Path) -> None:
    with a_collector(tmp_path) as collector:
        assert collector.wait_settled(1)
        snapshot = collector.snapshot()

    assert (snapshot.processes, snapshot.devices) == ((), ())
    assert (snapshot.source, snapshot.places) == ("embedded collector", (str(tmp_path),))


def test_a_collector_that_comes_late_is_exact(tmp_path: Path) -> None:
    with a_program(tmp_path, *REPORTS) as program, a_collector(tmp_path) as collector:
        program.arrive()
        assert collector.wait_settled(5)
        snapshot = collector.snapshot()

    assert (dram(snapshot), snapshot.is_complete) == (4096, True)
    assert [process.pid for process in snapshot.live] == [program.pid]


def test_a_running_collector_follows(tmp_path: Path) -> None:
    with a_collector(tmp_path) as collector:
        collector.start()
        with a_program(tmp_path, *REPORTS, *MORE) as program:
            program.arrive()
            wait_until(lambda: dram(collector.snapshot()) == 4096)
            program.go_on()
            program.arrive()
            wait_until(lambda: dram(collector.snapshot()) == 4096 + (1 << 20))


def test_two_collectors_agree(tmp_path: Path) -> None:
    with a_program(tmp_path, *REPORTS) as program, a_collector(tmp_path) as one, a_collector(tmp_path) as other:
        program.arrive()
        assert one.wait_settled(5)
        assert other.wait_settled(5)

        assert dram(one.snapshot()) == dram(other.snapshot()) == 4096


def test_a_dead_process_gives_its_memory_back(tmp_path: Path) -> None:
    with a_collector(tmp_path) as collector, a_program(tmp_path, *REPORTS) as program:
        program.arrive()
        collector.start()
        wait_until(lambda: dram(collector.snapshot()) == 4096)
        program.process.kill()

        wait_until(lambda: dram(collector.snapshot()) == 0)
        snapshot = collector.snapshot()

    [ended] = snapshot.ended
    assert (ended.pid, ended.devices[0].pools[0].used_bytes) == (program.pid, 4096)
    assert snapshot.live == ()


def test_those_who_were_dead_before_we_came_do_not_raise_a_devices_peak(tmp_path: Path) -> None:
    for _ in range(2):
        with a_program(tmp_path, *REPORTS) as program:
            program.arrive()
    with a_program(tmp_path, *REPORTS) as program, a_collector(tmp_path) as collector:
        program.arrive()
        assert collector.wait_settled(5)
        snapshot = collector.snapshot()

    assert [usage.peak_bytes for device in snapshot.devices for usage in device.pools] == [4096]
    assert len(snapshot.ended) == 2


def test_a_late_viewer_says_that_a_chips_peak_may_have_been_higher(tmp_path: Path) -> None:
    lines = (
        "chip = ttmem.open_device(5)",
        "ttmem.report_free(ttmem.report_buffer_alloc(chip, 1, 10_000))",
        "for id in range(300): ttmem.report_free(ttmem.report_buffer_alloc(chip, id, 10))",
        "ttmem.report_buffer_alloc(chip, 1, 100)",
        "meet()",
    )
    with a_program(tmp_path, *lines, TTMEM_RING="64") as program, a_collector(tmp_path) as collector:
        program.arrive()
        assert collector.wait_settled(5)
        [usage] = collector.snapshot().devices[0].pools

    assert (usage.used_bytes, usage.peak_bytes, usage.is_lower_bound) == (100, 10_000, True)


def test_a_viewer_that_missed_nothing_knows_when_a_chips_peak_was(tmp_path: Path) -> None:
    with a_program(tmp_path, *REPORTS) as program:
        program.arrive()
        with a_collector(tmp_path) as collector:
            assert collector.wait_settled(5)
            snapshot = collector.snapshot()
    [usage] = snapshot.devices[0].pools
    [own] = snapshot.live[0].devices[0].pools

    assert (usage.peak_bytes, usage.is_lower_bound) == (4096, False)
    assert abs((usage.peak_time_ns or 0) - (own.peak_time_ns or 0)) < 1_000_000
    assert (usage.since_ns or 0) < (usage.peak_time_ns or 0)


def test_a_file_that_is_no_journal_is_one_finding_and_harms_no_process(tmp_path: Path) -> None:
    (tmp_path / "1-1-00000000.journal").write_bytes(bytes(1 << 16))
    with a_program(tmp_path, *REPORTS) as program, a_collector(tmp_path) as collector:
        program.arrive()
        assert collector.wait_settled(5)
        for _ in range(3):
            collector.tick()
        snapshot = collector.snapshot()

    assert [finding.path for finding in snapshot.damaged] == [str(tmp_path / "1-1-00000000.journal")]
    assert (dram(snapshot), snapshot.is_complete) == (4096, True)


def test_a_stopped_collector_keeps_its_figures_and_can_start_again(tmp_path: Path) -> None:
    with a_program(tmp_path, *REPORTS, *MORE) as program, a_collector(tmp_path) as collector:
        program.arrive()
        collector.start()
        collector.start()  # a second start changes nothing
        wait_until(lambda: dram(collector.snapshot()) == 4096)
        collector.stop()
        collector.stop()
        program.go_on()
        program.arrive()

        assert dram(collector.snapshot()) == 4096
        collector.start()
        wait_until(lambda: dram(collector.snapshot()) == 4096 + (1 << 20))


def test_a_collector_in_a_reporting_process_sees_that_process(tmp_path: Path) -> None:
    with a_program(
        tmp_path,
        "import os",
        "from ttmem.collector import Collector",
        "from ttmem.sources import Places",
        *REPORTS[:2],
        "with Collector(Places.from_environment(os.environ, uid=os.geteuid())) as collector:",
        "    assert collector.wait_settled(5)",
        "    [process] = collector.snapshot().live",
        "assert process.pid == os.getpid() and process.devices[0].pools[0].used_bytes == 4096",
        "meet()",
    ) as program:
        program.arrive()
        with a_collector(tmp_path) as outside:
            assert outside.wait_settled(5)
            [process] = outside.snapshot().live  # it still holds its lock

    assert process.pid == program.pid


@pytest.mark.parametrize("label", ["", "\x1b[31mred", "näme 日本"])
def test_a_label_comes_through_as_it_was_given(tmp_path: Path, label: str) -> None:
    with (
        a_program(tmp_path, "ttmem.open_device(5)", f"ttmem.label({label!r})", "meet()") as program,
        a_collector(tmp_path) as collector,
    ):
        program.arrive()
        assert collector.wait_settled(5)
        [process] = collector.snapshot().processes

    assert process.label == (label or process.command)
