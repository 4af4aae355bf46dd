"""Several processes on one chip: peaks are those of the order of time, whichever process the recorder heard first."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.reporters import Nursery, a_nursery
from tests.support.recorded.sharing import CHIP, Sharing
from ttmem._native import Ledger
from ttmem.devices import Pool
from ttmem.recording import Meta, Recording, RecordingWriter

QUICK, ALL = 12, 200
BURSTS = 12


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


def told(seed: int, nurseries: list[Nursery], journals: Path, path: Path) -> tuple[Sharing, Recording]:
    """A story, and its recording."""
    ledger = Ledger()
    writer = RecordingWriter(path, ledger, meta=Meta())
    sharing = Sharing(seed, nurseries, journals)
    sharing.reporters[0].attach_to(ledger)
    for _ in range(BURSTS):
        sharing.burst()
        sharing.record(ledger, writer)
    for late in sharing.waiting:
        late.attach_to(ledger)
    sharing.note()
    ledger.drain()
    writer.close()
    return sharing, Recording(path)


def test_a_peak_is_that_of_the_order_of_time_and_not_of_reading(
    nursery: Nursery, journals: Path, tmp_path: Path
) -> None:
    ledger = Ledger()
    writer = RecordingWriter(tmp_path / "run.ttmem", ledger, meta=Meta())
    first, second = nursery.start(journals), nursery.start(journals)
    targets = [one.open_device(CHIP) for one in (first, second)]
    for one in (first, second):
        one.attach_to(ledger)
    ledger.drain()
    for number in range(1, 6):  # never both at once
        for one, target in zip((first, second), targets, strict=True):
            one.do(("report_buffer_alloc", target, number, 4096), ("report_buffer_free", target, number))
    first.call("report_buffer_alloc", targets[0], 7, 4096)  # both at once, where the reader sees none
    second.do(("report_buffer_alloc", targets[1], 7, 8192), ("report_buffer_free", targets[1], 7))
    first.call("report_buffer_free", targets[0], 7)
    ledger.drain()  # the one wholly before the other
    writer.close()

    [peak] = Recording(tmp_path / "run.ttmem").peaks()

    assert (peak.pool, peak.size_bytes) == (Pool.DRAM.number, 3 * 4096)


@pytest.mark.parametrize("seed", range(QUICK))
def test_peaks_of_several_processes_are_those_of_the_order_of_time(
    nursery: Nursery, journals: Path, tmp_path: Path, seed: int
) -> None:
    sharing, recording = told(seed, [nursery], journals, tmp_path / "run.ttmem")

    sharing.compare(recording)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(QUICK, ALL))
def test_peaks_of_many_stories_are_those_of_the_order_of_time(
    nursery: Nursery, journals: Path, tmp_path: Path, seed: int
) -> None:
    sharing, recording = told(seed, [nursery], journals, tmp_path / "run.ttmem")

    sharing.compare(recording)
