"""What was lost is counted, to the record: rows and losses together are what a program did."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.reporters import Nursery, a_nursery
from ttmem.collector import Collector
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places

RING = 64


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


@pytest.mark.parametrize("burst", [RING, RING + 1, 3 * RING, 50 * RING])
def test_what_a_lapped_recorder_lost_is_counted(nursery: Nursery, journals: Path, tmp_path: Path, burst: int) -> None:
    collector = Collector(Places(uid=os.geteuid(), directory=str(journals)))
    writer = RecordingWriter(tmp_path / "run.ttmem", collector.ledger, meta=Meta())
    reporter = nursery.start(journals, TTMEM_RING=str(RING))
    target = reporter.open_device(0x51)
    collector.tick()

    for count in (5, burst, 5):
        reporter.do(*(("report_buffer_alloc", target, number, 4096) for number in range(1, count + 1)))
        collector.tick()
        writer.flush()
    writer.close()
    reporter.kill()

    recording = Recording(tmp_path / "run.ttmem")
    lost = burst if burst > RING else 0
    assert recording.lost_record_count == lost
