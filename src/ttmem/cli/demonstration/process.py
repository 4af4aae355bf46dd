"""A workload in a process of its own, watched from outside: started, asked to stop, killed, and always ended."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict

from ttmem.cli.demonstration.workload import FAILED, PHASE, READY, Order, Report
from ttmem.errors import TtmemError

__all__ = ["DemoProcess", "demo_process", "next_reports"]

_END_SECONDS = 5.0


class DemoProcess:
    """The process, from the moment its devices are open."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._heard = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        """What becomes readable when it reports something."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    @property
    def has_report(self) -> bool:
        """Whether something it reported has been read and not been asked for."""
        return b"\n" in self._heard

    def report(self) -> Report:
        """Its next report; waits for it."""
        while not self.has_report:
            read = os.read(self.fileno(), 1 << 16)
            if not read:
                raise TtmemError(f"the process of the workload (pid {self.pid}) ended before it reported its result")
            self._heard += read
        line, _, self._heard = self._heard.partition(b"\n")
        report = Report(**json.loads(line))
        if report.event == FAILED:
            raise TtmemError(report.refusal)
        return report

    def stop(self) -> Report:
        """It plays no more, and holds what it has."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # what it reported before it ended is still to be read
            self._process.stdin.write(b"stop\n")
            self._process.stdin.flush()
        while (report := self.report()).event == PHASE:
            pass
        return report

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()

    def end(self) -> None:
        """Ends it, if it has not ended: its devices are closed first, unless that takes too long."""
        try:
            self._process.communicate(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()


def next_reports(processes: Sequence[DemoProcess], wait_seconds: float) -> dict[int, Report]:
    """What some of them report, by pid; nothing if none reports anything for that long."""
    reports = [process for process in processes if process.has_report]
    return {process.pid: process.report() for process in reports or select.select(processes, [], [], wait_seconds)[0]}


@contextmanager
def demo_process(order: Order, *, directory: str) -> Iterator[DemoProcess]:
    """A process that plays a workload and reports into a directory; its devices are open, and it ends when left."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TTMEM")}
    environ |= {"TTMEM": "1", "TTMEM_DIR": directory, "TTMEM_LABEL": order.name}
    process = DemoProcess(
        subprocess.Popen(
            [sys.executable, "-m", "ttmem.cli.demonstration.workload", json.dumps(asdict(order))],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # what the terminal's keys interrupt is us; it ends with its input
        )
    )
    try:
        first = process.report()
        assert first.event == READY
        if not any(name.startswith(f"{process.pid}-") for name in os.listdir(directory)):
            raise TtmemError(
                f"the process of the workload (pid {process.pid}) could not begin a journal in {directory}"
            )
        yield process
    finally:
        process.end()
