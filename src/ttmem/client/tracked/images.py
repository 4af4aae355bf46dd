"""Equal binaries of several kernels: how many are alive, and what keeping each of them once would save.

The runtime stores every kernel of every program for itself (`populate_dispatch_data`), also if two of them compiled
to the same image. A load of an image that is there already is a hit of the cache that could be, any other a miss, and
every unload lets one copy go.
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
        self._copies: dict[int, int] = {}
        self._held_bytes = 0
        self._shared_bytes = 0

    def add(self, image: int, size_bytes: int) -> None:
        """One more kernel has this image; 0 is no image."""
        if not image:
            return
        copies = self._copies[image] = self._copies.get(image, 0) + 1
        if copies == 1:
            self._held_bytes += size_bytes
        else:
            self._shared_bytes += size_bytes
        self._tell(_MISS if copies == 1 else _HIT, size_bytes)

    def remove(self, image: int, size_bytes: int) -> None:
        """One kernel less has it."""
        copies = self._copies.pop(image, 0) - 1
        if copies < 0:
            return
        if copies:
            self._copies[image] = copies
            self._shared_bytes -= size_bytes
        else:
            self._held_bytes -= size_bytes
        self._tell(_EVICTED, size_bytes)

    def _tell(self, outcome: int, size_bytes: int) -> None:
        counts = len(self._copies), self._held_bytes, self._shared_bytes
        report_cache(self._target, _IMAGE, outcome, size_bytes, *counts)
