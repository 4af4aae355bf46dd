"""The few sentences that reporting says on stderr: each at most once in a process and its forked children."""

import os
from contextlib import suppress

__all__ = ["warn_once"]

_SAID: set[str] = set()


def warn_once(topic: str, sentence: str) -> None:
    """One line; never raises, whatever became of stderr."""
    if topic in _SAID:
        return
    _SAID.add(topic)
    with suppress(OSError):
        os.write(2, f"ttmem: {sentence}\n".encode(errors="replace"))
