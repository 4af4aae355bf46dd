"""The collector: journals, and the stock runtime's own counters, in; snapshots out.

It works in two ways. `tick` (or `wait_settled`) looks once, for a table that is printed and forgotten. `start` follows
all journals in a thread of its own until `stop`; figures are then at most a few milliseconds old, and their course is
kept for an hour.

   field                     who touches it
   _journals                 whoever scans: the thread while it runs, else the caller; guarded by _scanning
   _ledger, _stock           anybody; each has its own lock
   _course                   whoever needs it first makes it; has its own lock
   _overviews                whoever needs it first makes it; any thread may use it
   _thread, _is_stopping     the owner of the collector; the thread only reads _is_stopping
   _tick_seconds             the owner before it starts the thread, then nobody
   notes                     replaced as a whole by the owner, read by anybody

`source` is how its snapshots say who read the journals.
"""

import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ttmem import _native
from ttmem.collector.silicon import bank_sizes
from ttmem.collector.stock import Stock
from ttmem.snapshot import Finding, Host, ProcessUsage, Readings, Snapshot, Surroundings, snapshot_from_rows
from ttmem.snapshot.rows import processes_from_rows
from ttmem.snapshot.selection import MOST, found_device
from ttmem.snapshot.sights.chips import devices_from_rows
from ttmem.sources.hosts import read_host, user_name
from ttmem.sources.journals import Journals
from ttmem.sources.parents import Parents
from ttmem.sources.places import Places
from ttmem.sources.procfs import own_pid_namespace
from ttmem.sources.removed import RemovedJournals

if TYPE_CHECKING:
    from ttmem.collector.history import Course
    from ttmem.snapshot.incidents import IncidentCopy
    from ttmem.snapshot.sights.chip_map import ChipMap
    from ttmem.snapshot.sights.history import History
    from ttmem.snapshot.sights.kernel_table import KernelTable
    from ttmem.snapshot.sights.overview import Overview
    from ttmem.snapshot.sights.overview_rows import Overviews
    from ttmem.snapshot.sights.process_detail import ProcessDetail

__all__ = ["Collector"]

SOURCE = "embedded collector"
_SCAN_EVERY_SECONDS = 0.05
_UNHURRIED_SCAN_SECONDS = 0.5
MOST_STRETCHES = 1024  # of a pool, in the map of a chip: more than any screen has columns
MOST_KERNELS = 200


class Collector:
    """Follows every journal in some places. Any number of collectors may do so at once; they agree."""

    def __init__(
        self, places: Places, *, host: Host | None = None, has_tap: bool = False, source: str = SOURCE
    ) -> None:
        self.source = source
        self.notes: tuple[Finding, ...] = ()  # what else whoever owns it wants to be seen
        self._ledger = _native.Ledger(has_tap)
        self._journals = Journals(places, user_of=user_name)
        self._removed = RemovedJournals(places)
        self._stock = Stock(places.stock_listed)
        self._scanning = threading.Lock()
        self._host = host or read_host()
        self._pid_namespace = own_pid_namespace()
        self._parents = Parents()
        self._course: Course | None = None
        self._overviews: Overviews | None = None
        self._thread: threading.Thread | None = None
        self._is_stopping = threading.Event()
        self._tick_seconds: float | None = None

    def __enter__(self) -> "Collector":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def ledger(self) -> _native.Ledger:
        """The balances themselves, for those who ask about single allocations."""
        return self._ledger

    def tick(self) -> int:
        """Looks for new journals and applies what all of them have to say; returns how many events that were."""
        self.scan()
        return self._ledger.drain()

    def scan(self) -> None:
        """Looks for new journals."""
        self._scan(is_hurried=False)

    def _scan(self, *, is_hurried: bool) -> None:
        with self._scanning:
            found = self._journals.scan(is_hurried=is_hurried)
            began = time.thread_time()
            for journal in (*found, *self._removed.scan(self._journals.files)):
                key, trouble = self._ledger.attach(journal.path, journal.device, journal.inode)
                if not key and not trouble:
                    self._journals.offer_again(journal)
            self._journals.spent(time.thread_time() - began)

    def wait_settled(self, timeout_seconds: float = 1.0) -> bool:
        """Ticks until no journal is still being read for the first time; False if that took too long."""
        deadline = time.monotonic() + timeout_seconds
        self.tick()
        while self._journals.is_behind or self._is_settling():
            if time.monotonic() >= deadline:
                return False
            if self._journals.is_behind:
                self._scan(is_hurried=True)
            self._ledger.run(0.002)
        return True

    def start(self, *, tick_seconds: float | None = None) -> None:
        """Follows the journals in a thread until `stop`: at once whatever comes, or a look every so many seconds, which
        costs next to nothing and shows the same figures. New journals are found at the next half second."""
        if self._thread is not None:
            return
        self._tick_seconds = tick_seconds
        self._is_stopping.clear()
        self.scan()
        self._sampled()
        self._thread = threading.Thread(target=self._follow, name="ttmem-collector", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread; the figures stay as they are."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._is_stopping.set()
        while thread.is_alive():
            self._ledger.stop()
            thread.join(_SCAN_EVERY_SECONDS)

    def snapshot(self) -> Snapshot:
        """Everything known at this instant."""
        readings = self._readings()
        return self._stock.joined(snapshot_from_rows(self._ledger.snapshot(), self._surroundings()), readings)

    def overview(self) -> "Overview":
        """Everything at a glance; the same as `overview_of` makes of a snapshot."""
        from ttmem.collector.joined_overview import joined_overview, surrounding  # here, since `ttmem ps` does without

        readings, surroundings = self._readings(), self._surroundings()
        if not readings.chips:
            return self._made_of(self._ledger.overview(), surrounding(surroundings, readings))
        rows = self._ledger.overview(sorted(readings.pids))
        overview = self._made_of(rows, surroundings)
        told_twice = processes_from_rows(rows["whole"], devices_from_rows(rows), surroundings) if readings.pids else ()
        return joined_overview(self._stock.counters, overview, told_twice, readings, self._parents.parent_of)

    def _made_of(self, rows: dict[str, Any], surroundings: Surroundings) -> "Overview":
        from ttmem.snapshot.sights.overview_rows import Overviews

        if self._overviews is None:
            self._overviews = Overviews()
        return self._overviews.made(rows, surroundings, self._parents.parent_of)

    def process(self, pid: int, *, key: int | None = None, most: int = MOST) -> "ProcessDetail":
        """One process close up; `key`: which of several of that pid. One that is not there is a SelectionError."""
        from ttmem.snapshot.sights import process_detail as close_up

        readings = self._readings()
        rows = self._ledger.process(pid, max(0, key or 0), most)
        found = list(processes_from_rows(rows, devices_from_rows(rows), self._surroundings())) if rows else []
        if pid in readings.pids:  # they may tell more of it, or all there is
            found += self._joined_processes(readings)
        process = close_up.found_process(found, pid, key)
        time_ns = rows["time_ns"] if rows else readings.time_ns
        listed = close_up.Listed.from_rows(rows) if rows and process.source != "runtime" else close_up.Listed()
        return close_up.process_detail_of(process, listed, time_ns=time_ns, parent_of=self._parents.parent_of)

    def _joined_processes(self, readings: Readings) -> tuple[ProcessUsage, ...]:
        """All processes that the runtime's counters tell of, close up."""
        from ttmem.collector.joined_overview import joined_processes

        rows, surroundings = self._ledger.overview(sorted(readings.pids)), self._surroundings()
        told_twice = processes_from_rows(rows["whole"], devices_from_rows(rows), surroundings)
        overview = self._made_of(rows, surroundings)
        return joined_processes(self._stock.counters, overview, told_twice, readings)

    def _readings(self) -> Readings:
        """What the runtime's counters say; before the ledger's figures are taken."""
        readings = self._stock.read()
        if readings.chips or self._thread is not None:
            self._ledger.drain()  # what was read is compared with what was counted by then; and journals take turns
        return readings

    def _surroundings(self) -> Surroundings:
        return Surroundings(
            source=self.source,
            places=self._journals.looked_into or (self._journals.places.main,),
            host=self._host,
            user_of=user_name,
            pid_namespace=self._pid_namespace,
            foreign=self._journals.foreign,
            findings=(*self._journals.findings, *self.notes),
            sizes_of=bank_sizes,
        )

    def chip(self, word: str) -> "ChipMap":
        """One chip by address; `word` as `ps -i` names it. One that is not there is a SelectionError."""
        from ttmem.collector.chip_maps import chip_map_of  # here, since `ttmem ps` does without

        usage = found_device(self.overview().devices, word)
        return chip_map_of(usage, self._ledger.chip(usage.device.number, MOST_STRETCHES))

    def kernels(self, word: str, most: int = MOST_KERNELS) -> "KernelTable":
        """The kernels of one chip, the largest of them; `word` as above, `most` 0 for all."""
        from ttmem.collector.kernel_tables import kernel_table_of

        overview = self.overview()
        usage = found_device(overview.devices, word)
        return kernel_table_of(usage, overview.processes, self._ledger.kernels(usage.device.number, most))

    def incident_copy(self, pid: int, number: int, *, key: int | None = None) -> "IncidentCopy | None":
        """What was alive at an incident of a process; `key`: which of several of that pid, else one that lives, else
        the newest that has an incident of that number. None if no copy is kept."""
        from ttmem.snapshot.incidents import copy_from_rows  # here, since msgspec is slow to import

        rows = self._ledger.incident(pid, max(0, key or 0), number)
        return copy_from_rows(rows, devices_from_rows(rows)) if rows else None

    def history(self, seconds: int) -> "History":
        """What was used when, up to now: since `start`, or one sample if nobody followed the journals."""
        return self._sampled().history(seconds)

    def _sampled(self) -> "Course":
        from ttmem.collector.history import Course  # here, since `ttmem ps` does without

        if self._course is None:
            self._course = Course(self._ledger.sample, lambda: self._stock.read().chips, time.time_ns)
        return self._course

    def _follow(self) -> None:
        course = self._sampled()
        while not self._is_stopping.is_set():
            self.scan()
            if self._tick_seconds is None:
                self._ledger.run(_SCAN_EVERY_SECONDS)
                course.look()
                continue
            for _ in range(max(1, round(_UNHURRIED_SCAN_SECONDS / self._tick_seconds))):
                self._ledger.drain()
                course.look()
                if self._is_stopping.wait(self._tick_seconds):
                    break

    def _is_settling(self) -> bool:
        return any(process["reason"] == "settling" for process in self._ledger.snapshot(())["processes"])
