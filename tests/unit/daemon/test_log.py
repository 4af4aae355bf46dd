"""The log: first the line that all is ready, never a wait for whoever should read it."""

import os
import re
import threading
import time
from collections.abc import Iterator

import pytest

from tests.support.timing.stopwatch import Stopwatch
from tests.support.timing.waiting import wait_until
from ttmem.daemon.log import Log


class Lines:
    """Stands for the native core's lines."""

    def __init__(self) -> None:
        self.text: list[bytes] = []
        self.dropped = 0
        self.remaining = 0
        self.has_news = threading.Event()

    def add(self, text: bytes = b"", *, remaining: int = 0) -> None:
        self.text.append(text)
        self.remaining += remaining
        self.has_news.set()

    def take(self, wait_seconds: float) -> tuple[bytes, int, int, int]:
        self.has_news.wait(wait_seconds)
        self.has_news.clear()
        text, self.text = b"".join(self.text), []
        remaining, self.remaining = self.remaining, 0
        return text, self.dropped, remaining, 0


class Stage:
    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.lines = Lines()
        self.warnings: list[str] = []
        self.log = Log(
            self.writer,
            source=self.lines.take,
            dump=lambda what: f"dump {what}\n",
            warn=self.warnings.append,
        )
        self.heard = b""

    def hear(self, words: bytes) -> bytes:
        while words not in self.heard:
            self.heard += os.read(self.reader, 65536)
        return self.heard


@pytest.fixture
def stage() -> Iterator[Stage]:
    one = Stage()
    yield one
    os.close(one.reader)
    if one.log.close(2):
        os.close(one.writer)


def test_the_ready_line_comes_first_whatever_was_said_before(stage: Stage) -> None:
    stage.log.say("about a checkpoint")
    stage.lines.add(b"an event\n")
    stage.log.start("ready")

    assert stage.hear(b"an event\n") == b"ready\nabout a checkpoint\nan event\n"


def test_a_dump_is_printed_on_request_and_by_message(stage: Stage) -> None:
    stage.log.start("ready")
    stage.log.ask_for_dump()
    stage.hear(b"dump page\n")
    stage.lines.add(remaining=1)

    assert stage.hear(b"dump page\ndump remaining\n")


def test_many_requests_for_dumps_give_one_a_second(stage: Stage) -> None:
    stage.log.start("ready")
    began = time.monotonic()
    for _ in range(500):
        stage.lines.add(remaining=1)
        stage.log.ask_for_dump()
    stage.lines.add(b"end\n")
    heard = stage.hear(b"end\n")

    for what in (b"dump page", b"dump remaining"):
        assert heard.count(what) <= 1 + time.monotonic() - began


def test_a_blocked_reader_delays_no_thread_and_learns_what_it_missed(stage: Stage) -> None:
    stage.log.start("ready")
    stage.lines.add(b"x" * 200_000 + b"\n")
    wait_until(lambda: not stage.lines.text)
    stage.lines.dropped = 5
    watch = Stopwatch()
    for _ in range(3000):
        stage.log.say("y" * 1000)
    assert watch.seconds < 1

    stage.hear(b"log lines dropped")
    while missed(stage.heard) + stage.heard.count(b"y" * 1000) < 5 + 3000:
        stage.heard += os.read(stage.reader, 65536)
    assert missed(stage.heard) > 1000
    assert missed(stage.heard) + stage.heard.count(b"y" * 1000) == 5 + 3000


def missed(heard: bytes) -> int:
    return sum(map(int, re.findall(rb"ttmem: (\d+) log lines dropped", heard)))


def test_a_reader_that_left_is_reported_once_and_then_forgotten(stage: Stage) -> None:
    stage.log.start("ready")
    stage.hear(b"ready\n")
    other = os.open(os.devnull, os.O_RDONLY)
    os.dup2(other, stage.reader)
    os.close(other)
    for _ in range(3):
        stage.lines.add(b"line\n")
        wait_until(lambda: not stage.lines.text)

    wait_until(lambda: stage.warnings)
    assert stage.log.close(2)
    assert stage.warnings == ["the log has no reader any more (Broken pipe); serving on without it"]


def test_a_log_that_cannot_be_written_is_reported_once(stage: Stage) -> None:
    pipe = os.dup(stage.writer)
    with open("/dev/full", "wb") as full:
        os.dup2(full.fileno(), stage.writer)
    stage.log.start("ready")
    for _ in range(3):
        stage.lines.add(b"line\n")
        wait_until(lambda: not stage.lines.text)
    os.dup2(pipe, stage.writer)  # as if there was room again
    os.close(pipe)
    stage.lines.add(b"more\n")
    heard = stage.hear(b"log lines dropped")

    assert missed(heard) in (3, 4)  # the third may have come through
    assert stage.warnings == ["the log cannot be written (No space left on device); serving on, and trying again"]


def test_closing_prints_what_is_left(stage: Stage) -> None:
    stage.log.start("ready")
    stage.lines.add(b"last event\n")
    stage.log.say("last words")

    assert stage.log.close(2)
    assert sorted(os.read(stage.reader, 1000).splitlines()) == [b"last event", b"last words", b"ready"]


def test_closing_does_not_wait_for_a_blocked_reader(stage: Stage) -> None:
    stage.log.start("ready")
    stage.lines.add(b"x" * 200_000)
    wait_until(lambda: not stage.lines.text)
    watch = Stopwatch()

    stage.log.close(0.1)

    assert watch.seconds < 0.5
