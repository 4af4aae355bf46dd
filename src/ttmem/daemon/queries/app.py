"""The routes of the daemon: what can be asked, and what comes back. All answers are JSON, but the stream of events.

GET  /snapshot      everything at one instant
GET  /overview      the same without details of processes: what a monitor asks for repeatedly. Its ETag names all
                    but the moment; 304 to who has it, with the moment in a header
GET  /events        either repeatedly, as server-sent events; ?interval=SECONDS&what=overview
GET  /process, ...  one process, chip, ...: see `answers.py`; ?pid=N&most=N
GET  /healthz       whether all is well; 503 if it is not
GET  /metrics       for Prometheus, in the format the asker prefers
GET  /-/ready,      200 once there is something whole to show, and while all is well; 503 otherwise
     /health
POST /reset-peaks   forgets peaks: from now on they start at what is used; on the Unix socket only
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ttmem.daemon.queries.answers import AnswerTo, BadQuery, number_in
from ttmem.daemon.queries.connections import came_by_port, in_thread
from ttmem.daemon.queries.frames import LEAST_INTERVAL_SECONDS, Encoded, Frames, encoded_for
from ttmem.daemon.queries.origin_check import OriginCheck
from ttmem.errors import SelectionError
from ttmem.figures.daemon_client import TIME_HEADER

__all__ = ["Queries", "Scraped", "application", "scrape_routes"]

_UNCACHED_PAGE = {"cache-control": "no-store", "vary": "accept"}


class Scraped(Protocol):
    """Who makes the page."""

    def page(self, accept: str) -> tuple[bytes, str]: ...
    def is_ready(self) -> bool: ...


def scrape_routes(scraped: Scraped, is_well: Callable[[], bool]) -> list[Route]:
    async def metrics(request: Request) -> Response:
        accept = ",".join(request.headers.getlist("accept"))
        body, content_type = await in_thread(request.scope, lambda: scraped.page(accept))
        return Response(body, headers={**_UNCACHED_PAGE, "content-type": content_type})

    async def ready(request: Request) -> Response:
        word = "ready" if await in_thread(request.scope, readiness) else "not ready"
        return PlainTextResponse(f"{word}\n", status_code=200 if word == "ready" else 503, headers=_UNCACHED_PAGE)

    def readiness() -> bool:
        return is_well() and scraped.is_ready()

    return [Route("/metrics", metrics), Route("/-/ready", ready), Route("/health", ready)]


_LONGEST_INTERVAL_SECONDS = 3600.0
_UNCACHED = {"cache-control": "no-store"}


class Queries(NamedTuple):
    """What answers each route. These are called in threads, and may take a while; figures are encoded there, too."""

    snapshot: Callable[[], Encoded]
    health: Callable[[], tuple[bool, dict[str, Any]]]
    reset_peaks: Callable[[], None]
    overview: Callable[[], Encoded]
    figures: Mapping[str, AnswerTo] = MappingProxyType({})  # by the name of their route
    routes: Sequence[Route] = ()  # answered by other code
    shows_paths: bool = False  # to ports, too

    def frames(self) -> dict[str, Frames]:
        """What is made once for all who wait for it, by name. Belongs to the event loop that runs."""
        return {"snapshot": Frames(self.snapshot), "overview": Frames(self.overview, name="overview")}


def application(questions: Queries, frames: Mapping[str, Frames]) -> OriginCheck:
    """The ASGI application; `frames` are those of `Queries.frames`."""

    def is_public(request: Request) -> bool:
        return came_by_port(request.scope) and not questions.shows_paths

    def framed(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            made = (await frames[name].fresh()).answer
            headers = {**_UNCACHED, "etag": made.tag, TIME_HEADER: str(made.time_ns)} if made.tag else _UNCACHED
            if made.tag and request.headers.get("if-none-match") == made.tag:
                return Response(status_code=304, headers=headers)
            return Response(made.as_shown(is_public(request)), media_type="application/json", headers=headers)

        return answer

    def figures(answer_to: AnswerTo) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            def body() -> bytes:
                return encoded_for(answer_to(request.query_params), is_public=is_public(request))

            return Response(await in_thread(request.scope, body), media_type="application/json", headers=_UNCACHED)

        return answer

    async def events(request: Request) -> Response:
        limits = {"least": LEAST_INTERVAL_SECONDS, "most": _LONGEST_INTERVAL_SECONDS}
        interval = number_in(request.query_params, "interval", 1.0, **limits)
        what = request.query_params.get("what", "snapshot")
        if what not in frames:
            raise BadQuery(f"what: expected {' or '.join(frames)}, found {what!r}")
        headers = {**_UNCACHED, "x-accel-buffering": "no"}
        if request.method == "HEAD":
            return Response(media_type="text/event-stream", headers=headers)
        stream = _events(frames[what], interval, is_public(request))
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def healthz(request: Request) -> Response:
        is_well, facts = await in_thread(request.scope, questions.health)
        return JSONResponse(facts, status_code=200 if is_well else 503, headers=_UNCACHED)

    async def reset_peaks(request: Request) -> Response:
        await in_thread(request.scope, questions.reset_peaks)
        return Response(status_code=204)

    routes = [
        *(Route(f"/{name}", framed(name)) for name in frames),
        *(Route(f"/{name}", figures(answer_to)) for name, answer_to in questions.figures.items()),
        Route("/events", events),
        Route("/healthz", healthz),
        Route("/reset-peaks", reset_peaks, methods=["POST"]),
        *questions.routes,
    ]
    return OriginCheck(Starlette(routes=routes, exception_handlers=_HANDLERS))


async def _events(frames: Frames, interval_seconds: float, is_public: bool) -> AsyncIterator[bytes]:
    async for frame in frames.every(interval_seconds):
        yield frame.event(is_public)


async def _refused(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, status_code=400)


async def _not_found(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, status_code=404)


async def _no_such_route(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = f"{request.method} {request.url.path}: {error.detail}"
    return JSONResponse({"error": text}, status_code=error.status_code, headers=error.headers)


_HANDLERS = {BadQuery: _refused, SelectionError: _not_found, HTTPException: _no_such_route}
