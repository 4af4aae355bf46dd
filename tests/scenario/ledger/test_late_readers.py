"""Readers that attach, or find their place again, while a process reports at full speed."""

from pathlib import Path

from tests.support.journals.reporters import Command, Nursery
from tests.support.timing.waiting import wait_until
from ttmem._native import Ledger, testing
from ttmem.devices import Pool

SIZE = 100
CALLS = 40_000
ROUNDS, ATTACHES = 6, 40


def one_at_a_time(target: int, calls: int) -> list[Command]:
    """Ever new ids, of which only one is alive at any instant."""
    return [
        command
        for id in range(1, calls // 2 + 1)
        for command in (("report_buffer_alloc", target, id, SIZE), ("report_buffer_free", target, id))
    ]


def peaks_of(ledger: Ledger) -> set[int]:
    rows = testing.flat_rows(ledger)
    devices = {row[5] for row in rows["device_pools"] if row[1] == Pool.DRAM}
    return devices | {row[6] for row in rows["process_pools"] if row[2] == Pool.DRAM}


def test_no_reader_sees_a_peak_that_never_was(nursery: Nursery, tmp_path: Path) -> None:
    """What a scan finds alive and what is read again afterwards overlap; together they must not count twice."""
    reporter = nursery.start(tmp_path, TTMEM_TABLE="64", TTMEM_RING="4096")
    chip = reporter.open_device(0xA0)
    reporter.do(*one_at_a_time(chip, 5000))
    peaks: set[int] = set()
    for _ in range(ROUNDS):
        reporter.begin(*one_at_a_time(chip, CALLS))
        for _ in range(ATTACHES):
            late = Ledger()
            reporter.attach_to(late)
            for _ in range(3):
                late.drain()
            peaks |= peaks_of(late)
        reporter.finish()
    reporter.kill()

    assert peaks <= {0, SIZE}


def test_a_reader_that_is_lapped_repeatedly_is_exact_once_there_is_rest(nursery: Nursery, tmp_path: Path) -> None:
    reporter = nursery.start(tmp_path, TTMEM_TABLE="256", TTMEM_RING="16")
    chip = reporter.open_device(0xA0)
    ledger = Ledger()
    key = reporter.attach_to(ledger)
    for round in range(30):
        calls = one_at_a_time(chip, 200)
        reporter.begin(*calls, ("report_buffer_alloc", chip, 1000 + round, 7))
        for _ in range(5):
            ledger.drain()
        reporter.finish()
    wait_until(lambda: ledger.drain() == 0 and testing.flat_rows(ledger)["processes"][0]["complete"])

    rows = testing.flat_rows(ledger)
    reporter.kill()
    assert [row[3:6] for row in rows["process_pools"]] == [(30 * 7, 30 * 7, 30)]
    assert sorted(row[2] for row in ledger.allocations(key)) == [1000 + round for round in range(30)]
    assert rows["processes"][0]["findings"] == {}


def test_one_drain_reads_all_of_a_burst(nursery: Nursery, tmp_path: Path) -> None:
    """A pass takes 4,096 events of a journal at most: figures that are asked for behind a burst must not lag."""
    reporter = nursery.start(tmp_path)
    target = reporter.open_device(0x77)
    ledger = Ledger()
    key = reporter.attach_to(ledger)
    ledger.drain()
    reporter.do(*[("report_buffer_alloc", target, number, 4096) for number in range(1, 10_001)])

    ledger.drain()

    assert len(ledger.allocations(key, first=0, count=20_000)) == 10_000
