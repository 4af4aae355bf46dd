"""A recorder in the test's own process, and moments of which everything is known."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ttmem.collector import Collector
from ttmem.recording import Meta, RecordingWriter
from ttmem.sources import Places


class RecordedRun:
    """What is reported in a directory of journals, recorded beside them."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "story.ttmem"
        self.collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
        self.writer = RecordingWriter(self.path, self.collector.ledger, meta=Meta())

    @contextmanager
    def still(self) -> Iterator[int]:
        """A moment (CLOCK_MONOTONIC) between two events and near neither: stamps are exact to a few microseconds."""
        self.collector.wait_settled()
        self.writer.flush()
        yield time.monotonic_ns()
        self.collector.tick()  # looked at again, nothing had happened until then: no gap begins before
        self.writer.flush()
