"""The few sentences that reporting says on stderr: most of them at most once in a process and its
forked children."""

import os
import sys
from contextlib import suppress

__all__ = ["has_stderr", "warn", "warn_once"]

_SAID: set[str] = set()


def has_stderr() -> bool:
    """Whether the process began with one; if it was closed then, descriptor 2 is a file of the program's own."""
    return sys.__stderr__ is not None


def warn_once(topic: str, sentence: str) -> None:
    """One line; never raises, whatever became of stderr."""
    if topic in _SAID or not has_stderr():
        return
    _SAID.add(topic)
    warn(sentence)


def warn(sentence: str) -> None:
    """One line; never raises."""
    if not has_stderr():
        return
    with suppress(OSError):
        os.write(2, f"ttmem: {sentence}\n".encode(errors="replace"))
