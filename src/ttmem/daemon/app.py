"""The routes of the daemon: what can be asked, and what comes back. All answers are JSON, but the stream of events.

GET  /snapshot      everything at one instant, the document of `ttmem ps --json`
GET  /overview      the same with every process summed over its chips: what a monitor asks for again and again. Its ETag
                    names all but the moment; 304 to whoever has it, and the moment in a header
GET  /events        either again and again, as server-sent events; ?interval=SECONDS&what=overview
GET  /process, ...  close-ups, see `Answers.sights`; ?pid=N&most=N
GET  /incident      what was alive when something was refused; ?pid=N&number=N
GET  /dump          what is alive, allocation by allocation; ?kernels=1&device=N&most=N&by=site
GET  /healthz       whether all is well; 503 if it is not
GET  /metrics, ...  for Prometheus, in its formats: see `answering/scrapes.py`
POST /reset-peaks   forgets peaks: from now on they start at what is used; on the Unix socket only
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from ttmem.daemon.answering.connections import came_by_port, in_thread
from ttmem.daemon.answering.encoding import encoded
from ttmem.daemon.answering.questions import BadQuestion, number_in
from ttmem.daemon.answering.sights import Sight
from ttmem.daemon.answering.site_paths import without_directories
from ttmem.daemon.asking.remembered import TIME_HEADER
from ttmem.daemon.doorkeeper import Doorkeeper
from ttmem.daemon.frames import LEAST_INTERVAL_SECONDS, Encoded, Frames
from ttmem.errors import SelectionError
from ttmem.snapshot.dump import BY, By

__all__ = ["Answers", "application"]

_LONGEST_INTERVAL_SECONDS = 3600.0
_MOST_ALLOCATIONS = 50
_UNCACHED = {"cache-control": "no-store"}


class Answers(NamedTuple):
    """Who knows the answers. These are called in threads, and may take a while; documents are encoded there, too."""

    snapshot: Callable[[], Encoded]
    dump: Callable[[bool, str | None, int, By], dict[str, Any]]  # kernels alone, device, most, what sums are made by
    health: Callable[[], tuple[bool, dict[str, Any]]]
    reset_peaks: Callable[[], None]
    overview: Callable[[], Encoded]
    sights: Mapping[str, Sight] = MappingProxyType({})  # close-ups, by the name of their route
    routes: Sequence[Route] = ()  # answered by somebody else
    shows_paths: bool = False  # to ports, too

    def frames(self) -> dict[str, Frames]:
        """What is made once for all who wait for it, by name. Belongs to the event loop that runs."""
        return {"snapshot": Frames(self.snapshot), "overview": Frames(self.overview, name="overview")}


def application(answers: Answers, frames: Mapping[str, Frames]) -> Doorkeeper:
    """The ASGI application; `frames` are those of `Answers.frames`."""

    def is_public(request: Request) -> bool:
        return came_by_port(request.scope) and not answers.shows_paths

    def framed(name: str) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            made = (await frames[name].fresh()).answer
            headers = {**_UNCACHED, "etag": made.tag, TIME_HEADER: str(made.time_ns)} if made.tag else _UNCACHED
            if made.tag and request.headers.get("if-none-match") == made.tag:
                return Response(status_code=304, headers=headers)
            return Response(made.as_told(is_public(request)), media_type="application/json", headers=headers)

        return answer

    def close_up(sight: Sight) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            return await _json_answer(request, lambda: sight(request.query_params), is_public(request))

        return answer

    async def events(request: Request) -> Response:
        limits = {"least": LEAST_INTERVAL_SECONDS, "most": _LONGEST_INTERVAL_SECONDS}
        interval = number_in(request.query_params, "interval", 1.0, **limits)
        what = request.query_params.get("what", "snapshot")
        if what not in frames:
            raise BadQuestion(f"what: expected {' or '.join(frames)}, found {what!r}")
        headers = {**_UNCACHED, "x-accel-buffering": "no"}
        if request.method == "HEAD":
            return Response(media_type="text/event-stream", headers=headers)
        stream = _events(frames[what], interval, is_public(request))
        return StreamingResponse(stream, media_type="text/event-stream", headers=headers)

    async def dump(request: Request) -> Response:
        device = request.query_params.get("device")
        most = int(number_in(request.query_params, "most", _MOST_ALLOCATIONS, least=0, most=1_000_000))
        has_kernels = request.query_params.get("kernels", "") not in ("", "0", "false")
        by = request.query_params.get("by", "")
        if by not in BY:
            raise BadQuestion(f"by: expected {' or '.join(filter(None, BY))}, found {by!r}")
        return await _json_answer(request, lambda: answers.dump(has_kernels, device, most, by), is_public(request))

    async def healthz(request: Request) -> Response:
        is_well, facts = await in_thread(request.scope, answers.health)
        return JSONResponse(facts, status_code=200 if is_well else 503, headers=_UNCACHED)

    async def reset_peaks(request: Request) -> Response:
        await in_thread(request.scope, answers.reset_peaks)
        return Response(status_code=204)

    routes = [
        *(Route(f"/{name}", framed(name)) for name in frames),
        *(Route(f"/{name}", close_up(sight)) for name, sight in answers.sights.items()),
        Route("/events", events),
        Route("/dump", dump),
        Route("/healthz", healthz),
        Route("/reset-peaks", reset_peaks, methods=["POST"]),
        *answers.routes,
    ]
    return Doorkeeper(Starlette(routes=routes, exception_handlers=_HANDLERS))


async def _json_answer(request: Request, document: Callable[[], dict[str, Any]], is_public: bool) -> Response:
    """A document of any length: made and encoded in a thread, while the event loop answers others."""

    def body() -> bytes:
        made = document()
        return encoded(without_directories(made) if is_public else made)

    return Response(await in_thread(request.scope, body), media_type="application/json", headers=_UNCACHED)


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


_HANDLERS = {BadQuestion: _refused, SelectionError: _not_found, HTTPException: _no_such_route}
