"""Answers queries over HTTP, in a thread with an event loop of its own."""

import asyncio
import errno
import ipaddress
import socket
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import uvicorn

from ttmem.daemon.queries.app import Queries, application
from ttmem.daemon.queries.connections import limited_connections
from ttmem.daemon.queries.frames import Frames
from ttmem.errors import CannotServe

__all__ = ["QueryServer", "loopback_address", "loopback_listener"]

_START_SECONDS = 10.0
_GRACE_SECONDS = 0.1  # for questions under way; a viewer that has stopped reading does not hold us
_BACKLOG = 128  # viewers that may wait to be let in
_ACCEPTED_AT_ONCE = 16  # asyncio tries that often also while there is no descriptor left, and reports each try
_OUT_OF_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)


class _Server(uvicorn.Server):
    """Says when it listens, and closes streams before it waits for them."""

    def __init__(self, config: uvicorn.Config, frames: Iterable[Frames], has_started: threading.Event) -> None:
        super().__init__(config)
        self._frames = tuple(frames)
        self._has_started = has_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        for listener in sockets or ():
            listener.listen(_BACKLOG)  # the server has made it as short as _ACCEPTED_AT_ONCE
        self._has_started.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for frames in self._frames:
            frames.close()
        asyncio.get_running_loop().call_later(_GRACE_SECONDS, self._hang_up)
        await super().shutdown(sockets=sockets)

    def _hang_up(self) -> None:
        for connection in list(self.server_state.connections):
            connection.transport.abort()


class QueryServer:
    """Serves some listening sockets until `stop`."""

    def __init__(self, questions: Queries, listeners: Sequence[socket.socket], *, warn: Callable[[str], None]) -> None:
        self._answers = questions
        self._warn = warn
        self._has_warned = False
        self._listeners = [listener.dup() for listener in listeners]  # the server closes what it gets
        self._server: _Server | None = None
        self._has_started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ttmem-queries", daemon=True)

    def start(self) -> None:
        """Returns once questions are answered."""
        self._thread.start()
        if not self._has_started.wait(_START_SECONDS):
            raise CannotServe("the query socket could not be listened on; see the messages above")

    def ask_to_stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True

    def stop(self, wait_seconds: float = 1.0) -> None:
        """Lets questions under way end, for a moment, then hangs up."""
        self.ask_to_stop()
        self._thread.join(max(0.0, wait_seconds))

    def _run(self) -> None:
        asyncio.run(self._serve())

    def _handle(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """What was not caught: too few descriptors are reported once, all else as it comes."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _OUT_OF_RESOURCES:
            loop.default_exception_handler(context)
        elif not self._has_warned:
            self._has_warned = True
            self._warn(f"out of descriptors ({error.strerror}): new viewers have to wait; see `ulimit -n`")

    async def _serve(self) -> None:
        asyncio.get_running_loop().set_exception_handler(self._handle)
        frames = self._answers.frames()
        config = uvicorn.Config(
            application(self._answers, frames),
            loop="asyncio",
            http=limited_connections(),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            backlog=_ACCEPTED_AT_ONCE,
        )
        self._server = _Server(config, frames.values(), self._has_started)
        await self._server.serve(sockets=self._listeners)


def loopback_address(address: str) -> tuple[str, int]:
    """Host and port of HOST:PORT, which must be an address of this machine alone."""
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise CannotServe(
            f"--listen {address}: expected ADDRESS:PORT, for example 127.0.0.1:8265 (port 0: any free one)"
        )
    try:
        found = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:
        raise CannotServe(f"--listen {address}: expected a loopback address such as 127.0.0.1, found {host}") from None
    if not found.is_loopback:
        raise CannotServe(
            f"--listen {address}: {host} can be reached from other machines, and there is no password; "
            f"listen on 127.0.0.1:{port} and come through `ssh -L {port}:127.0.0.1:{port}`"
        )
    return str(found), int(port)


def loopback_listener(address: str) -> socket.socket:
    """A listening TCP socket at HOST:PORT."""
    host, port = loopback_address(address)
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise CannotServe(
            f"--listen {address}: cannot be listened on ({error.strerror}); choose another port"
        ) from error
    return listener
