"""Lets nobody in through a browser who was not meant to be.

On the Unix socket, file modes decide. A loopback port is open to every program of the machine, hence also to pages of
foreign sites in a browser: those come with a foreign name in `Host` (rebound names) or an `Origin` (cross-site posts).
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.responses import JSONResponse

__all__ = ["Doorkeeper"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_LOOPBACK_NAMES = frozenset({"localhost", "[::1]"})


class Doorkeeper:
    """An application, behind a check of where a request comes from."""

    def __init__(self, inner: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _came_by_port(scope) and not _is_welcome(dict(scope["headers"])):
            text = "expected a request to a loopback address, not one of another site's page"
            await JSONResponse({"error": text}, status_code=403)(scope, receive, send)
        else:
            await self._inner(scope, receive, send)


def _came_by_port(scope: Scope) -> bool:
    server = scope.get("server")
    return server is not None and server[1] is not None


def _is_welcome(headers: dict[bytes, bytes]) -> bool:
    host = headers.get(b"host", b"").decode("latin-1")
    origin = headers.get(b"origin")
    return _is_loopback(host) and (origin is None or origin.decode("latin-1") == f"http://{host}")


def _is_loopback(host: str) -> bool:
    name = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return name in _LOOPBACK_NAMES or (name.startswith("127.") and name.replace(".", "").isdecimal())
