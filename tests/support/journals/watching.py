"""A collector as tests use it: over one directory, looked at by pid."""

import fcntl
import os
import struct
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.timing.waiting import wait_until
from ttmem._native import testing
from ttmem.collector import Collector
from ttmem.devices import Pool
from ttmem.sources import Places

Row = dict[str, Any]
Allocations = list[tuple[Any, ...]]

TIME = 12


def anything(row: Row) -> bool:
    return bool(row)


class Watch:
    """Ticks a collector, or lets it follow in a thread of its own, and hands out rows."""

    def __init__(self, directory: Path, *, follows: bool = False) -> None:
        self.directory = directory
        self.collector = Collector(Places(uid=os.geteuid(), directory=str(directory)))
        self._follows = follows
        if follows:
            self.collector.start()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.collector.stop()

    def rows(self) -> Row:
        """Everything, after one more look."""
        if not self._follows:
            self.collector.tick()
        return testing.flat_rows(self.collector.ledger)

    def processes(self, state: str) -> list[Row]:
        return [row for row in self.rows()["processes"] if row["state"] == state]

    def live(self) -> list[Row]:
        return self.processes("live")

    def allocations(self, key: int) -> Allocations:
        return self.collector.ledger.allocations(key)

    def list_of(self, key: int) -> Allocations:
        """The same in order and without times, which two collectors may estimate a little differently."""
        return sorted(entry[:TIME] + entry[TIME + 1 :] for entry in self.allocations(key))

    def process(self, pid: int, condition: Callable[[Row], object] = anything) -> Row:
        """The row of a living pid, as soon as it is there, read whole and meets the condition."""
        return wait_until(lambda: self._first("live", pid, condition))

    def ended(self, pid: int) -> Row:
        """The row of a pid whose memory was given back, as soon as it is there and read whole."""
        return wait_until(lambda: self._first("ended", pid, anything))

    def _first(self, state: str, pid: int, condition: Callable[[Row], object]) -> Row:
        rows = (row for row in self.processes(state) if row["pid"] == pid and row["reason"] != "settling")
        return next((row for row in rows if condition(row)), {})

    def come_to_rest(self) -> Row:
        """Ticks until nothing is left to be read and every list is whole: then rows and lists must be exact."""
        self.collector.stop()
        self._follows = False

        def at_rest() -> Row:
            applied = self.collector.tick()
            rows = testing.flat_rows(self.collector.ledger)
            whole = ("", "table_full", "damaged", "unverified", "undivided", "unknown_device")
            is_whole = all(row["reason"] in whole for row in rows["processes"])
            return rows if applied == 0 and is_whole else {}

        return wait_until(at_rest)

    def device_used(self, unique_id: int, pool: int = Pool.DRAM.number) -> int:
        """What all that are alive hold on a chip."""
        rows = self.rows()
        device = _device(rows, unique_id)
        return sum(row[2] for row in rows["device_pools"] if row[:2] == (device, pool))

    def process_used(self, key: int, unique_id: int, pool: int = Pool.DRAM.number) -> int:
        """What one process holds on a chip, or held at last."""
        rows = self.rows()
        device = _device(rows, unique_id)
        return sum(row[3] for row in rows["process_pools"] if row[:3] == (key, device, pool))


def _device(rows: Row, unique_id: int) -> int | None:
    return next((row["number"] for row in rows["devices"] if row["known"] and row["unique_id"] == unique_id), None)


def lock_holder(path: Path) -> int | None:
    """The pid that holds the lock on a journal, 0 for one that cannot be seen from here, None for nobody."""
    question = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    with open(path, "rb") as file:
        answer = struct.unpack("hhqqi4x", fcntl.fcntl(file, fcntl.F_GETLK, question))
    return None if answer[0] == fcntl.F_UNLCK else int(answer[4])
