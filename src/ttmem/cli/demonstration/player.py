"""A demo that is watched in the monitor: workloads play, and are listened to meanwhile, until the monitor is left.

field        who touches it
_reports     the listening thread until `finish` has waited for its end, then its caller
_killed      likewise
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from ttmem.cli.demonstration.driver_tree import beating, write_tree
from ttmem.cli.demonstration.process import DemoProcess, demo_process, next_reports
from ttmem.cli.demonstration.workload import KILL, PHASE, Order, Report
from ttmem.collector import Collector
from ttmem.errors import TtmemError
from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.snapshot.values import replace
from ttmem.sources import Places

__all__ = ["Performance", "performed", "settled"]

_LISTEN_SECONDS = 0.2  # how long the end of it all may take to be noticed
_SETTLE_SECONDS = 5.0


class Performance:
    """The processes of a demo, and a thread that hears their reports."""

    def __init__(self, processes: Sequence[DemoProcess], places: Places) -> None:
        self._processes = processes
        self._places = places
        self._reports: dict[int, Report] = {}
        self._killed: dict[int, ProcessUsage] = {}  # as they were before
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="ttmem-demo", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Until all of them have played, but no longer than that."""
        self._thread.join(seconds)

    def finish(self) -> tuple[dict[int, Report], Snapshot]:
        """Nothing plays any more: what each reported of itself, by pid, and what all of them hold."""
        self._is_over.set()
        self._thread.join()
        playing = [one for one in self._processes if one.pid not in self._reports]
        reports = self._reports | {one.pid: one.stop() for one in playing}
        last = settled(self._places)
        others = tuple(process for process in last.processes if process.pid not in self._killed)
        whole = replace(last, processes=(*others, *self._killed.values()))
        return {one.pid: reports[one.pid] for one in self._processes}, whole

    def _listen(self) -> None:
        while not self._is_over.is_set():
            playing = [one for one in self._processes if one.pid not in self._reports]
            if not playing:
                return
            try:
                reports = next_reports(playing, _LISTEN_SECONDS)
            except TtmemError:  # one of them was ended from outside; `finish` says so
                return
            for pid, report in reports.items():
                if report.event == KILL:
                    self._kill(next(one for one in playing if one.pid == pid))
                if report.event != PHASE:
                    self._reports[pid] = report

    def _kill(self, process: DemoProcess) -> None:
        """What it held is looked at once more first: it is judged by that."""
        self._killed |= {usage.pid: usage for usage in settled(self._places).processes if usage.pid == process.pid}
        process.kill()


def settled(places: Places) -> Snapshot:
    """With everything that was reported until now."""
    with Collector(places) as collector:
        collector.wait_settled(_SETTLE_SECONDS)
        while collector.tick():
            pass
        return collector.snapshot()


@contextmanager
def performed(orders: Sequence[Order], directory: str, places: Places) -> Iterator[Performance]:
    """Workloads that play in processes of their own, until this is left; and a driver that knows their chips."""
    with ExitStack() as running:
        processes = [running.enter_context(demo_process(order, directory=directory)) for order in orders]
        write_tree(directory, settled(places))
        running.enter_context(beating(directory))
        yield Performance(processes, places)
