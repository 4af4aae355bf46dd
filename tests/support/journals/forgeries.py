"""Journals that somebody forged: their headers name a process that did not write them.

Two users who are not root are needed to tell whom a figure belongs to. They need no accounts: any uid will do, which
only root can take.
"""

import os
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.support.journals.bad_journals import IDENTITY, Sample
from tests.support.processes.programs import command_of
from ttmem.sources.procfs import own_pid_namespace, stat_of

VICTIM_UID, FORGER_UID = 61001, 61002
needs_two_users = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can become two other users")


@dataclass(frozen=True)
class Somebody:
    """A process of another user, which ends with its block."""

    process: "subprocess.Popen[str]"

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None


@contextmanager
def somebody(uid: int, *does: str) -> Iterator[Somebody]:
    """A process that runs as `uid`, whose `does` are "map:PATH", "lock:PATH" or "open_file_lock:PATH"."""
    with started(command_of("processes.another_user", str(uid), *does)) as process:
        yield Somebody(process)


@contextmanager
def started(command: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """A process that says when it is ready and waits; killed when the block is left."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        said: IO[str] | None = process.stdout
        assert said is not None
        assert said.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@contextmanager
def reporting(directory: Path, uid: int, what: str) -> Iterator["subprocess.Popen[str]"]:
    """A process that runs as `uid`, has done `what` and reports it into a directory."""
    with started(command_of("processes.reporter_of_another_user", str(uid), str(directory), what)) as process:
        yield process


def forge(path: Path, sample: Sample, *, owner_uid: int) -> Path:
    """A file for a forged journal; it names nobody yet."""
    sample.put(path)
    path.chmod(0o600)
    os.chown(path, owner_uid, owner_uid)
    return path


def name_in(path: Path, pid: int, *, pid_namespace: int | None = None) -> None:
    """Writes a living process into the header of a forged journal."""
    stat = stat_of(pid)
    assert stat is not None
    fields = {
        "pid": struct.pack("<I", pid),
        "start_ticks": struct.pack("<Q", stat.start_ticks),
        "pid_namespace": struct.pack("<Q", pid_namespace or own_pid_namespace() or 0),
    }
    with path.open("r+b") as file:
        for name, value in fields.items():
            assert len(value) == IDENTITY[name][1]
            os.pwrite(file.fileno(), value, IDENTITY[name][0])
