"""The feed queries what is on screen, at its pace; without an answer the last figures stay and it tries again."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, Queue

import pytest

from tests.support.simulated.figure_queries import SimulatedQueries
from tests.support.timing.waiting import wait_until
from ttmem.monitor import feed as feed_module
from ttmem.monitor.feed import Feed, frame_of
from ttmem.monitor.parts.drawing import MonitorFrame, Wanted

QUICK, NEVER = 0.01, 1000.0
OVERVIEW = Wanted()


@contextmanager
def fed(queries: SimulatedQueries, *, interval_seconds: float = NEVER) -> "Iterator[tuple[Feed, Queue[MonitorFrame]]]":
    frames: Queue[MonitorFrame] = Queue()
    feed = Feed(queries.opened, frames.put, interval_seconds=interval_seconds, wanted=OVERVIEW)
    feed.start()
    try:
        yield feed, frames
    finally:
        feed.stop()


def test_it_queries_again_at_its_interval() -> None:
    with fed(SimulatedQueries(), interval_seconds=QUICK) as (_, frames):
        times = [frame.overview.time_ns for frame in (frames.get(), frames.get(), frames.get()) if frame.overview]

    assert times == sorted(set(times))
    assert len(times) == 3


def test_it_asks_for_exactly_what_is_wanted() -> None:
    queries = SimulatedQueries()

    frame = frame_of(queries, Wanted(history_seconds=300, has_telemetry=True, detail=2, chip="0", kernels="1"))

    assert queries.asked == ["overview", "chip 0", "kernels 1", "process 4002", "history 300", "telemetry"]
    assert frame.detail is not None
    assert frame.detail.process.pid == 4002
    assert frame.chip is None  # not there any more: no trouble, just nothing to show


def test_a_process_that_is_not_listed_is_not_asked_for() -> None:
    queries = SimulatedQueries(processes=1)

    assert frame_of(queries, Wanted(detail=7)).detail is None
    assert queries.asked == ["overview"]


def test_something_new_on_screen_is_asked_for_at_once() -> None:
    queries = SimulatedQueries()
    with fed(queries) as (feed, frames):
        assert frames.get().history is None
        feed.tune(Wanted(history_seconds=60), interval_seconds=NEVER, is_paused=True)

        assert frames.get().history is not None


def test_a_paused_feed_rests_until_it_is_asked() -> None:
    queries = SimulatedQueries()
    with fed(queries, interval_seconds=QUICK) as (feed, frames):
        feed.tune(OVERVIEW, interval_seconds=QUICK, is_paused=True)
        feed.query_now()
        wait_until(lambda: not frames.empty())
        while not frames.empty():
            frames.get()
        feed.query_now()
        frames.get()

        with pytest.raises(Empty):
            frames.get(timeout=10 * QUICK)


def test_a_shorter_interval_is_taken_up_at_once() -> None:
    with fed(SimulatedQueries()) as (feed, frames):
        frames.get()
        feed.tune(OVERVIEW, interval_seconds=QUICK, is_paused=False)

        assert frames.get().overview is not None


def test_without_an_answer_the_last_figures_stay_and_it_comes_back_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "_LEAST_RETRY_SECONDS", QUICK)
    queries = SimulatedQueries()
    with fed(queries, interval_seconds=QUICK) as (_, frames):
        before = frames.get()
        queries.is_gone = True
        lost = next(frame for frame in iter(frames.get, MonitorFrame()) if frame.trouble)
        queries.is_gone = False
        back = next(frame for frame in iter(frames.get, MonitorFrame()) if not frame.trouble)

    assert before.trouble == ""
    assert lost.overview is not None
    assert lost.trouble == "no answer there: the daemon that made it has ended"
    assert back.overview is not None
    assert queries.asked.count("opened") >= 2


def test_whatever_breaks_is_said_and_not_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed_module, "_LEAST_RETRY_SECONDS", QUICK)
    queries = SimulatedQueries()
    monkeypatch.setattr(queries, "overview", lambda: 1 // 0)
    with fed(queries) as (_, frames):
        assert frames.get().trouble == "ZeroDivisionError: integer division or modulo by zero"
        assert frames.get().trouble


def test_peaks_are_reset_by_the_source() -> None:
    queries = SimulatedQueries()
    with fed(queries) as (feed, frames):
        frames.get()
        feed.reset_peaks()
        frames.get()

    assert queries.asked.count("reset_peaks") == 1


def test_a_question_that_hangs_does_not_hold_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    queries, is_asked, may_answer = SimulatedQueries(), threading.Event(), threading.Event()

    def hanging() -> None:
        is_asked.set()
        may_answer.wait()

    monkeypatch.setattr(queries, "overview", hanging)
    feed = Feed(queries.opened, lambda frame: None, interval_seconds=NEVER, wanted=OVERVIEW)
    feed.start()
    is_asked.wait()

    feed.stop(seconds=0.01)

    may_answer.set()
    feed.stop()
