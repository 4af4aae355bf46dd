"""The course of real processes: also what came and went between two looks."""

import itertools
import os
import threading
from pathlib import Path

import pytest

from tests.support.processes.programs import a_program
from tests.support.timing.waiting import wait_until
from ttmem.collector import Collector
from ttmem.collector.history import HistoryRecorder
from ttmem.devices import Pool
from ttmem.snapshot.history import History, Series
from ttmem.sources import Places

OPENS = ("chip = ttmem.open_device(5, index=0)", "meet()")
SPIKES = (
    "with ttmem.phase('spike'):",
    "    ttmem.report_buffer_alloc(chip, 1, 1 << 20)",
    "    ttmem.report_buffer_free(chip, 1)",
    "ttmem.report_out_of_memory(chip, 2, 4096)",
    "meet()",
)


def a_collector(directory: Path) -> Collector:
    return Collector(Places(uid=os.geteuid(), directory=str(directory)))


def dram(history: History) -> Series:
    [found] = [series for series in history.series if series.pool is Pool.DRAM]
    return found


def test_what_came_and_went_within_a_second_is_in_its_sample(tmp_path: Path) -> None:
    seconds = itertools.count(1_700_000_000)
    with a_collector(tmp_path) as collector, a_program(tmp_path, *OPENS, *SPIKES) as program:
        course = HistoryRecorder(collector.ledger.sample, lambda: (), clock_ns=lambda: next(seconds) * 1_000_000_000)
        program.arrive()
        assert collector.wait_settled(5)
        course.take_due()
        program.go_on()
        program.arrive()
        collector.tick()
        history = course.history(300)
        collector.tick()
        later = course.history(300)

    assert (dram(history).highest_bytes, dram(later).latest_bytes) == (1 << 20, 0)
    assert (dram(history).uuid, dram(history).origin) == ("0x0000000000000005", "counted")


def test_the_fullest_core_of_each_second_is_what_the_chip_said_then(tmp_path: Path) -> None:
    opens = (
        "from ttmem.devices import Pool",
        "facts = dict(grid=(8, 8), banks=(12, 64), kernel_ring_bytes=70_656, capacities={Pool.L1: 64 << 20})",
        "chip = ttmem.open_device(5, index=0, **facts)",
        "meet()",
        "ttmem.report_buffer_alloc(chip, 1, 64 << 18, 0, 0, 0, 1)",
        "meet()",
        "ttmem.report_buffer_free(chip, 1)",
        "meet()",
    )
    with a_collector(tmp_path) as collector, a_program(tmp_path, *opens) as program:
        second = itertools.count(1_700_000_000)
        recorder = HistoryRecorder(
            collector.ledger.sample,
            lambda: (),
            clock_ns=lambda: next(second) * 1_000_000_000,
            overview=collector.overview,
        )
        said = []
        for _ in range(3):
            program.arrive()
            assert collector.wait_settled(5)
            recorder.take_due()
            [usage] = collector.overview().devices
            said.append(usage.fullest_core_bytes)
            program.go_on()
        history = recorder.history(60)

    found = history.fullest_core_of(usage.device.as_name())
    assert found is not None
    assert said == [70_656, 70_656 + (1 << 18), 70_656]
    assert [sample for sample in found.samples if sample is not None][:3] == said
    assert (found.capacity_bytes, found.uuid, found.pool) == ((1 << 20) + 70_656, "0x0000000000000005", Pool.L1)
    assert found not in history.series


def test_what_happens_to_a_process_is_marked(tmp_path: Path) -> None:
    with a_collector(tmp_path) as collector:
        with a_program(tmp_path, *OPENS, *SPIKES) as program:
            program.arrive()
            assert collector.wait_settled(5)
            program.go_on()
            program.arrive()
            collector.tick()
            history = collector.history(60)
        wait_until(lambda: collector.tick() == 0 and not collector.snapshot().live)
        course = HistoryRecorder(collector.ledger.sample, lambda: (), clock_ns=lambda: history.end_ns)
        ended = course.history(60)

    happened = {mark.what: mark for mark in history.marks}
    assert set(happened) == {"process_began", "phase_began", "phase_ended", "out_of_memory"}
    assert {mark.pid for mark in history.marks} == {program.pid}
    assert (happened["phase_began"].text, happened["out_of_memory"].pool) == ("spike", Pool.L1)
    assert (happened["out_of_memory"].size_bytes, happened["out_of_memory"].device) == (4096, dram(history).device)
    assert [mark.what for mark in ended.marks] == ["process_began", "process_ended"]


def test_a_collector_that_follows_samples_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lookers: list[str] = []
    monkeypatch.setattr(HistoryRecorder, "take_due", lambda course: lookers.append(threading.current_thread().name))

    with a_collector(tmp_path) as collector:
        collector.start()
        wait_until(lambda: lookers)

    assert set(lookers) == {"ttmem-collector"}


def test_a_collector_that_does_not_follow_has_one_sample(tmp_path: Path) -> None:
    with a_program(tmp_path, *OPENS) as program, a_collector(tmp_path) as collector:
        program.arrive()
        assert collector.wait_settled(5)

        assert [sample for sample in dram(collector.history(60)).samples if sample is not None] == [0]
