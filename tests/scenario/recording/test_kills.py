"""A workload, its recorder, or both are killed at any moment: what must be in the recording is there.

`./run kills` plays 300 rounds, the slow tests 60. What a round asserts does not depend on how fast the machine is: the
workload notes when each of its calls had returned, what is missing is told by their times, and how long the recorder
waited for a processor is taken off. A round that is late is played again: who is too slow is so every time.
"""

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.recorded.killing import RecorderProcess, Workload, highest, recorded, wait_for_calls
from tests.support.timing.stopwatch import least
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until
from ttmem.collector import Collector
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.sources import Places

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("KILL_ROUNDS", "60"))
MISSING_SECONDS = 0.1
rounds = pytest.mark.parametrize("number", range(ROUNDS // 3))


class Round:
    """A workload that is being recorded, up to a moment that its number decides."""

    def __init__(self, number: int, directory: Path, journals: Path) -> None:
        self.random = random.Random(number)
        self.path = directory / "run.ttmem"
        self.journals = journals
        self.recorder = RecorderProcess(self.path, journals)
        self.workload = Workload(directory, journals, pause_us=self.random.choice((200, 1000, 5000)))
        try:
            wait_for_calls(self.workload, self.recorder, self.random.randrange(1, 2000))
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Whatever still lives."""
        self.workload.kill()
        self.recorder.kill()

    def check_what_is_left(self, done_before: int) -> float:
        """A killed recorder's file: all that had happened but for the end. Says how many seconds are missing."""
        kept = highest(self.path)  # it only allocates; its end may have been seen
        assert kept <= self.workload.done + 1
        recording = Recording(self.path)
        assert all(segment.blocks for segment in recording.segments)
        if kept >= done_before:
            return 0.0
        since_ns = self.workload.time_ns(kept + 1)
        missing_ns = self.workload.time_ns(done_before) - since_ns
        return max(0, missing_ns - self.recorder.waited_ns(since_ns)) / 1e9

    def record_again(self) -> RecordingWriter:
        """Another recorder of the same recording has read what is there."""
        self.collector = Collector(Places(uid=os.geteuid(), directory=str(self.journals)))
        writer = RecordingWriter(self.path, self.collector.ledger, meta=Meta())
        assert self.collector.wait_settled(PATIENCE_SECONDS)
        writer.flush()
        return writer


@rounds
def test_a_killed_workload_has_all_calls_that_had_returned(tmp_path: Path, journals: Path, number: int) -> None:
    one = Round(number, tmp_path, journals)
    try:
        one.workload.kill()
        wait_until(lambda: recorded(one.path) == (0, False))
        assert one.recorder.end(signal.SIGINT) == 0
    finally:
        one.end()

    assert one.workload.done <= highest(one.path) <= one.workload.done + 1
    assert Recording(one.path).lost_record_count == 0


def a_killed_recorder(directory: Path, journals: Path, number: int) -> float:
    """One round; how many seconds are missing."""
    one = Round(number, directory, journals)
    try:
        one.recorder.look()
        done_before = one.workload.done
        one.recorder.kill()
        missing = one.check_what_is_left(done_before)
        segments = len(Recording(one.path).segments)
        writer = one.record_again()
        held, _ = recorded(one.path)
        assert done_before <= held <= one.workload.done + 1
        one.workload.kill()
        wait_until(lambda: one.collector.tick() == 0 and not one.collector.snapshot().live)
        writer.close()
    finally:
        one.end()
    assert len(Recording(one.path).segments) == segments + 1
    assert one.workload.done <= highest(one.path) <= one.workload.done + 1
    assert recorded(one.path) == (0, False)
    return missing


def both_killed(directory: Path, journals: Path, number: int) -> float:
    """One round; how many seconds are missing."""
    one = Round(number, directory, journals)
    try:
        one.recorder.look()
        done_before = one.workload.done
        killing = [one.recorder.kill, one.workload.kill]
        one.random.shuffle(killing)
        for kill in killing:
            kill()
        missing = one.check_what_is_left(done_before)
        kept = highest(one.path)
        one.record_again().close()  # who was over before that is not counted among the living
    finally:
        one.end()
    assert highest(one.path) == kept
    assert recorded(one.path) == (0, False)
    return missing


@rounds
@pytest.mark.parametrize("play", [a_killed_recorder, both_killed])
def test_a_killed_recorder_has_all_but_the_last_moment(
    tmp_path_factory: pytest.TempPathFactory, journals: Path, number: int, play: Callable[[Path, Path, int], float]
) -> None:
    def missing() -> float:
        attempt = tmp_path_factory.mktemp("attempt")
        own = journals / attempt.name
        own.mkdir(mode=0o700)
        return play(attempt, own, number)

    assert least(missing, under=MISSING_SECONDS) < MISSING_SECONDS
