"""What a request over a loopback port may not do.

On the Unix socket, file modes decide who may ask. A port is open to every program of the machine, so nothing can be
changed there: only GET and HEAD are answered. Pages of other sites in a browser reach it as well. Those come with a
foreign name in `Host` (rebound names) or a foreign `Origin`; a request with two of either is refused, since two readers
may believe different ones.
"""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from starlette.responses import JSONResponse

from ttmem.daemon.queries.connections import came_by_port

__all__ = ["OriginCheck"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_LOOPBACK_NAMES = frozenset({"localhost", "[::1]"})
_READING = frozenset({"GET", "HEAD"})


class OriginCheck:
    """An application, behind a check of where a request comes from."""

    def __init__(self, inner: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = _refusal_of(scope) if scope["type"] == "http" and came_by_port(scope) else None
        if refusal is None:
            await self._inner(scope, receive, send)
            return
        status, text = refusal
        await JSONResponse({"error": text}, status_code=status)(scope, receive, send)


def _refusal_of(scope: Scope) -> tuple[int, str] | None:
    """Status and message for a request that came over a port and may not be answered."""
    hosts, origins = _all(scope, b"host"), _all(scope, b"origin")
    if len(hosts) > 1 or len(origins) > 1:
        name, count = ("Host", len(hosts)) if len(hosts) > 1 else ("Origin", len(origins))
        return 400, f"expected one header {name}, found {count}"
    if not _is_loopback("".join(hosts)) or (origins and origins[0] != f"http://{''.join(hosts)}"):
        return 403, "expected a request to a loopback address, not one of another site's page"
    if scope["method"] not in _READING:
        found = f"{scope['method']} {scope['path']}"
        return 403, f"{found}: a port is for reading only (GET); send this to the daemon's Unix socket instead"
    return None


def _all(scope: Scope, name: bytes) -> Sequence[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _is_loopback(host: str) -> bool:
    name = host if host.endswith("]") else host.rsplit(":", 1)[0]
    return name in _LOOPBACK_NAMES or (name.startswith("127.") and name.replace(".", "").isdecimal())
