"""What is alive now, allocation by allocation: as a document for those who ask, as text for the log."""

from typing import Any

from ttmem.collector import Collector
from ttmem.snapshot import Snapshot
from ttmem.snapshot.dump import Dump, dump_of
from ttmem.snapshot.dump_document import dump_document
from ttmem.snapshot.selection import MOST
from ttmem.view import plain
from ttmem.view.dump_page import dump_page
from ttmem.view.page import PageOptions

__all__ = ["Dumping"]

_MOST_ROWS = 100_000  # in one answer, also for who asks for all; totals tell about the others


class Dumping:
    """Makes dumps from what a collector knows."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def document(self, has_kernels: bool, device: str | None, most: int) -> dict[str, Any]:
        return dump_document(self._dump(has_kernels, device, most))

    def text(self, has_kernels: bool) -> str:
        """The page of `ttmem dump`, as it goes into the log."""
        return "\n" + plain(dump_page(self._dump(has_kernels, None, MOST), PageOptions())) + "\n"

    def _dump(self, has_kernels: bool, device: str | None, most: int) -> Dump:
        self._collector.tick()
        snapshot = self._collector.snapshot()
        ledger = self._collector.ledger
        share = max(MOST, _MOST_ROWS // max(1, _type_count(snapshot)))
        most_of_each = min(most or share, share)
        rows = {process.key: ledger.allocations(process.key, most_of_each) for process in snapshot.reporting}
        return dump_of(snapshot, rows, kernels=has_kernels, device=device, most=most)


def _type_count(snapshot: Snapshot) -> int:
    """How many lists there are: one per process, device and type."""
    return sum(len(held.pools) + len(held.kernels) for process in snapshot.live for held in process.devices)
