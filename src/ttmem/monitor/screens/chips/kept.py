"""What was drawn last of each chip, and of each part of it: mostly nothing has changed there, and comparing is cheaper
than drawing."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

__all__ = ["Kept", "forget_all"]

Thing = TypeVar("Thing")


class Kept(Generic[Thing]):
    """The last thing made for each place, made anew whenever what it is made of is not equal to what it was."""

    def __init__(self) -> None:
        self._made: dict[Hashable, tuple[tuple[object, ...], Thing]] = {}
        _all.append(self)

    def of(self, place: Hashable, made_of: tuple[object, ...], make: Callable[[], Thing]) -> Thing:
        found = self._made.get(place)
        if found is not None and found[0] == made_of:
            return found[1]
        thing = make()
        self._made[place] = (made_of, thing)
        return thing

    def forget(self) -> None:
        self._made.clear()


_all: list[Kept[Any]] = []


def forget_all() -> None:
    """Everything is made anew: something has changed that nothing is made of, such as what counts as full."""
    for kept in _all:
        kept.forget()
