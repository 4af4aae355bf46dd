"""Who in this process has what open, so that nobody ends what is another's.

A journal has one target for each chip, whoever names it. Programs report on that target; a tracker never does: it has
targets of its own over the chips, and different ones from every other tracker's. The chip itself is closed by the
last of all who have it open.
"""

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["Holder", "by_hand", "holders", "is_claimed", "is_in_use"]


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


def is_claimed(target: int) -> bool:
    """Whether some tracker reports on it."""
    return any(holder.has_claimed(target) for holder in holders)


def is_in_use(chip: int) -> bool:
    """Whether anybody has it open."""
    return chip in by_hand or any(holder.is_on(chip) for holder in holders)


def _begin_in_child() -> None:
    for holder in list(holders):
        holder.begin_in_child()


os.register_at_fork(after_in_child=_begin_in_child)
