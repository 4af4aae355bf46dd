"""What was drawn last of each chip: mostly nothing has changed there, and comparing is cheaper than drawing."""

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Kept"]

Thing = TypeVar("Thing")


class Kept(Generic[Thing]):
    """The last thing made for each number, made anew whenever what it is made of is not equal to what it was."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[tuple[object, ...], Thing]] = {}

    def of(self, number: int, made_of: tuple[object, ...], make: Callable[[], Thing]) -> Thing:
        found = self._made.get(number)
        if found is not None and found[0] == made_of:
            return found[1]
        thing = make()
        self._made[number] = (made_of, thing)
        return thing
