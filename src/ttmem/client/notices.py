"""The few sentences that reporting says on stderr: each at most once in a process and its forked children."""

import os
import sys
from contextlib import suppress

__all__ = ["has_stderr", "warn_once"]

_SAID: set[str] = set()


def has_stderr() -> bool:
    """Whether the process began with one; if it was closed then, descriptor 2 is a file of the program's own."""
    return sys.__stderr__ is not None


def warn_once(topic: str, sentence: str) -> None:
    """One line; never raises, whatever became of stderr."""
    if topic in _SAID or not has_stderr():
        return
    _SAID.add(topic)
    with suppress(OSError):
        os.write(2, f"ttmem: {sentence}\n".encode(errors="replace"))
