"""What is alive is listed in parts: all of it, each buffer once."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.reporters import Nursery, a_nursery
from ttmem.collector import Collector
from ttmem.collector.recorded import Moment
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places

COUNT = 20


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


@pytest.mark.parametrize("at_once", [1, 7, COUNT, COUNT + 1])
def test_parts_are_all_that_is_alive(
    nursery: Nursery, journals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("ttmem.collector.recorded._ROWS_AT_ONCE", at_once)
    collector = Collector(Places(uid=os.geteuid(), directory=str(journals)))
    writer = RecordingWriter(tmp_path / "run.ttmem", collector.ledger, meta=Meta())
    reporter = nursery.start(journals)
    target = reporter.open_device(0x51)
    reporter.do(*(("report_buffer_alloc", target, number, 4096 * number) for number in range(1, COUNT + 1)))
    collector.tick()
    [live] = collector.snapshot().live
    alive = [row[2] for row in collector.ledger.allocations(live.key)]
    part = [row[2] for row in collector.ledger.allocations(live.key, first=3, count=at_once)]
    writer.close()
    reporter.kill()

    moment = Moment(Recording(tmp_path / "run.ttmem"))
    [process] = moment.snapshot.live
    assert sorted(row[2] for row in moment.allocations(process.key)) == list(range(1, COUNT + 1))
    assert part == alive[3 : 3 + at_once]
