"""Figures to query without a collector: simulated ones, or none at all."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.simulated.overviews import SECOND_NS, a_detail, a_history, ago, an_overview
from ttmem.errors import DaemonGone, SelectionError
from ttmem.monitor.parts.drawing import MonitorFrame
from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.history import History, Mark
from ttmem.snapshot.incidents import IncidentCopy
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import Snapshot
from ttmem.snapshot.values import TimeNs, replace

MARKS = (
    Mark(ago(20), "out_of_memory", "40.0 MiB of l1, 13.0 MiB in one piece", pid=4001, device=0),
    Mark(ago(10), "clash", "circular buffers of program 7 reach 32.0 KiB into a buffer", pid=4002),
)


class SimulatedQueries:
    """Answers at once, with time passing from look to look, and remembers what it was asked for."""

    def __init__(self, chips: int = 4, processes: int = 6) -> None:
        self.made_up = an_overview(chips, processes)
        self.asked: list[str] = []
        self.is_gone = False

    @contextmanager
    def opened(self) -> Iterator["SimulatedQueries"]:
        self.asked.append("opened")
        yield self

    def overview(self) -> Snapshot:
        self._hear("overview")
        self.made_up = replace(self.made_up, time_ns=TimeNs(self.made_up.time_ns + SECOND_NS))
        return self.made_up

    def process(self, pid: int, *, key: int | None = None) -> ProcessDetail:
        self._hear(f"process {pid}")
        return replace(a_detail(), process=next(row for row in self.made_up.processes if row.pid == pid))

    def chip(self, word: str) -> ChipMap:
        self._hear(f"chip {word}")
        raise SelectionError(f"no device {word} here")

    def kernels(self, word: str, most: int) -> KernelTable:
        self._hear(f"kernels {word}")
        raise SelectionError(f"no device {word} here")

    def history(self, seconds: int) -> History:
        self._hear(f"history {seconds}")
        return replace(a_history(self.made_up, seconds), marks=MARKS)

    def telemetry(self) -> tuple[ChipTelemetry, ...]:
        self._hear("telemetry")
        return ()

    def incident_copy(self, pid: int, number: int, *, key: int | None = None) -> IncidentCopy | None:
        self._hear(f"incident {pid}-{number}")
        return None

    def reset_peaks(self) -> None:
        self._hear("reset_peaks")

    def _hear(self, question: str) -> None:
        self.asked.append(question)
        if self.is_gone:
            raise DaemonGone("no answer there: the daemon that made it has ended")


def a_frame(chips: int = 4, processes: int = 6) -> MonitorFrame:
    """What a feed delivers of them."""
    sights = SimulatedQueries(chips, processes)
    return MonitorFrame(overview=sights.overview(), history=sights.history(60), telemetry=())
