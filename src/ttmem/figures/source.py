"""Where viewers get their figures: from a daemon if one answers, else from a collector of their own.

A daemon is looked for in the directories of our own journals, then in the system's. It must look where we would look
ourselves; one that is dead, hangs, is another user's or speaks another version is skipped with one note. Nothing
of that is an error, and none of it takes more than about a second. A repeated query (`--watch`) moves to the
collector when the daemon goes, and back when one is there.
"""

import os
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from ttmem.collector import Collector
from ttmem.errors import DaemonGone, SelectionError, TtmemError
from ttmem.figures.daemon_client import SOCKET_NAME, DaemonClient
from ttmem.figures.last_overview import LastOverview
from ttmem.snapshot import Finding, Snapshot, replace
from ttmem.snapshot.selection import MOST
from ttmem.snapshot.values import clean
from ttmem.sources import Places
from ttmem.sources.driver import Driver
from ttmem.sources.procfs import chip_directory

if TYPE_CHECKING:
    from ttmem.snapshot.chip_map import ChipMap
    from ttmem.snapshot.dump import By, Dump
    from ttmem.snapshot.history import History
    from ttmem.snapshot.incidents import IncidentCopy
    from ttmem.snapshot.kernel_table import KernelTable
    from ttmem.snapshot.process_detail import ProcessDetail
    from ttmem.snapshot.telemetry import ChipTelemetry

__all__ = ["FigureSource", "daemon_directories"]

SYSTEM_DIRECTORY = "/run/ttmem"  # or $TTMEM_SYSTEM_DIR
_SETTLE_SECONDS = 2.0
_TICK_SECONDS = 0.2  # rings of journals hold what a program reports in that time, and people see no faster
_DAEMON_SECONDS = 1.0
_LIST_SECONDS = 30.0
_LEAST_PAUSE_SECONDS = 0.5
_PAUSE_PER_COST = 10  # a daemon that cost a second to be found hanging is left alone for ten

_COVERED_SECONDS = 2.0  # for so long a daemon's word is good that it looks where we would

Answer = TypeVar("Answer")


def daemon_directories(places: Places, environ: Mapping[str, str]) -> list[str]:
    """Where a daemon may be found, in this order: beside our own journals, then where the system's is."""
    return list(dict.fromkeys([*places.own, environ.get("TTMEM_SYSTEM_DIR") or SYSTEM_DIRECTORY]))


class FigureSource:
    """Figures, and who counted them. For one look, or with `is_following` for many."""

    def __init__(
        self, environ: Mapping[str, str], *, uid: int, has_daemon: bool = True, is_following: bool = False
    ) -> None:
        self._places = Places.from_environment(environ, uid=uid)
        self._directories = daemon_directories(self._places, environ) if has_daemon else []
        self._is_following = is_following
        self._collector: Collector | None = None
        self._environ = dict(environ)
        self._chip_directory = chip_directory(environ)
        self._driver: Driver | None = None
        self._passed_over: dict[str, tuple[float, Finding]] = {}  # until when, and why
        self._covered_until: dict[str, float] = {}
        self._last: dict[str, LastOverview] = {}

    def __enter__(self) -> "FigureSource":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_collecting()

    def snapshot(self) -> Snapshot:
        """Everything known now."""
        found = self._asked(lambda daemon: self._covered(daemon, daemon.snapshot()))
        return found if found is not None else self._noted(self._collecting().snapshot())

    def overview(self) -> Snapshot:
        """Everything at a glance: what a monitor asks for repeatedly."""
        found = self._asked(lambda daemon: self._covered(daemon, daemon.overview()))
        return found if found is not None else self._noted(self._collecting().overview())

    def process(self, pid: int, *, key: int | None = None, most: int = MOST) -> "ProcessDetail":
        """One process close up; `key` as in its row of the overview. One that is not there is a SelectionError."""
        return self._close_up(
            lambda daemon: daemon.process(pid, key=key, most=most),
            lambda collector: collector.process(pid, key=key, most=most),
        )

    def chip(self, word: str) -> "ChipMap":
        """One chip by address; `word` as `ps -i` names it. One that is not there is a SelectionError."""
        return self._close_up(lambda daemon: daemon.chip(word), lambda collector: collector.chip(word))

    def kernels(self, word: str, most: int) -> "KernelTable":
        """The kernels of one chip, the `most` largest of them."""
        return self._close_up(
            lambda daemon: daemon.kernels(word, most), lambda collector: collector.kernels(word, most)
        )

    def incident_copy(self, pid: int, number: int, *, key: int | None = None) -> "IncidentCopy | None":
        """What was alive at an incident of a process; `key` as in its row of the overview, where there are several of
        that pid. None if there is no copy."""
        return self._close_up(
            lambda daemon: daemon.incident_copy(pid, number, key=key),
            lambda collector: collector.incident_copy(pid, number, key=key),
        )

    def history(self, seconds: int) -> "History":
        """What was used when, in the last `seconds`: since the daemon began, or since we began to follow."""
        return self._close_up(lambda daemon: daemon.history(seconds), lambda collector: collector.history(seconds))

    def telemetry(self) -> "tuple[ChipTelemetry, ...]":
        """What the driver says of its chips. Read here in any case: it costs little, and needs no daemon."""
        driver = self._found_driver()
        return driver.telemetry() if driver is not None else ()

    def _found_driver(self) -> Driver | None:
        """From when on there is one on this machine."""
        if self._driver is None and os.path.isdir(self._chip_directory):
            self._driver = Driver(self._environ)
        return self._driver

    def dump(self, *, kernels: bool, device: str | None, most: int, by: "By" = "") -> "Dump":
        """What is alive now. A device that is not there is a SelectionError."""

        def own(collector: Collector) -> "Dump":
            dump = collector.dump(kernels=kernels, device=device, most=most, by=by)
            return replace(dump, notes=(*dump.notes, *(note.line for note in self._notes())))

        return self._close_up(lambda daemon: daemon.dump(kernels=kernels, device=device, most=most, by=by), own)

    def reset_peaks(self) -> None:
        """Peaks restart at what is used now: the daemon's, which all users share, or those of our own collector."""
        self._close_up(lambda daemon: daemon.reset_peaks(), lambda collector: collector.ledger.reset_peaks())

    def _close_up(self, question: Callable[[DaemonClient], Answer], own: Callable[[Collector], Answer]) -> Answer:
        """The answer of a daemon that looks where we would, else our own collector's."""
        answered: list[Answer] = []

        def patient(daemon: DaemonClient) -> bool:
            if self._covered_until.get(daemon.path, 0.0) < time.monotonic():
                self._covered(daemon, daemon.overview())
            # It answered just now: it lives, and a long list takes its time.
            answered.append(question(daemon.patient(_LIST_SECONDS)))
            return True

        return answered[0] if self._asked(patient) else own(self._collecting())

    def _asked(self, question: Callable[[DaemonClient], Answer]) -> Answer | None:
        """The answer of the first daemon that has one; None if we have to look ourselves."""
        deadline = time.monotonic() + _DAEMON_SECONDS
        for directory in self._directories:
            path = os.path.join(directory, SOCKET_NAME)
            if not os.path.exists(path):
                self._passed_over.pop(path, None)
                continue
            began = time.monotonic()
            if path in self._passed_over and began < self._passed_over[path][0]:
                continue
            answer, trouble = self._asked_at(path, question, max(0.1, deadline - began))
            if answer is not None:
                self._passed_over.clear()
                self._stop_collecting()
                return answer
            now = time.monotonic()
            pause = max(_LEAST_PAUSE_SECONDS, (now - began) * _PAUSE_PER_COST)
            text = f"{trouble}; the journals were read without it"
            self._covered_until.pop(path, None)
            self._passed_over[path] = (now + pause, Finding("daemon_ignored", 1, path=clean(path), text=clean(text)))
        return None

    def _asked_at(
        self, path: str, question: Callable[[DaemonClient], Answer], seconds: float
    ) -> tuple[Answer | None, str]:
        try:
            last = self._last.setdefault(path, LastOverview())
            return question(DaemonClient(path, timeout_seconds=seconds, last=last)), ""
        except SelectionError:
            raise
        except TtmemError as error:
            return None, str(error)

    def _covered(self, daemon: DaemonClient, answer: Snapshot) -> Snapshot:
        """The answer of a daemon that looks where we would; of another it is worth nothing."""
        if not self._is_covered(answer.places):
            raise DaemonGone(f"does not look into {self._places.main}, where journals are")
        self._covered_until[daemon.path] = time.monotonic() + _COVERED_SECONDS
        return answer

    def _is_covered(self, places: tuple[str, ...]) -> bool:
        """Whether a source that searched there has seen our own journals, if there are any."""
        main = os.path.realpath(self._places.main)
        if clean(main) in map(os.path.realpath, places) or not self._places.is_main_ours():
            return True
        try:
            return not any(name.endswith(".journal") for name in os.listdir(main))
        except OSError:  # not there, or not ours to read: we would find nothing either
            return True

    def _collecting(self) -> Collector:
        """The collector of our own, settled; made when it is first needed."""
        if self._collector is None:
            self._collector = Collector(self._places, driver=self._found_driver())
            if self._is_following:
                self._collector.start(tick_seconds=_TICK_SECONDS)
            self._collector.wait_settled(_SETTLE_SECONDS)
        return self._collector

    @property
    def is_collecting(self) -> bool:
        """Whether the last answer came from a collector of our own."""
        return self._collector is not None

    def _stop_collecting(self) -> None:
        collector, self._collector = self._collector, None
        if collector is not None:
            collector.stop()

    def _noted(self, answer: Snapshot) -> Snapshot:
        notes = self._notes()
        return replace(answer, findings=(*answer.findings, *notes)) if notes else answer

    def _notes(self) -> tuple[Finding, ...]:
        """Which daemons were skipped, and why."""
        return tuple(note for _, note in self._passed_over.values())
