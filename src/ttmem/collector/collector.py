"""The collector: journals, and the stock runtime's own counters, in; snapshots out.

It works in two ways. `tick` (or `wait_settled`) looks once, for a table that is printed and forgotten. `start` follows
all journals in a thread of its own until `stop`; figures are then at most a few milliseconds old, and their history
is recorded for an hour.

   field                     who touches it
   _journals                 the scanner: the thread while it runs, else the caller; guarded by _scanning
   _ledger, _snapshots       any thread; each has its own lock
   _counters                 made by the scan that finds a region; then any thread, has its own lock
   _counters_due             the scanner, under _scanning
   _recorder                 made by the first thread that needs it; has its own lock
   _driver                   asked by the scanner; any thread reports to the ledger what it said
   _thread, _is_stopping     the owner of the collector; the thread only reads _is_stopping
   _tick_seconds             the owner before it starts the thread, then not changed
   notes                     replaced as a whole by the owner, read by any thread

`source` is how its snapshots say who read the journals.
"""

import threading
import time
from collections.abc import Collection
from types import TracebackType
from typing import TYPE_CHECKING

from ttmem import _native
from ttmem.collector.chip_maps import chip_map_of
from ttmem.collector.chips import BANK_SIZES, DriverFacts
from ttmem.collector.history import HistoryRecorder
from ttmem.collector.kernel_tables import kernel_table_of
from ttmem.collector.rows import SnapshotContext, Snapshots
from ttmem.collector.rows.allocations import dump_of, process_detail_of
from ttmem.collector.rows.incidents import copy_from_rows
from ttmem.collector.rows.snapshots import Details, Parents
from ttmem.collector.rows.sums import overview_of, with_sums
from ttmem.collector.runtime_counters import RuntimeCounters
from ttmem.snapshot import Finding, Host, Readings, Snapshot, replace
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.counters import NO_READINGS
from ttmem.snapshot.dump import By, Dump
from ttmem.snapshot.history import History
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail, found_process
from ttmem.snapshot.selection import MOST, found_device
from ttmem.snapshot.values import EMBEDDED, clean
from ttmem.sources.directories import Places, region_names
from ttmem.sources.journals import Journals, UnlistedJournals
from ttmem.sources.procfs import Workloads, own_pid_namespace, read_host, user_name
from ttmem.sources.stock_shm.regions import StockCounters

if TYPE_CHECKING:
    from ttmem.snapshot.telemetry import ChipTelemetry
    from ttmem.sources.driver import Driver

__all__ = ["Collector"]

_SCAN_EVERY_SECONDS = 0.05
_UNHURRIED_SCAN_SECONDS = 0.5
_PAUSE_PER_COST = 24
MOST_STRETCHES = 1024  # of a pool, in the map of a chip: more than any screen has columns
MOST_KERNELS = 200
_MOST_ALLOCATIONS = 100_000  # in one answer, also for who asks for all; totals say what the others are


class Collector:
    """Follows every journal in some places. Any number of collectors may do so at once; they agree."""

    def __init__(
        self,
        places: Places,
        *,
        host: Host | None = None,
        source: str = EMBEDDED,
        driver: "Driver | None" = None,
    ) -> None:
        self.source = source
        self.notes: tuple[Finding, ...] = ()  # what else its owner wants shown
        self._ledger = _native.Ledger()
        for arch, sizes in BANK_SIZES.items():
            self._ledger.set_bank_sizes(arch, *sizes)
        self._journals = Journals(places, user_of=user_name)
        self._unlisted = UnlistedJournals(places)
        self._driver = DriverFacts(driver, self._ledger) if driver is not None else None
        self._main = (clean(places.main),)
        self._counters: RuntimeCounters | None = None
        self._counters_due = float("-inf")
        self._scanning = threading.Lock()
        self._snapshots = Snapshots(self._ledger)
        self._host = host or read_host()
        self._pid_namespace = own_pid_namespace()
        self._parents = Parents()
        self._workloads = Workloads()
        self._recorder: HistoryRecorder | None = None
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

    @property
    def driver_chips(self) -> "tuple[ChipTelemetry, ...]":
        """What the driver called its chips when it was last asked, at most ten seconds ago."""
        return self._driver.chips if self._driver is not None else ()

    @property
    def is_following(self) -> bool:
        """Whether a thread of its own looks for new journals, all the time."""
        return self._thread is not None

    def scan(self) -> None:
        """Looks for new journals."""
        self._scan(is_hurried=False)

    def _scan(self, *, is_hurried: bool) -> None:
        with self._scanning:
            if self._driver is not None:
                self._driver.look()
            self._find_counters()
            found = self._journals.scan(is_hurried=is_hurried)
            began = time.thread_time()
            for journal in (*found, *self._unlisted.scan(self._journals.files)):
                key, trouble = self._ledger.attach(journal.path, journal.device, journal.inode)
                if not key and not trouble:
                    self._journals.offer_again(journal)
            self._journals.spent(time.thread_time() - began)

    def _find_counters(self) -> None:
        """The stock runtime's own, if a region of them has come. Listing a directory full of files may cost at most
        about 4 % of a core."""
        if self._counters is not None or time.monotonic() < self._counters_due:
            return
        began = time.thread_time()
        directories = self._journals.places.stock_listed
        if any(map(region_names, directories())):
            self._counters = RuntimeCounters(StockCounters(directories, user_of=user_name), user_of=user_name)
        self._counters_due = time.monotonic() + (time.thread_time() - began) * _PAUSE_PER_COST

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
        """Follows the journals in a thread until `stop`: at once whatever comes, or once every `tick_seconds`, which
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
        snapshot = self._looked("all")
        return self._with_counters(snapshot, readings)

    def _with_counters(self, counted: Snapshot, readings: Readings) -> Snapshot:
        """With all that was read, and the sums, parents and workloads of processes that only the runtime's counters
        show."""
        if self._counters is None or not readings.places:
            return counted
        snapshot = self._counters.joined(counted, readings)
        listed = frozenset(usage.device.number for usage in snapshot.devices)
        parent_of, workload_of = self._parents.parent_of, self._workloads.workload_of
        processes = (
            replace(with_sums(one, listed), parent_pid=parent_of(one.pid, one.start_time_ns), workload=workload_of(one))
            if one.source == "runtime"
            else one
            for one in snapshot.processes
        )
        return replace(snapshot, processes=tuple(processes))

    def overview(self, details: Collection[int] = ()) -> Snapshot:
        """The same without details of processes, but for those whose keys are named."""
        readings = self._readings()
        if not readings.places:
            return self._looked(details)
        return overview_of(self._with_counters(self._looked("all"), readings), details)

    def _looked(self, details: Details) -> Snapshot:
        """What the ledger says, of chips of which it knows how large their banks are and what the driver says."""
        context = self._context()
        snapshot = self._snapshots.snapshot(context, details)
        if self._driver is None:
            return snapshot
        new = [usage.device for usage in snapshot.devices if usage.device.unique_id not in self._driver.described]
        return self._snapshots.snapshot(context, details) if new and self._driver.describe(new) else snapshot

    def process(self, pid: int, *, key: int | None = None, most: int = MOST) -> ProcessDetail:
        """One process close up; `key`: which of several of that pid. One that is not there is a SelectionError."""
        found = found_process(self.overview().processes, pid, key)
        snapshot = self.overview(details=[found.key])
        process = found_process(snapshot.processes, pid, found.key)
        rows = self._ledger.process(pid, process.key, most) if process.source != "runtime" else None
        return process_detail_of(process, rows or {}, time_ns=snapshot.time_ns)

    def dump(self, *, kernels: bool = False, device: str | None = None, most: int = MOST, by: By = "") -> Dump:
        """What is alive, allocation by allocation; see `dump_of`."""
        snapshot = self.snapshot()
        share = max(MOST, _MOST_ALLOCATIONS // max(1, _type_count(snapshot)))
        most_of_each = share if by else min(most or share, share)
        rows = {process.key: self._ledger.allocations(process.key, most_of_each) for process in snapshot.reporting}
        return dump_of(snapshot, rows, kernels=kernels, device=device, most=most, by=by)

    def _readings(self) -> Readings:
        """What the runtime's counters say; before the ledger's figures are taken."""
        readings = self._read_counters()
        if readings.chips or self._thread is not None:
            self._ledger.drain()  # what was read is compared with what was counted by then; and journals take turns
        return readings

    def _read_counters(self) -> Readings:
        """Most machines have none; once a scan has found some, they are read for every snapshot."""
        return self._counters.read() if self._counters is not None else NO_READINGS

    def _context(self) -> SnapshotContext:
        return SnapshotContext(
            source=self.source,
            places=self._journals.searched or self._main,
            host=self._host,
            user_of=user_name,
            pid_namespace=self._pid_namespace,
            foreign=self._journals.foreign,
            findings=(*self._journals.findings, *self.notes),
            parent_of=self._parents.parent_of,
            workload_of=self._workloads.workload_of,
        )

    def chip(self, word: str) -> ChipMap:
        """One chip by address; `word` as `ps -i` names it. One that is not there is a SelectionError."""
        usage = found_device(self.overview().devices, word)
        return chip_map_of(usage, self._ledger.chip(usage.device.number, MOST_STRETCHES))

    def kernels(self, word: str, most: int = MOST_KERNELS) -> KernelTable:
        """The kernels of one chip, the largest of them; `word` as above, `most` 0 for all."""
        overview = self.overview()
        usage = found_device(overview.devices, word)
        return kernel_table_of(usage, overview.processes, self._ledger.kernels(usage.device.number, most))

    def incident_copy(self, pid: int, number: int, *, key: int | None = None) -> IncidentCopy | None:
        """What was alive at an incident of a process; `key`: which of several of that pid, else one that lives, else
        the newest that has an incident of that number. None if there is no copy."""
        rows = self._ledger.incident(pid, max(0, key or 0), number)
        return copy_from_rows(rows) if rows else None

    def history(self, seconds: int) -> History:
        """What was used when, up to now: since `start`, or one sample if the journals were not followed."""
        return self._sampled().history(seconds)

    def _sampled(self) -> HistoryRecorder:
        if self._recorder is None:
            self._recorder = HistoryRecorder(
                self._ledger.sample, lambda: self._read_counters().chips, time.time_ns, self._sampled_overview
            )
        return self._recorder

    def _sampled_overview(self) -> Snapshot:
        """What the history takes a sample of."""
        readings = self._read_counters()
        return self._with_counters(self._looked("all" if readings.places else ()), readings)

    def _follow(self) -> None:
        recorder = self._sampled()
        while not self._is_stopping.is_set():
            self.scan()
            if self._tick_seconds is None:
                self._ledger.run(_SCAN_EVERY_SECONDS)
                recorder.take_due()
                continue
            for _ in range(max(1, round(_UNHURRIED_SCAN_SECONDS / self._tick_seconds))):
                self._ledger.drain()
                recorder.take_due()
                if self._is_stopping.wait(self._tick_seconds):
                    break

    def _is_settling(self) -> bool:
        return self._ledger.is_settling()


def _type_count(snapshot: Snapshot) -> int:
    """How many lists there are: one per process, device and type."""
    return sum(len(held.pools) + len(held.kernels) for process in snapshot.live for held in process.devices)
