"""Equal binaries of several kernels: how many are alive, and what keeping each of them once would save.

The runtime stores every kernel of every program for itself (`populate_dispatch_data`), also if two of them compiled
to the same image. A load of an image that is there already is a hit of the cache that could be, any other a miss, and
every unload lets one copy go. An image has the size that was told first, or what is held would not come out even.
"""

from ttmem.client.reports import report_cache
from ttmem.tracking import Cache, CacheOutcome

__all__ = ["Images"]

# Plain numbers: the hot calls take them faster than members of an enum.
_IMAGE = int(Cache.IMAGE)
_HIT, _MISS, _EVICTED = int(CacheOutcome.HIT), int(CacheOutcome.MISS), int(CacheOutcome.EVICTED)


class Images:
    """The images that are alive on one target."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._alive: dict[int, tuple[int, int]] = {}  # how many copies, and the size of one
        self._held_bytes = 0
        self._shared_bytes = 0

    def add(self, image: int, size_bytes: int) -> None:
        """One more kernel has this image; 0 is no image."""
        if not image:
            return
        copies, size_bytes = self._alive.get(image, (0, size_bytes))
        self._alive[image] = copies + 1, size_bytes
        if copies:
            self._shared_bytes += size_bytes
        else:
            self._held_bytes += size_bytes
        self._tell(_HIT if copies else _MISS, size_bytes)

    def remove(self, image: int) -> None:
        """One kernel less has it."""
        if image not in self._alive:
            return
        copies, size_bytes = self._alive.pop(image)
        if copies > 1:
            self._alive[image] = copies - 1, size_bytes
            self._shared_bytes -= size_bytes
        else:
            self._held_bytes -= size_bytes
        self._tell(_EVICTED, size_bytes)

    def _tell(self, outcome: int, size_bytes: int) -> None:
        counts = len(self._alive), self._held_bytes, self._shared_bytes
        report_cache(self._target, _IMAGE, outcome, size_bytes, *counts)
