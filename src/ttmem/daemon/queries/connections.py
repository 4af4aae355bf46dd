"""The HTTP connections of a daemon: a limit for each listener, and a time limit for each request.

Every user of the machine may connect to a loopback port; only the owner of the daemon, or a group, to its Unix socket.
What happens on the port must not shut the socket, hence:

- Each listener has a limit of its own. To make room for a new connection, a listener that has reached it closes the one
  that has been waiting longest for its request; if all are being answered, the new one is refused with status 503.
- A request must be complete within 5 seconds, however its bytes come in: else its connection is closed.
- A client that stops reading an answer is given up after a minute.
- Answers to the port are made and encoded by two threads of their own, see `in_thread`.
"""

import asyncio
import resource
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from uvicorn.protocols.http.h11_impl import H11Protocol

__all__ = ["LimitedConnection", "came_by_port", "in_thread", "limited_connections"]

REQUEST_SECONDS = 5.0
_READ_SECONDS = 60.0
_MOST_BY_SOCKET = 512
_MOST_BY_PORT = 256
_DESCRIPTOR_SHARE = 4  # of those this process may have, one part is for the port
_REFUSAL = b'{"error":"too many clients at this address; try again later"}'
_PORT_THREADS = ThreadPoolExecutor(2, thread_name_prefix="ttmem-port")

Value = TypeVar("Value")


class Connected:
    """The connections of one listener. `waiting`: those without a complete request, in the order they began to wait."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.all: set[LimitedConnection] = set()
        self.waiting: dict[LimitedConnection, None] = {}

    def has_room(self) -> bool:
        """Whether one more may come; if need be, because another one is closed."""
        if len(self.all) < self.most:
            return True
        longest = next(iter(self.waiting), None)
        if longest is None:
            return False
        longest.transport.abort()
        self.remove(longest)
        return True

    def remove(self, connection: "LimitedConnection") -> None:
        self.all.discard(connection)
        self.waiting.pop(connection, None)


class LimitedConnection(H11Protocol):
    """One connection. Used by the event loop's thread alone, as all of this."""

    by_socket: Connected
    by_port: Connected
    _timer: asyncio.TimerHandle | None = None
    _unsent_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        is_by_socket = transport.get_extra_info("socket").family == socket.AF_UNIX
        self._connected = self.by_socket if is_by_socket else self.by_port
        if self._connected.has_room():
            self._connected.all.add(self)
            self._keep_time()
        else:
            self._end_with(b"503 Service Unavailable", _REFUSAL)

    def data_received(self, data: bytes) -> None:
        if not self.transport.is_closing():
            super().data_received(data)
            self._keep_time()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._keep_time()

    def connection_lost(self, exc: Exception | None) -> None:
        self._connected.remove(self)
        self._stop_timer()
        super().connection_lost(exc)

    def _keep_time(self) -> None:
        """Starts the clock when a request is waited for, and stops it when one is there."""
        if self._has_asked() and not self.cycle.response_complete:
            self._connected.waiting.pop(self, None)
            self._stop_timer()
        elif self._timer is None and self in self._connected.all:
            self._connected.waiting[self] = None
            self._unsent_bytes = self.transport.get_write_buffer_size()
            seconds = _READ_SECONDS if self._unsent_bytes else REQUEST_SECONDS
            self._timer = self.loop.call_later(seconds, self._time_is_up)

    def _time_is_up(self) -> None:
        self._timer = None
        unsent_bytes = self.transport.get_write_buffer_size()
        if 0 < unsent_bytes < self._unsent_bytes:  # it reads, slowly
            self._keep_time()
        elif unsent_bytes or self._has_asked():
            self.transport.abort()
        else:
            self._end_with(b"408 Request Timeout", b'{"error":"expected a whole request within 5 s"}')

    def _has_asked(self) -> bool:
        """Whether there was a complete request yet."""
        return self.cycle is not None

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_with(self, status: bytes, body: bytes) -> None:
        """Says one thing, if there is room to say it, and hangs up."""
        headers = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close" % len(body)
        self.transport.write(b"HTTP/1.1 %s\r\n%s\r\n\r\n%s" % (status, headers, body))
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()


def limited_connections() -> type[LimitedConnection]:
    """The class for the connections of one server."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    by_port = max(1, min(_MOST_BY_PORT, soft // _DESCRIPTOR_SHARE))
    limits = {"by_socket": Connected(_MOST_BY_SOCKET), "by_port": Connected(by_port)}
    return type("ServerConnection", (LimitedConnection,), limits)


def came_by_port(scope: MutableMapping[str, Any]) -> bool:
    """Whether a request came over a port, and not over the Unix socket."""
    server = scope.get("server")
    return server is not None and server[1] is not None


def in_thread(scope: MutableMapping[str, Any], work: Callable[[], Value]) -> Awaitable[Value]:
    """Does something that may take a while; clients of a port wait for others on the port alone."""
    executor = _PORT_THREADS if came_by_port(scope) else None
    return asyncio.get_running_loop().run_in_executor(executor, work)
