"""Snapshots, or overviews, as text, made once for all who wait for one.

A request says how fresh it must be: begun no earlier than some moment. All who wait share the next one, so a
hundred viewers cost one snapshot per tick. Ticks of streams lie on one grid of time, hence viewers that want the same
interval also want the same moments.

Ports get names of files without their directories, of the lines of Python that asked for memory: every user of the
machine may ask a port, and how others have arranged their files is not for them.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

import msgspec

from ttmem.snapshot import Snapshot
from ttmem.snapshot.codec import encoded

__all__ = ["LEAST_INTERVAL_SECONDS", "Encoded", "Frames", "encoded_for", "encoded_frame", "without_directories"]

LEAST_INTERVAL_SECONDS = 0.1


class Encoded(NamedTuple):
    """A document as it is sent, and as a port shows it. `tag` is empty where no client learns whether it changed."""

    body: bytes
    tag: str = ""
    time_ns: int = 0
    public: bytes | None = None  # None: the same

    def as_shown(self, is_public: bool) -> bytes:
        """To the Unix socket, or to a port."""
        return self.body if self.public is None or not is_public else self.public


class SharedFrame(NamedTuple):
    """One encoded answer, and when its making began."""

    number: int
    answer: Encoded
    began: float
    name: str = "snapshot"

    @property
    def body(self) -> bytes:
        return self.answer.body

    def event(self, is_public: bool = False) -> bytes:
        """The same as a server-sent event; a document of JSON has no line breaks."""
        return b"event: %s\nid: %d\ndata: %s\n\n" % (self.name.encode(), self.number, self.answer.as_shown(is_public))


class Frames:
    """Makes frames in a thread, one at a time. Lives on one event loop."""

    def __init__(
        self, encode: Callable[[], Encoded], *, name: str = "snapshot", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._encode = encode
        self._name = name
        self._clock = clock
        self._making = asyncio.Lock()
        self._latest = SharedFrame(0, Encoded(b""), float("-inf"))
        self._is_over = asyncio.Event()

    async def fresh(self) -> SharedFrame:
        """One with everything that was known when it was asked for."""
        return await self.since(self._clock())

    async def since(self, moment: float) -> SharedFrame:
        """One that was begun at a moment or later."""
        async with self._making:
            if self._latest.began < moment:
                began = self._clock()
                answer = await asyncio.get_running_loop().run_in_executor(None, self._encode)
                self._latest = SharedFrame(self._latest.number + 1, answer, began, self._name)
            return self._latest

    async def every(self, interval_seconds: float) -> AsyncIterator[SharedFrame]:
        """One at once, then one per tick, until `close`. A slow client misses ticks, nothing piles up."""
        yield await self.fresh()
        while not self._is_over.is_set():
            due = (self._clock() // interval_seconds + 1) * interval_seconds
            try:
                await asyncio.wait_for(self._is_over.wait(), max(0.0, due - self._clock()))
            except asyncio.TimeoutError:
                yield await self.since(due)

    def close(self) -> None:
        """Ends every stream."""
        self._is_over.set()


_DIRECTORIES = re.compile(r"[^\s:,;<>()\"']*/")
_HAS_SITES = (b'"frames":', b'"stack":')  # as every site has


def without_directories(value: Any) -> Any:
    """A document whose sites (`stack`, `file`, and the text of a `site`) name files alone."""
    if isinstance(value, list | tuple):
        return [without_directories(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    return {key: _hidden(key, inner) for key, inner in value.items()}


def _hidden(key: str, value: Any) -> Any:
    if key == "stack" and isinstance(value, list | tuple):
        return [_DIRECTORIES.sub("", line) if isinstance(line, str) else line for line in value]
    if key == "file" and isinstance(value, str):
        return value.rpartition("/")[2]
    if key in ("site", "other_site") and isinstance(value, dict) and isinstance(value.get("text"), str):
        value = {**value, "text": _DIRECTORIES.sub("", value["text"])}
    return without_directories(value)


def encoded_for(figures: object, *, is_public: bool) -> bytes:
    """Figures as they are sent to the Unix socket, or to ports."""
    body = encoded(figures)
    if not is_public or not any(word in body for word in _HAS_SITES):
        return body
    return msgspec.json.encode(without_directories(msgspec.json.decode(body)))


def encoded_frame(snapshot: Snapshot) -> Encoded:
    """A snapshot as it is sent, to the Unix socket and to ports, with a tag that names all but the moment."""
    body, public = (encoded_for(snapshot, is_public=is_public) for is_public in (False, True))
    lasting = body.replace(b'"time_ns":"%d"' % snapshot.time_ns, b"", 1)  # which comes first
    tag = f'"{hashlib.blake2b(lasting, digest_size=16).hexdigest()}"'
    return Encoded(body, tag, snapshot.time_ns, None if public == body else public)
