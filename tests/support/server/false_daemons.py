"""Daemons that behave as a test wants: sound, hung, dead, garbled, of another version, of another user.

with a_false_daemon(directory, answer=an_answer(a_busy_snapshot())) as daemon:
"""

import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.processes.programs import command_of
from tests.support.timing.waiting import PATIENCE_SECONDS
from ttmem.snapshot.codec import encoded

Behaviour = Callable[[socket.socket, bytes], None]  # a connection and the head of the request that came on it


def an_answer(document: Any, *, status: int = 200) -> Behaviour:
    """Answers every question with the same: figures, anything JSON has, or bytes as they are."""
    body = document if isinstance(document, bytes) else encoded(document)
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    return lambda line, _: line.sendall(head + body)


def some_answers(documents: dict[str, Any]) -> Behaviour:
    """Answers by path, whatever the query; a question nobody expected gets 404."""

    def behave(line: socket.socket, request: bytes) -> None:
        path = request.split(b" ")[1].split(b"?")[0].decode()
        answer = an_answer(documents[path]) if path in documents else an_answer({"error": "no"}, status=404)
        answer(line, request)

    return behave


def some_bytes(answer: bytes) -> Behaviour:
    return lambda line, _: line.sendall(answer)


def silence(line: socket.socket, request: bytes) -> None:
    """Takes the question and never answers, until the asker has gone."""
    line.settimeout(PATIENCE_SECONDS)
    line.recv(1)


def a_trickle(line: socket.socket, request: bytes) -> None:
    """Always about to answer: a byte now and then, until the asker has gone."""
    line.sendall(b"HTTP/1.1 200 OK\r\n")
    line.settimeout(0.02)
    while True:
        line.sendall(b"x")
        with suppress(TimeoutError):
            line.recv(1)


class FalseDaemon:
    """A listener, and a thread that answers."""

    def __init__(self, path: Path, answer: Behaviour) -> None:
        self.path = path
        self._answer = answer
        path.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        self._listener.listen(8)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def kill(self) -> None:
        """Ends it; its socket stays behind, as that of a daemon which was killed."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._listener.accept()
            except OSError:  # killed
                return
            with line, suppress(OSError):
                self._answer(line, _head(line))


@contextmanager
def a_false_daemon(directory: Path, answer: Behaviour) -> Iterator[FalseDaemon]:
    """A daemon in a directory; gone at the end."""
    daemon = FalseDaemon(directory / "daemon.sock", answer)
    try:
        yield daemon
    finally:
        daemon.kill()


@contextmanager
def a_lone_daemon(directory: Path, document: Any, *, works: bool) -> Iterator[None]:
    """A process with one thread: it answers its first asker, but not before a second one has asked in vain and gone."""
    body = encoded(document)
    answer = f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body
    command = command_of("processes.busy_daemon", str(directory / "daemon.sock"), "works" if works else "sleeps")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            process.stdin.write(answer)
            process.stdin.close()
            yield
        finally:
            process.kill()


@contextmanager
def a_strangers_daemon(directory: Path, uid: int) -> Iterator[None]:
    """A listener of another user in a directory; for root only."""
    directory.chmod(0o777)
    command = command_of("processes.daemon_of_another_user", str(directory / "daemon.sock"), str(uid))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.communicate()


def _head(line: socket.socket) -> bytes:
    request = b""
    while b"\r\n\r\n" not in request:
        part = line.recv(4096)
        if not part:
            break
        request += part
    return request


@contextmanager
def a_short_directory() -> Iterator[Path]:
    """A private directory whose name leaves room for a socket's: those end at 107 bytes."""
    directory = Path(tempfile.mkdtemp(prefix="tt-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
