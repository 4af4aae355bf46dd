"""The routes that collectors of metrics ask.

GET  /metrics           the page, in the format the asker prefers
GET  /-/ready, /health  200 once there is something whole to tell, and while all is well; 503 otherwise
"""

from collections.abc import Callable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from ttmem.daemon.answering.connections import in_thread

__all__ = ["Scraped", "scrape_routes"]

_UNCACHED = {"cache-control": "no-store", "vary": "accept"}


class Scraped(Protocol):
    """Who makes the page."""

    def page(self, accept: str) -> tuple[bytes, str]: ...
    def is_ready(self) -> bool: ...


def scrape_routes(scraped: Scraped, is_well: Callable[[], bool]) -> list[Route]:
    async def metrics(request: Request) -> Response:
        accept = ",".join(request.headers.getlist("accept"))
        body, content_type = await in_thread(request.scope, lambda: scraped.page(accept))
        return Response(body, headers={**_UNCACHED, "content-type": content_type})

    async def ready(request: Request) -> Response:
        word = "ready" if await in_thread(request.scope, readiness) else "not ready"
        return PlainTextResponse(f"{word}\n", status_code=200 if word == "ready" else 503, headers=_UNCACHED)

    def readiness() -> bool:
        return is_well() and scraped.is_ready()

    return [Route("/metrics", metrics), Route("/-/ready", ready), Route("/health", ready)]
