"""Processes of the runtime model that are told what to do: see `tests.programs.recording.storyteller`."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.processes.programs import command_of
from tests.support.timing.waiting import wait_until

Used = dict[str, dict[str, int]]  # by chip and pool


class Known(NamedTuple):
    """What is true of a process after an order, by the model's own arithmetic."""

    pid: int
    used: Used
    alive: list[list[int]]  # id, address, bytes on each chip
    most: Used  # since the order before


class Teller:
    """One process, or with `is_child` the child that it forked."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._said = line.makefile("rw", encoding="utf-8")
        self._pids = [int(json.loads(self._said.readline())[0])]

    def do(self, *order: Any, is_child: bool = False) -> Known:
        print(json.dumps(["child", *order] if is_child else order), file=self._said, flush=True)
        answer = self._said.readline()
        assert answer, "a process of the story is gone"
        return Known(*json.loads(answer))

    def fork(self) -> None:
        """It has a child from now on."""
        self.do("fork")
        self._pids.insert(0, int(self.do("note", is_child=True).pid))

    def kill(self) -> None:
        """Both of them; returns when they are gone."""
        for pid in self._pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._said.close()
        self._line.close()
        wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in self._pids))


class Tellers:
    """Starts them."""

    def __init__(self, door: socket.socket) -> None:
        self._door = door

    def start(self, directory: Path, **settings: str) -> Teller:
        ours, theirs = socket.socketpair()
        with theirs:
            said = json.dumps({"TTMEM": "1", "TTMEM_DIR": str(directory), **settings}).encode()
            socket.send_fds(self._door, [said], [theirs.fileno()])
        return Teller(ours)


@contextmanager
def tellers() -> Iterator[Tellers]:
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(command_of("recording.storyteller", str(theirs.fileno())), pass_fds=[theirs.fileno()])
    theirs.close()
    try:
        yield Tellers(ours)
    finally:
        ours.close()
        process.wait()
