"""The watcher of a demo without a terminal: looks at the table when workloads have played, and judges them."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from ttmem.cli.demonstration.interrupts import Interrupts
from ttmem.cli.demonstration.process import DemoProcess, next_reports
from ttmem.cli.demonstration.workload import KILL, PHASE, Report
from ttmem.collector import Collector
from ttmem.devices import Pool
from ttmem.snapshot import ProcessUsage, Snapshot
from ttmem.view.page import PageOptions
from ttmem.view.pages.ps import page
from ttmem.view.screen import Screen
from ttmem.view.texts import plural, size_text

__all__ = ["Watcher", "farewell", "is_as_expected"]

_NOTICE_SECONDS = 0.2  # how long Ctrl-C may take to be noticed
_SETTLE_SECONDS = 5.0


class Watcher:
    """Looks once, when all have played, or on an interrupt."""

    def __init__(self, collector: Collector, screen: Screen, options: PageOptions, interrupts: Interrupts) -> None:
        self._interrupts = interrupts
        self._collector = collector
        self._screen = screen
        self._options = options
        self.last = collector.snapshot()  # with everything the workloads ever did, and still hold

    def watch(self, processes: Sequence[DemoProcess], seconds: float | None) -> dict[int, Report]:
        """Until no workload has anything more to do, but not longer than that; what each reported of itself, by pid."""
        deadline = time.monotonic() + seconds if seconds is not None else float("inf")
        reports: dict[int, Report] = {}
        while len(reports) < len(processes) and time.monotonic() < deadline and not self._interrupts.is_pressed:
            noticed_by = min(deadline, time.monotonic() + _NOTICE_SECONDS)
            reports |= _heard([one for one in processes if one.pid not in reports], noticed_by)
        reports |= {one.pid: one.stop() for one in processes if one.pid not in reports}
        self.last = self._settled()
        self._show(self.last)
        self._kill([one for one in processes if reports[one.pid].event == KILL])
        return {one.pid: reports[one.pid] for one in processes}

    def left_bytes(self) -> int:
        """What is on the devices when the end of all workloads has been noticed."""
        self._wait_for(lambda snapshot: not snapshot.live)
        return sum(usage.used_bytes for device in self._collector.snapshot().devices for usage in device.pools)

    def _settled(self) -> Snapshot:
        """With everything they had allocated before their report; a viewer that was lapped looks again."""
        self._collector.stop()
        self._collector.wait_settled(_SETTLE_SECONDS)
        while self._collector.tick():
            pass
        snapshot = self._collector.snapshot()
        self._collector.start()
        return snapshot

    def _kill(self, processes: Sequence[DemoProcess]) -> None:
        """The table once more, right after: those processes are gone, and what they held is given back."""
        if not processes:
            return
        for process in processes:
            process.kill()
        pids = {process.pid for process in processes}
        self._wait_for(lambda snapshot: not pids & {process.pid for process in snapshot.live})
        self._show(self._collector.snapshot(), is_with_ended=True)

    def _wait_for(self, is_so: Callable[[Snapshot], bool]) -> None:
        deadline = time.monotonic() + _SETTLE_SECONDS
        while not is_so(self._collector.snapshot()) and time.monotonic() < deadline:
            time.sleep(0.01)

    def _show(self, snapshot: Snapshot, *, is_with_ended: bool = False) -> None:
        options = self._options._replace(width=self._screen.width, is_with_ended=is_with_ended)
        self._screen.frame(page(snapshot, options))


def _heard(processes: Sequence[DemoProcess], deadline: float) -> dict[int, Report]:
    """Reports of those that have nothing more to do; returns as soon as one does, or at the deadline."""
    while (wait_seconds := deadline - time.monotonic()) > 0:
        reports = next_reports(processes, wait_seconds)
        if ended := {pid: report for pid, report in reports.items() if report.event != PHASE}:
            return ended
    return {}


def farewell(reports: Mapping[int, Report], last: Snapshot, left_bytes: int) -> Iterator[str]:
    """What became of every workload, whether it held what it should have held, and what is left of them."""
    processes = {process.pid: process for process in last.processes}
    for pid, report in reports.items():
        if report.refusal:
            yield f"{report.name}: the runtime refused: {report.refusal}"
        peaks = _peaks(processes[pid])
        yield _judgement(report, peaks)
        if trace_bytes := peaks.get(Pool.TRACE.word):
            yield f"{report.name}: trace {size_text(trace_bytes)} (estimated: not every command of it is simulated)."
        if report.event == KILL:
            yield f"{report.name} was killed (kill -9), with all it held."
    who, whose = ("All programs have", "their") if len(reports) > 1 else ("The program has", "its")
    yield f"{who} ended; {size_text(left_bytes)} of {whose} memory is left on the devices."


def is_as_expected(reports: Mapping[int, Report], last: Snapshot) -> bool:
    """Whether every workload held what it should have held, to the byte."""
    processes = {process.pid: process for process in last.processes}
    return all(_is_equal(_pairs(report, _peaks(processes[pid]))) for pid, report in reports.items())


def _pairs(report: Report, peaks: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    """Expected and measured, by pool."""
    return {word: (expected, peaks.get(word, 0)) for word, expected in report.expected.items()}


def _is_equal(pairs: Mapping[str, tuple[int, int]]) -> bool:
    return all(expected == measured for expected, measured in pairs.values())


def _judgement(report: Report, peaks: Mapping[str, int]) -> str:
    pairs = _pairs(report, peaks)
    figures = ", ".join(f"{word} {size_text(one)} / {size_text(other)}" for word, (one, other) in pairs.items())
    judgement = "equal to the byte" if _is_equal(pairs) else "NOT EQUAL"
    chips = plural(report.chip_count, f"{report.board} chip", "s")
    return (
        f"{report.name}: {report.played} on {chips}. "
        f"Peak of each, expected / measured: {figures or 'nothing'}; {judgement}."
    )


def _peaks(process: ProcessUsage) -> dict[str, int]:
    """On its first chip, as all are used alike; circular buffers only ever become more."""
    [held, *_] = process.devices
    peaks = {usage.pool.word: usage.peak_bytes for usage in held.pools}
    footprint = held.activity.footprint
    return peaks if footprint is None else {**peaks, Pool.CB.word: footprint.planned_bytes}
