"""Times of a recording: what was alive at a moment is told by one clock, whoever was heard first."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.journals.reporters import Nursery, Reporter, a_nursery
from ttmem._native import Ledger
from ttmem.collector.recorded import Moment
from ttmem.recording import Meta, Recording, RecordingWriter

CHIP, SIZE = 0x51, 4096
HOUR_NS = 3600 * 10**9
CLOSE_NS = 500_000_000


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with a_nursery() as one:
        yield one


def held(moment: Moment) -> int:
    """How many buffers, of all processes."""
    return sum(pool.used_bytes or 0 for usage in moment.snapshot.devices for pool in usage.pools) // SIZE


class OnOneChip:
    """Two processes that allocate in turns, and a recorder that hears the second one late."""

    def __init__(self, nursery: Nursery, directory: Path, path: Path) -> None:
        self.ledger = Ledger()
        self.writer = RecordingWriter(path, self.ledger, meta=Meta())
        self.first, self.second = nursery.start(directory), nursery.start(directory)
        self.first.attach_to(self.ledger)
        self.targets = [one.open_device(CHIP) for one in (self.first, self.second)]
        self.count = 0

    def allocate(self, reporter: Reporter) -> None:
        self.count += 1
        target = self.targets[reporter is self.second]
        reporter.call("report_buffer_alloc", target, self.count, SIZE)

    def turns(self) -> int:
        """Both allocate, close to each other; the moment between."""
        while True:
            self.allocate(self.second)
            between_ns = time.monotonic_ns()
            self.allocate(self.first)
            if time.monotonic_ns() - between_ns < CLOSE_NS:
                return between_ns

    def take(self) -> None:
        self.ledger.drain()
        self.writer.flush()


def test_who_was_heard_late_was_there_all_the_same(nursery: Nursery, journals: Path, tmp_path: Path) -> None:
    both = OnOneChip(nursery, journals, tmp_path / "run.ttmem")
    between_ns = both.turns()
    count = both.count
    both.take()  # only the first one is heard
    both.second.attach_to(both.ledger)
    both.take()
    both.writer.close()

    recording = Recording(tmp_path / "run.ttmem")
    assert held(Moment(recording, at_ns=between_ns)) == count - 1
    assert held(Moment(recording)) == count


def test_a_clock_stepped_by_an_hour_moves_labels_and_no_order(nursery: Nursery, journals: Path, tmp_path: Path) -> None:
    both = OnOneChip(nursery, journals, tmp_path / "run.ttmem")
    both.second.attach_to(both.ledger)
    moments = []
    for _ in range(4):
        both.allocate(both.first)
        moments.append(time.monotonic_ns())
        both.take()
    both.writer.close()
    recording = Recording(tmp_path / "run.ttmem")
    told = [held(Moment(recording, at_ns=at_ns)) for at_ns in moments]
    labels = [recording.wall_ns(at_ns) for at_ns in moments]

    blocks = recording.segments[0].blocks
    events = [at for at, block in enumerate(blocks) if block.row_count and block.kind == 2]
    for at in range(events[2], len(blocks)):  # the wall's clock goes back before the third
        blocks[at] = blocks[at]._replace(wall_offset_ns=blocks[at].wall_offset_ns - HOUR_NS)

    assert told == [1, 2, 3, 4]
    assert [held(Moment(recording, at_ns=at_ns)) for at_ns in moments] == told
    stepped = [recording.wall_ns(at_ns) for at_ns in moments]
    assert [before - after for before, after in zip(labels, stepped, strict=True)] == [0, 0, HOUR_NS, HOUR_NS]
