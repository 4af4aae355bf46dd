"""What was drawn last of each chip, and of each part of it: mostly nothing has changed there, and comparing is cheaper
than drawing."""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["Kept"]

Thing = TypeVar("Thing")


class Kept(Generic[Thing]):
    """The last thing made for each place, made anew whenever what it is made of is not equal to what it was."""

    def __init__(self) -> None:
        self._made: dict[Hashable, tuple[tuple[object, ...], Thing]] = {}

    def of(self, place: Hashable, made_of: tuple[object, ...], make: Callable[[], Thing]) -> Thing:
        found = self._made.get(place)
        if found is not None and found[0] == made_of:
            return found[1]
        thing = make()
        self._made[place] = (made_of, thing)
        return thing
