"""The samples of one pool of one chip: a ring of seconds, and a coarser one that reaches back an hour.

    300 places of  1 s      place = second % 300
    300 places of 12 s      place = second // 12 % 300, the highest of its seconds

A place holds its sample plus one, and 0 where nobody looked.
"""

from array import array

from ttmem.snapshot.usage import Origin

__all__ = ["PLACES", "STEPS", "Ring", "step_for"]

PLACES = 300
STEPS = (1, 12)  # seconds per place
_MOST = (1 << 64) - 2


def step_for(seconds: int) -> int:
    """The finest step that reaches back so far."""
    return next((step for step in STEPS if seconds <= step * PLACES), STEPS[-1])


class Ring:
    """Both rings, and what they are about."""

    __slots__ = ("_places", "capacity_bytes", "device", "last_second", "origin", "unique_id")

    def __init__(self, device: int, unique_id: int | None) -> None:
        self.device = device
        self.unique_id = unique_id
        self.capacity_bytes: int | None = None
        self.origin: Origin = "counted"
        self.last_second = 0
        self._places = {step: array("Q", bytes(8 * PLACES)) for step in STEPS}

    def put(self, second: int, used_bytes: int) -> None:
        """The sample of a second; places up to it were emptied before."""
        self.last_second = second
        value = min(max(0, used_bytes), _MOST) + 1
        for step, places in self._places.items():
            at = second // step % PLACES
            if value > places[at]:
                places[at] = value

    def empty(self, after: int, second: int) -> None:
        """Makes room for the samples after one second, up to another."""
        for step, places in self._places.items():
            last = second // step
            for tick in range(max(after // step, last - PLACES) + 1, last + 1):
                places[tick % PLACES] = 0

    def samples(self, step: int, last: int, count: int) -> tuple[int | None, ...]:
        """So many samples up to the place of time `last`, which is counted in steps; oldest first."""
        places = self._places[step]
        begin = (last - count + 1) % PLACES
        found = places[begin : begin + count]
        found += places[: count - len(found)]
        return tuple([value - 1 if value else None for value in found])

    def zeros(self, device: int, unique_id: int | None) -> "Ring":
        """Another pool of the same chip, of which nothing was used whenever this one was looked at."""
        ring = Ring(device, unique_id)
        for step, places in self._places.items():
            ring._places[step] = array("Q", [1 if value else 0 for value in places])
        return ring
