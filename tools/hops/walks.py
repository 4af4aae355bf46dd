"""Three walks of a figure, measured: one process with one buffer, looked at by `ps`, by a monitor, by a scrape."""

import os
import pty
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

__all__ = ["Walk", "walks"]

ROOT = Path(__file__).parents[2]
_HOLD = """
import sys, ttmem
chip = ttmem.open_device(1)
ttmem.report_buffer_alloc(chip, 1, 4096)
print(flush=True)
sys.stdin.read()
"""
_WARM_SECONDS, _FRAME_SECONDS, _PATIENCE_SECONDS = 4.0, 1.2, 60.0


class Walk(NamedTuple):
    """What was entered on the way."""

    name: str
    files: tuple[str, ...]
    functions: int
    calls: int


def walks() -> Iterator[Walk]:
    """Each of them, with a program of its own to look at."""
    with tempfile.TemporaryDirectory(prefix="ttmem-hops-") as scratch, _a_program(Path(scratch)) as environment:
        found = Path(scratch, "found")
        yield _walk("one number to `ttmem ps`", found, lambda: _ps(found, environment))
        yield _walk("a warm frame of the monitor", found, lambda: _frame(found, environment))
        yield _walk("one scrape of /metrics", found, lambda: _scrape(found, environment))


def _walk(name: str, found: Path, act: Callable[[], None]) -> Walk:
    found.unlink(missing_ok=True)
    act()
    counts, *files = found.read_text(encoding="utf-8").splitlines()
    functions, calls = counts.split()
    return Walk(name, tuple(files), int(functions), int(calls))


@contextmanager
def _a_program(scratch: Path) -> Iterator[dict[str, str]]:
    journals = scratch / "journals"
    journals.mkdir(mode=0o700)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TTMEM")}
    environment |= {
        "TTMEM_DIR": str(journals),
        "TTMEM_SYSTEM_DIR": str(scratch / "system"),
        "TTMEM_STOCK_SHM_DIR": str(scratch / "stock"),
        "PYTHONPATH": str(ROOT),
        "TERM": "xterm-256color",
    }
    holding = subprocess.Popen(
        [sys.executable, "-c", _HOLD],
        env=environment | {"TTMEM": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holding.stdout is not None
        holding.stdout.readline()
        yield environment
    finally:
        holding.communicate()


def _command(found: Path, how: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "tools.hops.recorder", str(found), how, *arguments]


def _ps(found: Path, environment: dict[str, str]) -> None:
    subprocess.run(_command(found, "whole", "ps"), env=environment, check=True, stdout=subprocess.DEVNULL)


def _frame(found: Path, environment: dict[str, str]) -> None:
    """What is entered within one interval once it has shown several frames."""
    ours, theirs = pty.openpty()
    command = _command(found, "watched", "top", "--interval", "1")
    monitor = subprocess.Popen(command, env=environment, stdin=theirs, stdout=theirs, start_new_session=True)
    os.close(theirs)
    _drain(ours, _WARM_SECONDS)
    with _watching(found):
        _drain(ours, _FRAME_SECONDS)
    os.write(ours, b"q")
    _drain(ours, _PATIENCE_SECONDS, until=monitor)
    os.close(ours)


def _scrape(found: Path, environment: dict[str, str]) -> None:
    """The second one: the first makes what the process makes once."""
    command = _command(found, "daemon/metrics/exporter.py:page", "serve", "--quiet", "--no-server-socket")
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        server.stdout.readline()  # it is ready
        door = os.path.join(environment["TTMEM_DIR"], "daemon.sock")
        _page(door)
        with _watching(found):
            _page(door)
    finally:
        server.terminate()
        server.communicate(timeout=_PATIENCE_SECONDS)


def _page(door: str) -> None:
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(_PATIENCE_SECONDS)
        asking.connect(door)
        asking.sendall(b"GET /metrics HTTP/1.1\r\nHost: ttmem\r\nConnection: close\r\n\r\n")
        head = asking.recv(65536)
        if b" 200 " not in head.split(b"\r\n", 1)[0]:
            raise SystemExit(f"no metrics: {head[:200]!r}")
        while asking.recv(65536):
            pass


@contextmanager
def _watching(found: Path) -> Iterator[None]:
    mark = Path(f"{found}.watching")
    mark.touch()
    try:
        yield
    finally:
        mark.unlink()


def _drain(terminal: int, seconds: float, *, until: "subprocess.Popen[bytes] | None" = None) -> None:
    """Reads what is painted, so that nobody waits for us."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and (until is None or until.poll() is None):
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                os.read(terminal, 65536)
            except OSError:  # nobody writes any more
                return
