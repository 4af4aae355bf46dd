"""Promise: the monitor shows its first frame for 0.4 s of CPU, then costs 1.5 % of a core with 4 chips, 3 % with 32.

Measured as monitors of other devices publish it: in a pseudo-terminal of 160x50, from the start until the text of the
main table is on screen; then a rest; then CPU time of the process and its children over the time that passed, at one
look a second, while a program on all chips reports a thousand events a second, as a model does that runs operations of
a millisecond. In the last row nothing happens at all. The
baseline is htop on the same terminal, where it is installed.
"""

import fcntl
import os
import pty
import select
import shutil
import struct
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from benchmarks.figures.rows import Row, row
from benchmarks.stage.actors import ActorFailed, puppet, resident_bytes, time_of_process_cpu
from benchmarks.stage.setting import Setting

COLUMNS, LINES = 160, 50
EVENTS_PER_SECOND = 1_000
_LONG_SECONDS = 600  # longer than anybody looks
_START_SECONDS = 20.0
_MIB = 1 << 20


def measure(setting: Setting) -> Iterator[Row]:
    rest, watch = setting.repeats(4), setting.repeats(15)
    htop = _htop(setting, rest, watch)
    for chip_count, target in ((4, "<= 1.5"), (32, "<= 3")):
        with setting.fresh_directory() as own, puppet(own, 1_000, chip_count=chip_count) as (reporter, _):
            reporter.tell(f"pace {EVENTS_PER_SECOND} {_LONG_SECONDS} {own.directory / 'marks'}")
            yield from _watched(own, chip_count, target, htop, rest=rest, watch=watch)
    with setting.fresh_directory() as own, puppet(own, 1_000, chip_count=4):
        *_, quiet = _watched(own, 4, "<= 1.5", htop, rest=rest, watch=watch, what="idle, ")
        yield quiet


def _watched(
    own: Setting, chip_count: int, target: str, htop: "_Cost | None", *, rest: float, watch: float, what: str = ""
) -> Iterator[Row]:
    environment = own.environment(TTMEM="0", TERM="xterm-256color", PYTHONPYCACHEPREFIX=str(own.directory / "bytecode"))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = (sys.executable, "-m", "ttmem", "top", "--no-daemon")
    _first_frame(command, environment)  # writes the bytecode, as an installed program has it
    firsts = sorted(_first_frame(command, environment) for _ in range(own.repeats(5)))
    name = f"monitor, {what}{chip_count} chips"
    before = htop.first_seconds if htop else None
    yield row(f"{name}: first frame", firsts[len(firsts) // 2], "s CPU", target="<= 0.4", baseline=before)
    cost = _running(command, environment, b"DRAM", rest=rest, watch=watch)
    yield row(f"{name}: resident", cost.resident / _MIB, "MiB", baseline=htop.resident / _MIB if htop else None)
    yield row(f"{name}: to the terminal", cost.painted / 1024, "KiB/s", baseline=htop.painted / 1024 if htop else None)
    yield row(name, cost.share, "% of a core", target=target, baseline=htop.share if htop else None)


class _Cost:
    """Of a program on a terminal."""

    def __init__(self, first_seconds: float, share: float, painted: float, resident: int) -> None:
        self.first_seconds = first_seconds
        self.share = share  # per cent
        self.painted = painted  # bytes a second
        self.resident = resident


def _htop(setting: Setting, rest: float, watch: float) -> _Cost | None:
    program = shutil.which("htop")
    if program is None:
        return None
    environment = setting.environment(TERM="xterm-256color", HOME=str(setting.directory))
    return _running((program,), environment, b"PID", rest=rest, watch=watch)


def _first_frame(command: Sequence[str], environment: dict[str, str]) -> float:
    with _Terminal.opened(command, environment) as terminal:
        terminal.read_until(b"DRAM")
        return time_of_process_cpu(terminal.pid)


def _running(command: Sequence[str], environment: dict[str, str], text: bytes, *, rest: float, watch: float) -> _Cost:
    with _Terminal.opened(command, environment) as terminal:
        terminal.read_until(text)
        first = time_of_process_cpu(terminal.pid)
        terminal.read_for(rest)
        began, cpu = time.monotonic(), time_of_process_cpu(terminal.pid)
        painted = terminal.read_for(watch)
        passed = time.monotonic() - began
        share = 100 * (time_of_process_cpu(terminal.pid) - cpu) / passed
        return _Cost(first, share, painted / passed, resident_bytes(terminal.pid))


class _Terminal:
    """Both ends of it; what is painted is read and thrown away."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid = pid
        self._descriptor = descriptor
        self._seen = b""

    @classmethod
    @contextmanager
    def opened(cls, command: Sequence[str], environment: dict[str, str]) -> Iterator["_Terminal"]:
        pid, descriptor = pty.fork()
        if pid == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", LINES, COLUMNS, 0, 0))
            os.execvpe(command[0], list(command), environment)
        try:
            yield cls(pid, descriptor)
        finally:
            os.kill(pid, 9)
            os.close(descriptor)
            os.waitpid(pid, 0)

    def read_until(self, text: bytes) -> None:
        """Until it has painted that, now or before."""
        deadline = time.monotonic() + _START_SECONDS
        while text not in self._seen:
            part = self._read(deadline)
            if not part:
                raise ActorFailed(f"a program on a terminal did not paint {text!r}, but {self._seen[-200:]!r}")
            self._seen += part

    def read_for(self, seconds: float) -> int:
        """How many bytes came."""
        count = 0
        deadline = time.monotonic() + seconds
        while part := self._read(deadline):
            count += len(part)
        return count

    def _read(self, deadline: float) -> bytes:
        """What comes next; nothing at the deadline."""
        left = max(0.0, deadline - time.monotonic())
        if not select.select([self._descriptor], [], [], left)[0]:
            return b""
        try:
            return os.read(self._descriptor, 1 << 16)
        except OSError:  # Linux tells the end of a terminal's program as an error
            return b""
