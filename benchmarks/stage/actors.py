"""The other processes of a benchmark: programs that report, programs that collect, and the old design's server.

Each is a context manager; leaving it ends the process, by its own handle, and waits for it.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks.figures.rows import Row, row_of_line
from benchmarks.stage.build import ROOT
from benchmarks.stage.setting import Setting


class ActorFailed(Exception):
    """A process of a benchmark ended early or answered nonsense; the message names it."""


class Actor:
    """A child that is told one line at a time and answers each with one line."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.name = Path(command[0]).name
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def hear(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise ActorFailed(f"{self.name} ended early with status {self.process.wait()}")
        return line.strip()

    def ask(self, line: str) -> str:
        self.tell(line)
        return self.hear()

    def cpu_seconds(self) -> float:
        """CPU time of all its threads so far."""
        return time_of_process_cpu(self.pid)

    def terminate(self) -> float:
        """Sends SIGTERM; the CPU time it takes from then to its end."""
        before = self.cpu_seconds()
        self.process.terminate()
        _, status, used = os.wait4(self.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if status != 0:
            raise ActorFailed(f"{self.name} ended with status {self.process.returncode} after SIGTERM")
        return used.ru_utime + used.ru_stime - before

    def resident_bytes(self) -> int:
        return resident_bytes(self.pid)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):  # a line it did not live to read
                    pipe.close()


def time_of_process_cpu(pid: int) -> float:
    # A process's CPU clock is made from its pid as clock_getcpuclockid(3) does.
    return time.clock_gettime((~pid << 3) | 2)


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def _acting(actor: Actor) -> Iterator[Actor]:
    try:
        yield actor
    finally:
        actor.end()


@contextmanager
def puppet(
    setting: Setting, live_count: int, way: str = "id", *, chip_count: int = 1, **settings: str
) -> Iterator[tuple[Actor, Path]]:
    """A reporting process with `live_count` allocations, and the path of its journal."""
    command = [str(setting.programs / "puppet"), str(live_count), way, str(chip_count)]
    with _acting(Actor(command, setting.environment(**settings))) as actor:
        yield actor, Path(actor.hear().removeprefix("ready "))


@contextmanager
def galaxy(setting: Setting) -> Iterator[Actor]:
    """A process that holds something of everything on 32 chips, by the runtime model."""
    with _acting(Actor([sys.executable, "-m", "benchmarks.stage.galaxy"], setting.environment())) as actor:
        actor.hear()
        yield actor


@contextmanager
def crowd(setting: Setting, process_count: int, chip_count: int, live_count: int) -> Iterator[Actor]:
    """Many processes on the same chips, each with so many allocations; see `crowd.py`."""
    command = [sys.executable, "-m", "benchmarks.stage.crowd", *map(str, (process_count, chip_count, live_count))]
    with _acting(Actor(command, setting.environment(TTMEM_TABLE="4096"))) as actor:
        actor.hear()
        yield actor


@contextmanager
def multitude(setting: Setting, process_count: int) -> Iterator[Actor]:
    """Thousands of processes with one allocation each; see `measure/multitude.cpp`."""
    command = [str(setting.programs / "multitude"), str(process_count), str(setting.directory)]
    with _acting(Actor(command, setting.environment(TTMEM="0"))) as actor:
        actor.hear()
        yield actor


@contextmanager
def older_server(setting: Setting) -> Iterator[tuple[Actor, Path]]:
    """The old design's server and its socket."""
    path = setting.directory / "server.sock"
    with _acting(Actor([str(setting.programs / "older_server"), str(path)], setting.environment())) as actor:
        actor.hear()
        yield actor, path


@contextmanager
def older_puppet(setting: Setting, live_count: int, socket_path: Path) -> Iterator[Actor]:
    """A process that reports the same things to the old design's server."""
    command = [str(setting.programs / "puppet"), str(live_count), "socket", "1", str(socket_path)]
    with _acting(Actor(command, setting.environment(TTMEM="0"))) as actor:
        actor.hear()
        yield actor


@contextmanager
def daemon(setting: Setting, *options: str, **settings: str) -> Iterator[tuple[Actor, Path]]:
    """`ttmem serve` and its allocation socket."""
    path = setting.directory / "daemon-server.sock"
    command = [sys.executable, "-m", "ttmem", "serve", "--socket", str(path), *options]
    with _acting(Actor(command, setting.environment(TTMEM="0", **settings))) as actor:
        actor.hear()
        yield actor, path


@contextmanager
def message_sender(
    setting: Setting, socket_path: Path, live_count: int, *, per_send: int, message_bytes: int = 144
) -> Iterator[Actor]:
    """A process that sends the old protocol's messages, so many per send."""
    numbers = (live_count, per_send, message_bytes)
    command = [str(setting.programs / "message_sender"), str(socket_path), *map(str, numbers)]
    with _acting(Actor(command, setting.environment(TTMEM="0"))) as actor:
        actor.hear()
        yield actor


@contextmanager
def collector(setting: Setting) -> Iterator[Actor]:
    """A process that reads every journal of the setting's directory, as a viewer does."""
    command = [sys.executable, "-m", "benchmarks.stage.collecting", str(setting.directory)]
    with _acting(Actor(command, setting.environment(TTMEM="0"))) as actor:
        actor.hear()
        yield actor


def run_program(setting: Setting, name: str) -> Iterator[Row]:
    """The figures of a C++ benchmark, as it prints them."""
    command = [str(setting.programs / name)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=setting.environment(), cwd=ROOT)
    try:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                yield row_of_line(line)
        if process.wait() != 0:
            raise ActorFailed(f"{name} ended with status {process.returncode}")
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
