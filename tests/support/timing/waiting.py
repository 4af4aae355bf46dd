"""Waiting for something to become true, with a deadline; the only way tests wait where no pipe can tell."""

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_SECONDS = 60.0  # far more than anything takes, also on a machine that has much else to do

Value = TypeVar("Value")


def wait_until(condition: Callable[[], Value], *, seconds: float = PATIENCE_SECONDS) -> Value:
    """The first true value of the condition."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {seconds:g} s; last seen: {value!r}")
        time.sleep(0.002)
