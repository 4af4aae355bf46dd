"""Recordings that forget: the oldest segments go whole, and the rest says all it said."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.journals.reporters import Nursery, a_nursery
from tests.support.recorded.killing import recorded
from ttmem.collector import Collector
from ttmem.collector.recorded import Moment
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.recording.sealing import segment_numbers
from ttmem.sources import Places

LAST, STEP, STEPS, EACH = 80.0, 11.0, 20, 5


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


def test_what_is_older_goes_and_what_was_alive_then_stays(
    nursery: Nursery, journals: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1000.0]
    fake = SimpleNamespace(monotonic=lambda: clock[0], time_ns=lambda: 0)  # the wall's clock stands still
    monkeypatch.setattr("ttmem.recording.writer.time", fake)
    path = tmp_path / "run.ttmem"
    collector = Collector(Places(uid=os.geteuid(), directory=str(journals)))
    writer = RecordingWriter(path, collector.ledger, meta=Meta(), last_seconds=LAST)
    reporter = nursery.start(journals)
    target = reporter.open_device(0x51)
    moments = []
    for step in range(STEPS):
        first = 1 + step * EACH
        reporter.do(*(("report_buffer_alloc", target, number, 4096) for number in range(first, first + EACH)))
        moments.append(time.monotonic_ns())
        collector.tick()
        clock[0] += STEP
        writer.flush()
    writer.close()
    reporter.kill()

    kept = len(segment_numbers(path))
    assert LAST / STEP < kept <= LAST / STEP + 2
    assert recorded(path)[0] == STEPS * EACH
    moment = Moment(Recording(path), at_ns=moments[-int(LAST / STEP)])
    [usage] = moment.snapshot.devices
    assert usage.pools[0].used_bytes == (STEPS - int(LAST / STEP) + 1) * EACH * 4096
