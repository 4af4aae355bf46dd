"""Ends a process whose test its own time limit cannot reach.

That limit is a signal, which Python heeds between two of its steps: not within a native call that never returns, nor
in what cleans up after the first signal. So a thread of the interpreter, which needs nothing of the rest, waits longer,
says where everybody is and ends the process; whoever started it hears of a worker that crashed in that test.
"""

import faulthandler
import os
import time
from collections.abc import Generator

import pytest

GRACE_SECONDS = 60.0
LAST_SECONDS = 120.0  # for all that is closed when there are no more tests
RENEWAL_SECONDS = 1.0  # each renewal starts a thread, and there are thousands of tests


class Watchdog:
    """A plugin; made while standard error is still the real one."""

    def __init__(self, *, grace_seconds: float = GRACE_SECONDS) -> None:
        self._grace_seconds = grace_seconds
        self._stderr = os.dup(2)
        self._renewed_at = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
            self._renewed_at = 0.0

    # Each phase that comes late gets its own: what cleans up after a limit may hang as well.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._wait_for(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self._wait_for(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        self._wait_for(item)

    def pytest_exception_interact(self) -> None:
        self._renewed_at = 0.0  # pytest calls off whatever waits when a test has failed

    def pytest_sessionfinish(self) -> None:
        self._wait(LAST_SECONDS)

    def _wait_for(self, item: pytest.Item) -> None:
        limit = _limit(item)
        if limit > 0 and time.monotonic() >= self._renewed_at + RENEWAL_SECONDS:
            self._renewed_at = time.monotonic()
            self._wait(limit + self._grace_seconds)

    def _wait(self, seconds: float) -> None:
        faulthandler.dump_traceback_later(seconds, exit=True, file=self._stderr)


def _limit(item: pytest.Item) -> float:
    """As the plugin of time limits has it: of the mark, the command line, the environment, the settings; 0: none."""
    marker = item.get_closest_marker("timeout")
    marked = None if marker is None else marker.args[0] if marker.args else marker.kwargs.get("timeout")
    asked_for = (marked, item.config.getoption("timeout", None), os.environ.get("PYTEST_TIMEOUT"))
    return float(next((one for one in asked_for if one is not None), item.config.getini("timeout") or 0))
