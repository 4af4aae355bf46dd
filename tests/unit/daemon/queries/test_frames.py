"""Snapshots are made once for everybody who waits, and streams neither pile up nor outlive the server."""

import asyncio
import time

from ttmem.daemon.queries.frames import Encoded, Frames, SharedFrame


class Encoder:
    def __init__(self, seconds: float = 0.0) -> None:
        self.count = 0
        self._seconds = seconds

    def __call__(self) -> Encoded:
        self.count += 1
        time.sleep(self._seconds)
        return Encoded(b"%d" % self.count)


def test_all_who_wait_share_one_frame() -> None:
    encoder = Encoder(0.05)

    async def ask() -> set[bytes]:
        frames = Frames(encoder)
        return {frame.body for frame in await asyncio.gather(*(frames.fresh() for _ in range(100)))}

    assert asyncio.run(ask()) <= {b"1", b"2"}  # who came while the first was being made waits for the second
    assert encoder.count <= 2


def test_a_fresh_frame_is_begun_after_it_was_asked_for() -> None:
    async def ask() -> list[int]:
        frames = Frames(Encoder())
        return [(await frames.fresh()).number for _ in range(3)]

    assert asyncio.run(ask()) == [1, 2, 3]


def test_streams_of_one_interval_cost_one_frame_per_tick() -> None:
    encoder = Encoder()

    async def watch(frames: Frames, seen: list[int]) -> None:
        async for frame in frames.every(0.1):
            seen.append(frame.number)

    async def watch_all() -> list[list[int]]:
        frames = Frames(encoder)
        seen: list[list[int]] = [[] for _ in range(20)]
        watchers = [asyncio.create_task(watch(frames, one)) for one in seen]
        while min(map(len, seen)) < 5:
            await asyncio.sleep(0.01)
        frames.close()
        await asyncio.wait_for(asyncio.gather(*watchers), 1)
        return seen

    seen = asyncio.run(watch_all())

    assert encoder.count <= max(map(len, seen)) + 2
    assert all(one == sorted(set(one)) for one in seen)


def test_a_viewer_that_is_slow_misses_ticks() -> None:
    async def watch() -> list[int]:
        frames = Frames(Encoder())
        seen = []

        async def quick() -> None:
            async for _ in frames.every(0.1):
                pass

        other = asyncio.create_task(quick())
        async for frame in frames.every(0.1):
            seen.append(frame.number)
            await asyncio.sleep(0.35)
            if len(seen) == 3:
                frames.close()
        await other
        return seen

    first, second, third = asyncio.run(watch())
    assert second - first >= 3
    assert third - second >= 3


def test_closing_ends_a_stream_at_once() -> None:
    async def watch() -> int:
        frames = Frames(Encoder())
        count = 0
        async for _ in frames.every(1000.0):
            count += 1
            asyncio.get_running_loop().call_later(0.01, frames.close)
        return count

    assert asyncio.run(watch()) == 1


def test_an_event_is_one_line_of_data() -> None:
    assert SharedFrame(7, Encoded(b'{"a":1}'), 0.0).event() == b'event: snapshot\nid: 7\ndata: {"a":1}\n\n'
