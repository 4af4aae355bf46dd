"""The allocation server, for tests: as a real `ttmem serve`, or its native core in a thread of the test.

with a_daemon("--log-events") as daemon:     # the whole program: stories, logs, signals
with an_engine() as engine:                  # the core alone: thousands of examples
"""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.faces.json_documents import opened
from tests.support.processes.inside import ttmem_inside
from tests.support.server.server_figures import Figures, of_document, of_dump, of_rows
from tests.support.server.server_lines import Line, asked
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until
from ttmem import _native
from ttmem._native import testing


class Engine:
    """The core, serving in a thread."""

    def __init__(self, directory: Path, *, log_events: bool = False, device_nodes: int = 0) -> None:
        self.path = directory / "s"
        self.ledger = _native.Ledger()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(str(self.path))
            listener.listen(1024)
            self.server = _native.AllocationServer(self.ledger, listener.fileno(), log_events, device_nodes)
        self._is_wanted = True
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while self._is_wanted:
            self.server.run(1.0)

    def stop(self) -> None:
        self._is_wanted = False
        self.server.stop()
        self._thread.join()
        self.server.finish()
        del self.server, self.ledger  # a traceback may keep this object for long; the descriptors must not be

    def line(self, message_bytes: int = 144) -> Line:
        return Line(self.path, message_bytes)

    def figures(self) -> Figures:
        return of_rows(testing.flat_rows(self.ledger))

    def figures_of(self, pid: int) -> Figures:
        return of_rows(testing.flat_rows(self.ledger), [self.process(pid)["key"]])

    def process(self, pid: int) -> dict[str, Any]:
        [row] = [row for row in self.live() if row["pid"] == pid]
        return row

    def live(self) -> list[dict[str, Any]]:
        return [row for row in testing.flat_rows(self.ledger)["processes"] if row["state"] == "live"]

    def findings(self, pid: int) -> dict[str, int]:
        return dict(self.process(pid)["findings"])

    def statistics(self) -> dict[str, int]:
        return dict(self.server.statistics())

    def attach_all(self, directory: Path) -> None:
        """Follows every journal that lies there now."""
        for journal in directory.glob("*.journal"):
            facts = journal.stat()
            key, why = self.ledger.attach(str(journal), facts.st_dev, facts.st_ino)
            assert key, why

    def rest_of_log(self) -> tuple[bytes, int]:
        """All lines that wait to be read, and how many were dropped."""
        text = b""
        while True:
            more, dropped, *_ = self.server.take_log(0.0)
            if not more:
                return text, dropped
            text += more

    def log(self, until: str = "", *, seconds: float = PATIENCE_SECONDS) -> str:
        """Log lines since the last call, until one holds the given text."""
        text = ""

        def read() -> bool:
            nonlocal text
            text += self.server.take_log(0.05)[0].decode()
            return until in text

        wait_until(read, seconds=seconds)
        return text


@contextmanager
def short_directory() -> Iterator[Path]:
    """A private directory whose name leaves room for a socket's."""
    directory = Path(tempfile.mkdtemp(prefix="tt-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def an_engine(*, log_events: bool = False, device_nodes: int = 0) -> Iterator[Engine]:
    with short_directory() as directory:
        engine = Engine(directory, log_events=log_events, device_nodes=device_nodes)
        try:
            yield engine
        finally:
            engine.stop()


class Daemon:
    """A running `ttmem serve`; what it prints goes to a file, as in the allocation server's commands."""

    def __init__(
        self, directory: Path, options: Sequence[str], program: Sequence[str], settings: dict[str, str]
    ) -> None:
        self.directory = directory
        self.path = directory / "s"
        self.output = directory / "out.log"
        self.environment = {**os.environ, "TTMEM_DIR": str(directory / "j"), **settings}
        self._options, self._program = options, program
        self.process = self._started()

    def _started(self) -> "subprocess.Popen[bytes]":
        command = [*self._program, "--socket", str(self.path), *self._options]
        with open(self.output, "ab") as output:
            began = output.tell()
            process = subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        try:
            wait_until(lambda: self._is_ready(process, began))
        except BaseException:
            process.kill()
            process.wait()
            raise
        return process

    def _is_ready(self, process: "subprocess.Popen[bytes]", began: int) -> bool:
        assert process.poll() is None, f"it ended with {process.returncode}: {self.text()}"
        return b"\n" in self.output.read_bytes()[began:]

    @property
    def pid(self) -> int:
        return self.process.pid

    def restart(self) -> None:
        """Once more after its end, on the same socket and directory."""
        self.process = self._started()

    def terminate(self) -> int:
        """SIGTERM, and its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE_SECONDS)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def text(self) -> str:
        """All it has printed so far."""
        return self.output.read_text(encoding="utf-8")

    def text_with(self, words: str, *, seconds: float = PATIENCE_SECONDS) -> str:
        """What it has printed, once these words are there."""
        return wait_until(lambda: self.text() if words in self.text() else "", seconds=seconds)

    def line(self, message_bytes: int = 144) -> Line:
        return Line(self.path, message_bytes)

    def get(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        """Status and body of a request to the daemon's own socket."""
        connection = http.client.HTTPConnection("ttmem", timeout=PATIENCE_SECONDS)
        connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.sock.settimeout(PATIENCE_SECONDS)
        try:
            connection.sock.connect(str(self.directory / "j" / "daemon.sock"))
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def document(self, path: str = "/snapshot") -> dict[str, Any]:
        status, body = self.get(path)
        assert status == 200, body
        found = dict(json.loads(body))
        return opened(found) if path == "/snapshot" else found

    def run(self, *arguments: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """`ttmem ARGUMENTS...`, beside this daemon."""
        said = ttmem_inside(*arguments, environ=self.environment)
        if check:
            said.check_returncode()
        return said

    def ps(self) -> dict[str, Any]:
        said = self.run("ps", "--json", check=False)
        assert said.returncode in (0, 1), said.stderr  # 1 where no process reports
        return opened(json.loads(said.stdout))

    def figures(self) -> Figures:
        return of_document(self.document())


@contextmanager
def a_daemon(
    *options: str, program: Sequence[str] = (), directory: Path | None = None, **settings: str
) -> Iterator[Daemon]:
    """A daemon that serves; ended by SIGTERM however the block is left."""
    with short_directory() as own:
        daemon = Daemon(directory or own, options, program or (sys.executable, "-m", "ttmem", "serve"), settings)
        try:
            yield daemon
        finally:
            daemon.end()


def all_agree(daemon: Daemon, expected: Figures, devices: Sequence[int]) -> None:
    """The socket, `ttmem ps`, /snapshot, /dump and the expectation say the same about every number."""
    assert asked(daemon.path, devices) == expected.replies()
    for seen in (of_document(daemon.document()), of_document(daemon.ps()), of_dump(daemon.document("/dump"))):
        assert seen.used == expected.used
        assert seen.counts == expected.counts
        assert seen.kernels == expected.kernels
