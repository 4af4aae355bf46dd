"""Brings the figures: a thread that queries exactly what is on screen, so that keys never wait for an answer.

    MonitorState --tune()--> [wanted, interval, pause]   one lock      the thread reads them before each query
    Feed --deliver(frame)-->                             its thread    called after each query, without the lock

If a query fails, the last figures are delivered again with the reason, and the query is repeated. The figures are those
of a `FigureSource`, reduced to the devices, users and processes that the flags -i, -u and -p select; sums stay whole.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from threading import Condition, Thread
from types import MappingProxyType
from typing import Protocol, TypeVar

from ttmem.analysis import Explanation, explain
from ttmem.errors import DaemonGone, SelectionError, TtmemError
from ttmem.figures.source import FigureSource
from ttmem.monitor.parts.drawing import MonitorFrame, Wanted
from ttmem.snapshot import Selection
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.history import History
from ttmem.snapshot.incidents import IncidentCopy, without_copy
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.snapshot.selection import device_test, known_devices
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import ProcessUsage, Snapshot
from ttmem.snapshot.values import Device, replace
from ttmem.view.texts import plural

__all__ = ["DaemonLossCheck", "Feed", "FigureQueries", "SelectedFigures", "WordsOf", "frame_of", "selected_overview"]

What = TypeVar("What")
Found = TypeVar("Found")
Telemetry = Callable[[], Sequence[ChipTelemetry]]
WordsOf = Callable[[Telemetry, Sequence[Device]], tuple[str, ...]]

_PATIENCE_SECONDS = 15.0  # a daemon that is started again automatically is there by then
_LEAST_RETRY_SECONDS = 0.5
_MOST_RETRY_SECONDS = 5.0


def selected_overview(overview: Snapshot, selection: Selection) -> Snapshot:
    """The same instant without what was not selected; SelectionError if no such device is there."""
    devices = overview.devices
    if selection.devices:
        tests = [device_test(word) for word in selection.devices]
        devices = tuple(usage for usage in devices if any(test(usage.device) for test in tests))
        if not devices:
            known = known_devices(usage.device for usage in overview.devices)
            raise SelectionError(f"no device {', '.join(selection.devices)} here; {known}")
    numbers = {usage.device.number for usage in devices}
    processes = (row for row in overview.processes if _is_wanted(row, selection))
    if selection.devices:
        processes = (row for row in processes if numbers & set(row.chips))
    return replace(overview, devices=devices, processes=tuple(processes))


def _is_wanted(row: ProcessUsage, selection: Selection) -> bool:
    if selection.users and row.user not in selection.users and str(row.uid) not in selection.users:
        return False
    return not selection.pids or row.pid in selection.pids


class SelectedFigures(FigureSource):
    """A `FigureSource` that answers with the selected part."""

    selection = Selection()
    loss_check: "DaemonLossCheck | None" = None
    words_of: WordsOf | None = None  # names of the selected chips, by the driver and by the known devices
    _known: tuple[Device, ...] | None = None  # to which the selection belongs

    def overview(self) -> Snapshot:
        overview = super().overview()
        if self.loss_check is not None:
            self.loss_check.check(overview, is_by_daemon=not self.is_collecting)
        known = tuple(usage.device for usage in overview.devices)
        if self.words_of is not None and known != self._known:
            self.selection = self.selection._replace(devices=self.words_of(self.telemetry, known))
            self._known = known
        return selected_overview(overview, self.selection)


class DaemonLossCheck:
    """Processes that only a daemon knew: those that report to its socket, and those whose journals only it may read.

    Without them a picture would be wrong. So the picture of before stays, in grey, until there is a daemon again; after
    a while the figures are shown without them.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: frozenset[int] = frozenset()  # pids that the daemon reported
        self._lost_at: float | None = None

    def check(self, overview: Snapshot, *, is_by_daemon: bool) -> None:
        """DaemonGone if a daemon reported living processes that cannot be seen without it."""
        visible = frozenset(row.pid for row in overview.processes if row.state != "ended" and row.is_visible)
        if is_by_daemon:
            self._known, self._lost_at = visible, None
            return
        missing = [pid for pid in self._known - visible if os.path.exists(f"/proc/{pid}")]
        now = self._clock()
        self._lost_at = self._lost_at or now
        if not missing or now - self._lost_at >= _PATIENCE_SECONDS:
            self._known, self._lost_at = frozenset(), None
            return
        raise DaemonGone(f"the daemon is gone, and only it knew of {plural(len(missing), 'process', 'es')}")


class FigureQueries(Protocol):
    """What the feed queries: a `FigureSource`, or simulated figures."""

    def overview(self) -> "Snapshot": ...
    def chip(self, word: str) -> "ChipMap": ...
    def kernels(self, word: str, most: int) -> "KernelTable": ...
    def process(self, pid: int, *, key: int | None = None) -> "ProcessDetail": ...
    def history(self, seconds: int) -> "History": ...
    def telemetry(self) -> "tuple[ChipTelemetry, ...]": ...
    def incident_copy(self, pid: int, number: int, *, key: int | None = None) -> "IncidentCopy | None": ...
    def reset_peaks(self) -> None: ...


class Feed:
    """The thread. It ends with the program; `stop` waits for it only a moment, since a query may hang."""

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[FigureQueries]],
        deliver: Callable[[MonitorFrame], None],
        *,
        interval_seconds: float,
        wanted: Wanted,
        first: MonitorFrame | None = None,
    ) -> None:
        self._opened = opened
        self._deliver = deliver
        self._changed = Condition()  # guards all below but `_frame`, which is the thread's own
        self._wanted = wanted
        self._interval_seconds = interval_seconds
        self._is_paused = False
        self._is_due = True  # query now
        self._is_over = False
        self._is_reset = False
        self._queried_at = 0.0
        self._frame = first or MonitorFrame()
        self._thread = Thread(target=self._run, name="ttmem-feed", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float = 1.0) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._thread.join(seconds)

    def tune(self, wanted: Wanted, *, interval_seconds: float, is_paused: bool) -> None:
        """Query this from now on, at this interval. What is new is queried at once, also while paused."""
        with self._changed:
            before = (self._wanted, self._interval_seconds, self._is_paused)
            self._is_due |= any(
                frame_of and frame_of != old for frame_of, old in zip(wanted, self._wanted, strict=True)
            )
            self._wanted, self._interval_seconds, self._is_paused = wanted, interval_seconds, is_paused
            if before != (wanted, interval_seconds, is_paused):
                self._changed.notify()

    def query_now(self) -> None:
        with self._changed:
            self._is_due = True
            self._changed.notify()

    def reset_peaks(self) -> None:
        with self._changed:
            self._is_reset = self._is_due = True
            self._changed.notify()

    def _run(self) -> None:
        failures = 0
        while not self._is_over:
            try:
                with self._opened() as queries:
                    while self._awaited():
                        self._query(queries)
                        failures = 0
            except Exception as error:  # noqa: BLE001 any error: the picture stays and shows it
                self._frame = self._frame._replace(trouble=_words(error))
                self._deliver(self._frame)
                failures += 1
                self._rest(min(_MOST_RETRY_SECONDS, _LEAST_RETRY_SECONDS * 2**failures))

    def _awaited(self) -> bool:
        """Waits until a query is due; False at the end."""
        with self._changed:
            while not self._is_due and not self._is_over:
                left = self._queried_at + self._interval_seconds - time.monotonic()
                if left <= 0 and not self._is_paused:
                    break
                self._changed.wait(None if self._is_paused else left)
            self._is_due = False
            return not self._is_over

    def _rest(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._is_due, seconds)
            self._is_due = True

    def _query(self, queries: FigureQueries) -> None:
        with self._changed:
            wanted, is_reset, self._is_reset = self._wanted, self._is_reset, False
            self._queried_at = time.monotonic()
        if is_reset:
            queries.reset_peaks()
        frame = frame_of(queries, wanted, self._frame.explanations)
        telemetry = self._frame.telemetry if frame.telemetry is None else frame.telemetry  # names of chips stay
        self._frame = frame._replace(telemetry=telemetry)
        self._deliver(self._frame)


_NO_EXPLANATIONS: Mapping[tuple[int, int], Explanation] = MappingProxyType({})


def frame_of(
    queries: FigureQueries, wanted: Wanted, explanations: Mapping[tuple[int, int], Explanation] = _NO_EXPLANATIONS
) -> MonitorFrame:
    """Everything that is wanted. A chip or process that is not there (any more) is None. `explanations`: those that are
    known already, since what was alive at an incident does not change."""
    overview = queries.overview() if wanted.has_overview else None
    rows = overview.processes if overview and wanted.detail is not None else ()
    return MonitorFrame(
        overview=overview,
        chip=_close_up(queries.chip, wanted.chip),
        kernels=_close_up(lambda word: queries.kernels(word, wanted.kernel_most), wanted.kernels),
        detail=_close_up(
            lambda row: queries.process(row.pid, key=row.key),
            next((row for row in rows if row.key == wanted.detail), None),
        ),
        history=None if wanted.history_seconds is None else queries.history(wanted.history_seconds),
        telemetry=queries.telemetry() if wanted.has_telemetry else None,
        explanations=_explained(queries, overview, wanted, explanations),
    )


def _explained(
    queries: FigureQueries,
    overview: Snapshot | None,
    wanted: Wanted,
    known: Mapping[tuple[int, int], Explanation],
) -> Mapping[tuple[int, int], Explanation]:
    """Why each of the wanted incidents happened; by its own figures where there is no copy of what was alive."""
    if not wanted.incidents or overview is None:
        return known
    found = dict(known)
    for row in overview.processes:
        for incident in row.incidents:
            name = row.pid, incident.number
            if name in wanted.incidents and (name not in known or known[name].incident.time_ns != incident.time_ns):
                copy = queries.incident_copy(row.pid, incident.number, key=row.key)
                found[name] = explain(copy or without_copy(row.pid, incident))
    return found


def _close_up(ask: Callable[[What], Found], what: What | None) -> Found | None:
    if what is None:
        return None
    try:
        return ask(what)
    except SelectionError:
        return None


def _words(error: Exception) -> str:
    """Why there are no new figures, in one line."""
    text = " ".join(str(error).split()) or "no reason given"
    return text if isinstance(error, TtmemError) else f"{type(error).__name__}: {text}"
