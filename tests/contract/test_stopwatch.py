"""What the stopwatch of the tests counts, and what it does not: many a promise about time is measured with it."""

import os
import subprocess
import sys
import time

import pytest

from tests.support.timing.stopwatch import Stopwatch, least

WORK = "import sys, time\nsys.stdin.readline()\nwhile time.process_time() < float(sys.argv[1]): pass"


def a_worker(cpu: int, seconds: float) -> "subprocess.Popen[str]":
    """Uses a processor for so long, as soon as it is told to."""
    pinned = f"import os\nos.sched_setaffinity(0, [{cpu}])\n"
    command = [sys.executable, "-c", pinned + WORK, str(seconds)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, text=True)


def test_sleep_is_counted() -> None:
    watch = Stopwatch()
    time.sleep(0.3)

    assert watch.seconds > 0.2


@pytest.mark.slow
def test_work_is_counted_and_waiting_for_a_processor_is_not() -> None:
    cpu = min(os.sched_getaffinity(0))
    with a_worker(cpu, 0.6) as watched, a_worker(cpu, 60) as rival:
        watch, began = Stopwatch(watched.pid), time.monotonic()
        for worker in (rival, watched):
            assert worker.stdin is not None
            worker.stdin.write("\n")
            worker.stdin.flush()
        status = watch.end_of(watched)
        passed, counted = time.monotonic() - began, watch.seconds
        rival.kill()

    assert status == 0
    assert 0.3 < counted < 0.8 * passed


def test_the_best_of_some_tries_is_the_first_that_is_good_enough() -> None:
    tries = iter([5.0, 3.0, 0.5, 0.1])

    assert least(lambda: next(tries), under=1.0) == 0.5
    assert least(iter([5.0, 3.0, 4.0, 3.5, 9.0]).__next__, under=1.0) == 3.0
