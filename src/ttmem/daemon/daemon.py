"""The daemon: takes messages of the allocation server's protocol, follows journals, answers queries, logs.

thread             does                                            waits for
main               signals, once a second a look at the others      a signal
ttmem-collector    follows journals, samples their course           them
ttmem-server-socket takes messages into the ledger (native)          them
ttmem-queries      HTTP, with a few helpers that encode             questions
ttmem-log          writes stdout                                    lines, and the reader of stdout
ttmem-checkpoint   writes a file once a second                      the disk
"""

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import ttmem
from ttmem.collector import Collector
from ttmem.daemon.activation import notify_manager
from ttmem.daemon.checkpoint import Checkpoint
from ttmem.daemon.dumping import Dumping
from ttmem.daemon.listeners import Listeners, Plan, open_listeners
from ttmem.daemon.log import Log
from ttmem.daemon.metrics.exporter import Asked, Exporter
from ttmem.daemon.metrics.service import Service
from ttmem.daemon.queries.answers import Answers
from ttmem.daemon.queries.app import Queries, scrape_routes
from ttmem.daemon.queries.frames import Encoded, encoded_frame
from ttmem.daemon.queries.server import QueryServer
from ttmem.daemon.signals import Signals
from ttmem.daemon.statistics import Statistics
from ttmem.errors import CannotServe
from ttmem.snapshot import Finding
from ttmem.snapshot.values import clean
from ttmem.sources import Places
from ttmem.sources.driver import Driver
from ttmem.sources.server_socket import ServerFeed

__all__ = ["Daemon", "serve"]

_SETTLE_SECONDS = 1.0
_CHECKPOINT_EVERY_SECONDS = 1.0
_CHECKPOINT_SHARE = 5  # of the time, at most one part for writing: with millions of allocations, less often
_STOP_SECONDS = 0.7  # for viewers that are still being answered, and for the last checkpoint
_LAST_WORDS_SECONDS = 0.15  # for a disk or a reader of the log that hangs
_TRY_AGAIN_SECONDS = 5.0  # a socket that another user keeps us from
_WORKERS = {  # threads by what they are
    "server socket": "ttmem-server-socket",
    "collector": "ttmem-collector",
    "checkpoint writer": "ttmem-checkpoint",
    "log writer": "ttmem-log",
    "query server": "ttmem-queries",
}
_STDOUT = 1


def serve(plan: Plan, places: Places, environ: Mapping[str, str], *, logs_events: bool, asked: Asked) -> None:
    """Serves until a signal says that it is enough."""
    with Signals() as signals, open_listeners(plan, environ) as listeners:
        daemon = Daemon(listeners, places, Driver(environ), logs_events=logs_events, asked=asked)
        daemon.start()
        _collect_seldom()
        notify_manager(environ, "READY=1", f"STATUS={daemon.ready_line}")
        for number in signals.until_the_end(each_second=daemon.look_after):
            if number == signal.SIGUSR1:
                daemon.log.ask_for_dump()
        notify_manager(environ, "STOPPING=1")
        daemon.stop()


def _collect_seldom() -> None:
    """Every answer makes thousands of objects without cycles; looking for those at Python's usual pace takes a third of
    the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


class Daemon:
    """All parts of it; `start` and `stop` are called once, by one thread."""

    def __init__(
        self, listeners: Listeners, places: Places, driver: Driver, *, logs_events: bool, asked: Asked
    ) -> None:
        self._listeners = listeners
        self._driver = driver
        self._began = time.monotonic()
        self._collector = Collector(places, source=f"daemon pid {os.getpid()}", driver=driver)
        if logs_events:
            self._collector.ledger.log_events()
        self._logs_events = logs_events
        self._feed: ServerFeed | None = None
        if listeners.server is not None:
            self._feed = ServerFeed(self._collector.ledger, listeners.server, logs_events=logs_events)
        self._tried = self._began
        self._dumping = Dumping(self._collector)
        self.log = Log(_STDOUT, source=self._take_log, dump=self._dumping.text, warn=warn)
        self._statistics = Statistics(self._collector.snapshot) if logs_events else None
        if self._statistics:
            self.log.regularly(self._statistics.regular_text)
        path = os.path.splitext(listeners.query.path)[0] + ".checkpoint"
        self._checkpoint = Checkpoint(path, self._collector.ledger, say=lambda text: self.log.say(f"ttmem: {text}"))
        self._is_started = False
        self._is_stopping = threading.Event()
        self._is_drained = threading.Event()
        self._checkpoints = threading.Thread(target=self._keep, name="ttmem-checkpoint", daemon=True)
        self._exporter = Exporter(self._collector, asked=asked, service=Service(ttmem.__version__, time.time_ns()))
        questions = Queries(
            snapshot=self._snapshot,
            health=self._health,
            reset_peaks=self._collector.ledger.reset_peaks,
            overview=self._overview,
            figures=Answers(self._collector, driver).routes,
            routes=scrape_routes(self._exporter, self._is_well),
            shows_paths=listeners.shows_paths,
        )
        self._queries = QueryServer(questions, listeners.for_queries, warn=warn)
        self._warnings: set[str] = set()

    @property
    def ready_line(self) -> str:
        """What is served where, and by whom."""
        serving = f"serving {self._listeners.server.path}, " if self._listeners.server else ""
        port = f" and {self._listeners.url}" if self._listeners.url else ""
        return f"{serving}answering on {self._listeners.query.path}{port} (pid {os.getpid()})"

    def start(self) -> None:
        """Returns once programs are heard and questions answered."""
        self._checkpoint.restore()
        if self._feed:
            self._feed.start()
        self._collector.start()
        self._collector.wait_settled(_SETTLE_SECONDS)
        self._checkpoints.start()
        self._queries.start()
        self._note_troubles()
        self.log.start(f"ttmem: {self.ready_line}")
        self._is_started = True

    def stop(self) -> None:
        """Takes in what was already said, keeps it, and says the last words. Well under a second."""
        deadline = time.monotonic() + _STOP_SECONDS
        self._is_stopping.set()
        self._queries.ask_to_stop()
        for served in (self._listeners.server, self._listeners.query):
            if served:
                served.remove()
        if self._feed:
            self._feed.stop()
        self._collector.stop()
        self._collector.tick()
        self._is_drained.set()
        if self._statistics:
            self.log.say(self._statistics.last_text().rstrip("\n"))
        self.log.close(_LAST_WORDS_SECONDS)
        self._queries.stop(deadline - time.monotonic())
        self._checkpoints.join(max(0.0, deadline - time.monotonic()))
        if self._checkpoints.is_alive():
            warn(f"{self._checkpoint.path}: the last checkpoint takes too long; the one before stays")

    def look_after(self) -> None:
        """Says once what went wrong since the last look, and on pages of metrics as long as it is so."""
        for name, is_alive in self._workers().items():
            if not is_alive:
                self._warn_once(f"the {name} has ended by a fault of its own; restart this daemon")
        for served in (self._listeners.server, self._listeners.query):
            if served and not served.is_in_place():
                self._warn_once(f"{served.path}: this socket was removed or replaced; restart this daemon")
        self._exporter.service = self._exporter.service._replace(
            is_well=self._is_well(), dropped_line_count=self.log.lost_count
        )
        if self._listeners.is_server_blocked and time.monotonic() >= self._tried + _TRY_AGAIN_SECONDS:
            self._tried = time.monotonic()
            self._try_server()

    def _try_server(self) -> None:
        """Serves the socket after all, if what was in its way is gone."""
        try:
            served = self._listeners.try_server()
        except CannotServe as error:  # now it is a server of our own user
            self._warn_once(str(error))
            return
        if served is not None:
            self._feed = ServerFeed(self._collector.ledger, served, logs_events=self._logs_events)
            self._feed.start()
            self.log.say(f"ttmem: {served.path}: free by now; serving it")
        self._note_troubles()

    def _note_troubles(self) -> None:
        """Says in the log, once, and in the notes of figures, which sockets are not as they were asked for."""
        for trouble in self._listeners.troubles:
            if trouble not in self._warnings:
                self._warnings.add(trouble)
                self.log.say(f"ttmem: {trouble}")
        self._collector.notes = tuple(
            Finding("socket_blocked", 1, text=clean(text)) for text in self._listeners.troubles
        )

    def _take_log(self, wait_seconds: float) -> tuple[bytes, int, int, int]:
        if self._feed is not None:
            return self._feed.take_log(wait_seconds)
        if not self._logs_events:  # nothing to be quick for
            self._is_drained.wait(wait_seconds)
            wait_seconds = 0.0
        return *self._collector.ledger.take_log(wait_seconds), 0, 0

    def _warn_once(self, text: str) -> None:
        if text not in self._warnings:
            self._warnings.add(text)
            warn(text)

    def _workers(self) -> dict[str, bool]:
        """Whether each lives that was started."""
        alive = {thread.name for thread in threading.enumerate()}
        idle = () if self._feed is not None else ("server socket",)
        return {what: not self._is_started or what in idle or name in alive for what, name in _WORKERS.items()}

    def _keep(self) -> None:
        pause = _CHECKPOINT_EVERY_SECONDS
        while not self._is_stopping.wait(pause):
            began = time.monotonic()
            self._checkpoint.write()
            pause = max(_CHECKPOINT_EVERY_SECONDS, _CHECKPOINT_SHARE * (time.monotonic() - began))
        self._is_drained.wait()
        self._checkpoint.write()

    def _snapshot(self) -> Encoded:
        self._collector.tick()  # also the journal that was made a moment ago
        return encoded_frame(self._collector.snapshot())

    def _overview(self) -> Encoded:
        self._collector.tick()
        return encoded_frame(self._collector.overview())

    def _is_well(self) -> bool:
        listeners = (self._listeners.server, self._listeners.query)
        return all(self._workers().values()) and all(served is None or served.is_in_place() for served in listeners)

    def _troubles(self) -> list[str]:
        """What has failed, one sentence each: the figures are right, but this is not as it should be."""
        ended = [name for name, is_alive in self._workers().items() if not is_alive]
        found = [f"the {name} has ended by a fault of its own" for name in ended]
        return [*found, *self._listeners.troubles, *filter(None, [self._checkpoint.trouble])]

    def _health(self) -> tuple[bool, dict[str, Any]]:
        is_well, troubles = self._is_well(), self._troubles()
        server = self._listeners.server
        return is_well and not troubles, {
            "status": "ailing" if not is_well else "degraded" if troubles else "ok",
            "reasons": troubles,
            "pid": os.getpid(),
            "version": ttmem.__version__,
            "uptime_seconds": round(time.monotonic() - self._began, 3),
            "socket": {
                "path": server.path if server else None,
                "in_place": server.is_in_place() if server else None,
                **(self._feed.statistics() if self._feed else {}),
            },
            "journals": self._collector.ledger.journal_count(),
            "checkpoint": self._checkpoint.facts(),
            "threads": {name: "ok" if is_alive else "ended" for name, is_alive in self._workers().items()},
        }


def warn(text: str) -> None:
    """One line on stderr, if there is one."""
    sys.stderr.write(f"ttmem: {text}\n")
    sys.stderr.flush()
