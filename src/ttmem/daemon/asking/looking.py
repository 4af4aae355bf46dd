"""Where viewers get their figures: from a daemon if one answers, else from a collector of their own.

A daemon is looked for in the directory of our own journals, then in the system's. It must look where we would look
ourselves; one that is dead, hangs, is somebody else's or speaks another version is passed over with one note. Nothing
of that is an error, and none of it takes more than about a second. Who asks again and again (`--watch`) moves to the
collector when the daemon goes, and back when one is there.
"""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from ttmem.errors import SelectionError, TtmemError
from ttmem.snapshot import Dump, Finding, Snapshot, dump_of
from ttmem.sources import Places

if TYPE_CHECKING:
    from ttmem.collector import Collector
    from ttmem.daemon.asking.client import DaemonClient

__all__ = ["Looking"]

SYSTEM_DIRECTORY = "/run/ttmem"  # or $TTMEM_SYSTEM_DIR
_SETTLE_SECONDS = 2.0
_DAEMON_SECONDS = 1.0
_LIST_SECONDS = 30.0
_LEAST_PAUSE_SECONDS = 0.5
_PAUSE_PER_COST = 10  # a daemon that cost a second to be found hanging is left alone for ten

Answer = TypeVar("Answer", Snapshot, Dump)


class Looking:
    """Figures, and who counted them. For one look, or with `is_following` for many."""

    def __init__(
        self, environ: Mapping[str, str], *, uid: int, has_daemon: bool = True, is_following: bool = False
    ) -> None:
        self._places = Places.from_environment(environ, uid=uid)
        system = environ.get("TTMEM_SYSTEM_DIR") or SYSTEM_DIRECTORY
        self._directories = dict.fromkeys([self._places.main, system]) if has_daemon else {}
        self._is_following = is_following
        self._collector: Collector | None = None
        self._passed_over: dict[str, tuple[float, Finding]] = {}  # until when, and why

    def __enter__(self) -> "Looking":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_collecting()

    def snapshot(self) -> Snapshot:
        """Everything known now."""
        return self._asked(lambda _, snapshot: snapshot) or self._noted(self._collecting().snapshot())

    def dump(self, *, kernels: bool, device: str | None, most: int) -> Dump:
        """What is alive now. A device that is not there is a SelectionError."""

        def question(daemon: "DaemonClient", _: Snapshot) -> Dump:
            # It answered just now: it lives, and a long list takes its time.
            return daemon.patient(_LIST_SECONDS).dump(kernels=kernels, device=device, most=most)

        answer = self._asked(question)
        if answer is not None:
            return answer
        collector = self._collecting()
        snapshot = self._noted(collector.snapshot())
        rows = {process.key: collector.ledger.allocations(process.key, most) for process in snapshot.reporting}
        return dump_of(snapshot, rows, kernels=kernels, device=device, most=most)

    def _asked(self, question: "Callable[[DaemonClient, Snapshot], Answer]") -> Answer | None:
        """The answer of the first daemon that has one; None if we have to look ourselves."""
        deadline = time.monotonic() + _DAEMON_SECONDS
        for directory in self._directories:
            path = os.path.join(directory, "daemon.sock")
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
            self._passed_over[path] = (now + pause, Finding("daemon_ignored", 1, path=path, text=text))
        return None

    def _asked_at(
        self, path: str, question: "Callable[[DaemonClient, Snapshot], Answer]", seconds: float
    ) -> tuple[Answer | None, str]:
        from ttmem.daemon.asking.client import DaemonClient

        daemon = DaemonClient(path, timeout_seconds=seconds)
        try:
            snapshot = daemon.snapshot()
            if not self._is_covered(snapshot.places):
                return None, f"does not look into {self._places.main}, where journals are"
            return question(daemon, snapshot), ""
        except SelectionError:
            raise
        except TtmemError as error:
            return None, str(error)

    def _is_covered(self, places: tuple[str, ...]) -> bool:
        """Whether somebody who looked there has seen our own journals, if there are any."""
        main = os.path.realpath(self._places.main)
        if main in map(os.path.realpath, places):
            return True
        try:
            return not any(name.endswith(".journal") for name in os.listdir(main))
        except OSError:  # not there, or not ours to read: we would find nothing either
            return True

    def _collecting(self) -> "Collector":
        """The collector of our own, settled; made when it is first needed."""
        if self._collector is None:
            from ttmem.collector import Collector

            self._collector = Collector(self._places)
            if self._is_following:
                self._collector.start()
            self._collector.wait_settled(_SETTLE_SECONDS)
        return self._collector

    def _stop_collecting(self) -> None:
        collector, self._collector = self._collector, None
        if collector is not None:
            collector.stop()

    def _noted(self, snapshot: Snapshot) -> Snapshot:
        notes = [note for _, note in self._passed_over.values()]
        return replace(snapshot, findings=(*snapshot.findings, *notes)) if notes else snapshot
