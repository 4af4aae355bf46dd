"""Real processes that report what a test tells them to, met at sockets.

A process that has everything imported forks one child for each reporter, so a reporter costs milliseconds. Every
reporter has its own journal; it does what it is told and answers with what each call returned.

with a_nursery() as nursery:
    reporter = nursery.start(directory)
    chip, handle = reporter.do(("open_device", ...), ("report_buffer_alloc", 1, 7, 4096))
"""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from operator import index
from pathlib import Path
from typing import Any

from tests.support.processes.programs import command_of
from tests.support.timing.waiting import wait_until
from ttmem._native import Ledger

Command = tuple[Any, ...]
CHIP_FACTS = (-1, "", "", (0, 0), (0, 0), (0,) * 10, 0)


class Reporter:
    """One reporting process."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._is_killed = False
        self._said = line.makefile("rw", encoding="utf-8")
        self.pid, self.journal = json.loads(self._said.readline())

    def do(self, *commands: Command) -> list[Any]:
        """Calls each (name, arguments...) of `_native.client` in the process; returns what they returned."""
        self.begin(*commands)
        return self.finish()

    def begin(self, *commands: Command) -> None:
        """Lets the process start on these calls, and does not wait."""
        self._said.write(json.dumps(commands, default=index) + "\n")
        self._said.flush()

    def finish(self) -> list[Any]:
        """Waits for the calls that were begun."""
        answer = self._said.readline()
        assert answer, f"process {self.pid} is gone"
        return list(json.loads(answer))

    def call(self, name: str, *values: Any) -> Any:
        return self.do((name, *values))[0]

    def open_device(self, unique_id: int) -> int:
        return int(self.call("open_device", unique_id, *CHIP_FACTS))

    def attach_to(self, ledger: Ledger) -> int:
        """Lets a ledger read this process's journal; the key of the process there."""
        return attach(ledger, self.journal)

    def kill(self) -> None:
        """Ends the process at once; returns when the kernel has taken it away."""
        if self._is_killed:
            return  # its pid may be another's by now
        self._is_killed = True
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._said.close()
        self._line.close()
        wait_until(lambda: not os.path.exists(f"/proc/{self.pid}"))


class Nursery:
    """Starts reporters."""

    def __init__(self, door: socket.socket) -> None:
        self._door = door
        self._reporters: list[Reporter] = []

    def start(self, directory: Path, **settings: str) -> Reporter:
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(
                self._door, [json.dumps({"TTMEM_DIR": str(directory), **settings}).encode()], [theirs.fileno()]
            )
        reporter = Reporter(ours)
        self._reporters.append(reporter)
        return reporter

    def kill_all(self) -> None:
        while self._reporters:
            self._reporters.pop().kill()


@contextmanager
def a_nursery(*before: str) -> Iterator[Nursery]:
    """A nursery whose processes are all gone at the end; `before`: what its command is an argument of."""
    ours, theirs = socket.socketpair()
    command = [*before, *command_of("processes.nursery", str(theirs.fileno()))]
    process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
    theirs.close()
    nursery = Nursery(ours)
    try:
        yield nursery
    finally:
        nursery.kill_all()
        ours.close()
        process.wait()


def attach(ledger: Ledger, journal: str) -> int:
    """The key of the process whose journal this is."""
    facts = os.stat(journal)
    key, error = ledger.attach(journal, facts.st_dev, facts.st_ino)
    assert key, error
    return key
