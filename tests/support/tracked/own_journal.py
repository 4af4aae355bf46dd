"""The journal of the process that runs the tests, read back: what was reported here is what a collector sees.

A process has one journal for its whole life, so figures that only grow (launches, findings, answers of caches) are
those since this reader began.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import ttmem
from tests.support.journals.reporters import attach
from tests.support.timing.waiting import wait_until
from ttmem import _native
from ttmem._native import testing
from ttmem.analysis import Explanation, explain
from ttmem.collector import Collector
from ttmem.devices import Kind, Pool
from ttmem.sources import Places
from ttmem.tracking import Cache, CoreType, FoundBy

Row = tuple[Any, ...]
_UNSAFE_REPLAY = 3  # of ttmem_incident_kind


class CacheFigures(NamedTuple):
    """How often each answer came, and what the cache holds."""

    hits: int
    misses: int
    evicted: int
    bypassed: int
    emptied: int
    entries: int
    held_bytes: int
    shared_bytes: int

    def since(self, before: "CacheFigures | None") -> "CacheFigures":
        """With the answers that came after another look."""
        if before is None:
            return self
        answers = [now - then for now, then in zip(self[:5], before[:5], strict=True)]
        return CacheFigures(*answers, *self[5:])  # type: ignore[call-arg]

    @property
    def state(self) -> tuple[int, int, int]:
        return self.entries, self.held_bytes, self.shared_bytes


class FlatTables:
    """The flat tables of a ledger; a test may put others in their place."""

    def __init__(self, ledger: _native.Ledger) -> None:
        self._ledger = ledger

    def rows(self, devices: Iterable[int] | None = None) -> dict[str, Any]:
        return testing.flat_rows(self._ledger, devices)

    def alike(self) -> list[tuple[int, ...]]:
        return testing.alike(self._ledger)

    def tally(self, process: int) -> list[Any]:
        return [*testing.tally(self._ledger, process)]


class OwnJournal:
    """What this process holds, by chip."""

    def __init__(self) -> None:
        self.ledger = _native.Ledger()
        self.tables = FlatTables(self.ledger)
        self.key = attach(self.ledger, _native.client.journal_path())
        rows = self.rows()
        self._findings_before = Counter(self._process(rows)["findings"])
        self._launches_before = self._launches(rows)
        self._caches_before = self._caches(rows)
        self._unsafe_replays_before = self._unsafe_replays()

    @property
    def directory(self) -> Path:
        """Where whoever looks would find it."""
        return Path(_native.client.journal_path()).parent

    def rows(self, devices: Iterable[int] | None = None) -> dict[str, Any]:
        """Everything, or what is about some devices, after looking until nothing is left to be read; a reader that was
        lapped looks again."""

        def at_rest() -> dict[str, Any]:
            self.read()
            rows = self.tables.rows(devices)
            return rows if self._process(rows)["reason"] == "" else {}

        return wait_until(at_rest)

    def read(self) -> None:
        """All that is there to be read."""
        while self.ledger.drain():
            pass

    def used(self, unique_id: int) -> dict[Pool, int]:
        """Bytes in every pool of a chip in which anything is listed."""
        rows = self.rows()
        device = number_of(rows, unique_id)
        return {
            Pool.numbered(pool): used for d, pool, used, _, count, *_ in rows["device_pools"] if d == device and count
        }

    def kinds(self, unique_id: int) -> dict[Kind, tuple[int, int, bool]]:
        """Bytes, count, and whether any of it is an estimate."""
        rows = self.rows()
        device = number_of(rows, unique_id)
        return {
            Kind.numbered(kind): (used, count, mark)
            for d, kind, used, count, mark in rows["device_kinds"]
            if d == device
        }

    def launches(self, unique_id: int) -> int:
        return self._launches(self.rows())[unique_id] - self._launches_before[unique_id]

    def programs(self, unique_id: int) -> dict[int, tuple[int, int, int]]:
        """Status, launches and bytes of each program."""
        rows = self.rows()
        device = number_of(rows, unique_id)
        return {
            program: (status, launches, used)
            for _, d, program, status, launches, used, *_ in rows["programs"]
            if d == device
        }

    def footprint(self, unique_id: int) -> Row:
        """Bytes of circular buffers on a chip, planned and resident, and those of the worst core."""
        rows = self.rows()
        device = number_of(rows, unique_id)
        [row] = [row for row in rows["footprints"] if row[1] == device]
        return tuple(row[2:6])

    def allocations(self, kind: Kind, unique_id: int | None = None) -> list[Row]:
        """All that are alive, or those on one chip."""
        device = None if unique_id is None else number_of(self.rows(), unique_id)
        self.ledger.drain()
        rows = [row for row in self.ledger.allocations(self.key) if row[1] == kind]
        return [row for row in rows if device is None or device in row[0]]

    def kernels(self, unique_id: int) -> dict[int, tuple[CoreType, FoundBy]]:
        """On which cores each kernel runs, and how its type was found."""
        device = number_of(self.rows(), unique_id)
        rows = self.ledger.allocations(self.key)
        own = [row for row in rows if device in row[0] and Kind.numbered(row[1]).is_kernel]
        return {row[2]: (CoreType.numbered(row[18]), FoundBy.numbered(row[19])) for row in own}

    def caches(self, unique_id: int) -> dict[Cache, CacheFigures]:
        """Answers since this reader began, and what is held now."""
        found = {cache: now for (chip, cache), now in self._caches(self.rows()).items() if chip == unique_id}
        return {cache: now.since(self._caches_before.get((unique_id, cache))) for cache, now in found.items()}

    def findings(self) -> dict[str, int]:
        return dict(Counter(self._process(self.rows())["findings"]) - self._findings_before)

    def process(self) -> dict[str, Any]:
        """All that is known of this process."""
        return self._process(self.rows())

    def unsafe_replays(self) -> int:
        """How many there were since this reader began."""
        return self._unsafe_replays() - self._unsafe_replays_before

    def explained_incidents(self) -> list[Explanation]:
        """Those that are kept, explained."""
        with Collector(Places(uid=os.geteuid(), directory=str(self.directory))) as collector:
            assert collector.wait_settled(5)
            [process] = [one for one in collector.snapshot().processes if one.pid == os.getpid()]
            copies = [collector.incident_copy(process.pid, one.number) for one in process.incidents]
        return [explain(copy) for copy in copies if copy is not None]

    def _unsafe_replays(self) -> int:
        self.read()
        *_, counts = self.ledger.lifetime()
        return sum(count for kind, _, count in counts if kind == _UNSAFE_REPLAY)

    def live_count(self) -> int:
        return int(self._process(self.rows())["live_count"])

    def open_chips(self) -> set[int]:
        return {row["unique_id"] for row in self.rows()["devices"] if row["open_count"]}

    def _process(self, rows: dict[str, Any]) -> dict[str, Any]:
        [row] = rows["processes"]
        return dict(row)

    def _launches(self, rows: dict[str, Any]) -> Counter[int]:
        ids = {row["number"]: row["unique_id"] for row in rows["devices"]}
        return Counter({ids[device]: count for _, device, count in rows["launches"]})

    def _caches(self, rows: dict[str, Any]) -> dict[tuple[int, Cache], "CacheFigures"]:
        ids = {row["number"]: row["unique_id"] for row in rows["devices"]}
        return {
            (ids[device], Cache.numbered(cache)): CacheFigures(*figures)
            for _, device, cache, *figures in rows["caches"]
        }


def number_of(rows: dict[str, Any], unique_id: int) -> int | None:
    return next((row["number"] for row in rows["devices"] if row["known"] and row["unique_id"] == unique_id), None)


@contextmanager
def an_own_journal() -> Iterator[OwnJournal]:
    """Tracking is on in this very process; at the end everything that is left has ended."""
    directory = Path(
        os.environ["TTMEM_DIR"], "own"
    )  # the tests' private place: other journals there are others' tests'
    directory.mkdir(mode=0o700, exist_ok=True)
    assert _native.client.enable(str(directory))
    try:
        yield OwnJournal()
    finally:
        ttmem.disable()
