"""One thread at a time, for what is rare and takes several steps: opening a device, loading a kernel.

Nobody holds the turn for longer than a few reports take. A thread that comes again in its own turn (a signal handler's)
goes on; a forked child begins with nobody's turn, whoever had it in the parent.
"""

import os
import threading
from contextlib import AbstractContextManager

__all__ = ["turn"]

_turns = [threading.RLock()]


def turn() -> AbstractContextManager[object]:
    """To be held with `with`."""
    return _turns[0]


def _begin_in_child() -> None:
    _turns[0] = threading.RLock()


os.register_at_fork(after_in_child=_begin_in_child)
