"""The receiving end of the older socket protocol, for tests of its senders: takes messages, answers nothing.

with a_message_server() as server:        # listens at server.path
    start_a_program(TTMEM_SEED_SOCKET=server.path)
    connection = server.accept()
    [message] = connection.take(1)
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from tests.support.processes.programs import command_of
from tests.support.timing.waiting import PATIENCE_SECONDS
from ttmem.wire import Message

MESSAGE_BYTES = 144


class Receiver:
    """One accepted connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        connection.settimeout(PATIENCE_SECONDS)

    def take(self, count: int) -> list[Message]:
        """The next so many messages."""
        data = b""
        while len(data) < count * MESSAGE_BYTES:
            more = self._connection.recv(count * MESSAGE_BYTES - len(data))
            assert more, f"the sender left after {len(data)} of {count * MESSAGE_BYTES} bytes"
            data += more
        return _messages(data)

    def take_all(self) -> list[Message]:
        """Whatever comes until the sender leaves: whole messages, or the test fails."""
        pieces = []
        while piece := self._connection.recv(1 << 16):
            pieces.append(piece)
        return _messages(b"".join(pieces))

    def peer_pid(self) -> int:
        """The process that connected."""
        credentials = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int.from_bytes(credentials[:4], "little")

    def close(self) -> None:
        self._connection.close()


def _messages(data: bytes) -> list[Message]:
    assert len(data) % MESSAGE_BYTES == 0, f"{len(data)} bytes are no whole number of messages"
    return [Message.unpack(data[at : at + MESSAGE_BYTES]) for at in range(0, len(data), MESSAGE_BYTES)]


class MessageServer:
    """Listens in the test's own process."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._open: list[socket.socket] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(path)
        self._listener.listen()
        self._listener.settimeout(PATIENCE_SECONDS)

    def __enter__(self) -> "MessageServer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def accept(self) -> Receiver:
        connection, _ = self._listener.accept()
        self._open.append(connection)
        return Receiver(connection)

    def has_caller(self) -> bool:
        """Whether somebody is at the door."""
        self._listener.settimeout(0)
        try:
            self._open.append(self._listener.accept()[0])
        except BlockingIOError:
            return False
        finally:
            self._listener.settimeout(PATIENCE_SECONDS)
        return True

    def close(self) -> None:
        """Hangs up on everybody and takes the path away, as a server does that ends."""
        for connection in [self._listener, *self._open]:
            connection.close()
        Path(self.path).unlink(missing_ok=True)


@contextmanager
def a_socket_directory() -> Iterator[Path]:
    """A directory whose path leaves room for a socket's name (107 bytes in all), removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="tt-"))
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def a_server_process(path: str, *, uid: int | None = None, read_bytes: int = 1 << 16) -> "Iterator[ServerProcess]":
    """A server that can be killed; gone at the end."""
    owner = os.geteuid() if uid is None else uid
    command = command_of("processes.message_server", path, str(owner), str(read_bytes))
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    server = ServerProcess(process)
    try:
        assert server.hear() == "listening"
        yield server
    finally:
        server.kill()
        assert process.stdout is not None
        process.stdout.close()


class ServerProcess:
    """The other process."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def hear(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        """Ends it at once, in the middle of whatever it does."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()
