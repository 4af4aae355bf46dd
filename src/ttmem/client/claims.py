"""What is open in this process and by which tracker, so that closing a device ends nothing of another's.

A journal has one target for each chip. Programs report on that target; a tracker never does: it has targets of its own
over the chips, and different ones from every other tracker's. The chip itself is closed by the last user of it.

What is rare and takes several steps, such as opening a device or loading a kernel, is done by one thread at a time:
the one that holds `turn()`. It is held for a few reports only; a signal handler in the same thread may take it again.
"""

import os
import threading
from contextlib import AbstractContextManager
from typing import Protocol
from weakref import WeakSet

__all__ = ["Holder", "by_hand", "holders", "is_claimed", "is_in_use", "turn"]


class Holder(Protocol):
    """The open devices of one tracker."""

    @property
    def client(self) -> object: ...
    def has_claimed(self, target: int) -> bool: ...
    def is_on(self, chip: int) -> bool: ...
    def close_all(self) -> None: ...
    def forget(self) -> None:
        """Tracking was turned off: everything has ended."""

    def begin_in_child(self) -> None:
        """Of the memory of its parent a forked child holds nothing."""


by_hand: set[int] = set()  # what programs opened, and did not close since
holders: WeakSet[Holder] = WeakSet()  # a tracker that is dropped claims nothing any more


_turns = [threading.RLock()]


def turn() -> AbstractContextManager[object]:
    """The lock, to be held with `with`."""
    return _turns[0]


def is_claimed(target: int) -> bool:
    """Whether some tracker reports on it."""
    return any(holder.has_claimed(target) for holder in holders)


def is_in_use(chip: int) -> bool:
    """Whether any client has it open."""
    return chip in by_hand or any(holder.is_on(chip) for holder in holders)


def _begin_in_child() -> None:
    _turns[0] = threading.RLock()  # free, whichever thread of the parent held it
    for holder in list(holders):
        holder.begin_in_child()


os.register_at_fork(after_in_child=_begin_in_child)
