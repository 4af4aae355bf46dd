"""An hour of samples: what every chip and pool was at its highest in each second, and what happened meanwhile.

Samples lie on one grid of time. Each series is a ring of numbers, one place per second:

    place    ... 3598 3599  0  1  2  3 ...       second % 3600
    sample         12    .  9  9  .  7           NOBODY where nobody looked

   field        who touches it
   all          whoever samples or asks; guarded by _lock
"""

import threading
from array import array
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ttmem.collector.happenings import Happenings
from ttmem.devices import Pool
from ttmem.snapshot.counters import ReadChip
from ttmem.snapshot.sights.history import History, Series
from ttmem.snapshot.usage import Origin

__all__ = ["Course"]

INTERVAL_NS = 1_000_000_000
KEPT = 3600
POINTS = 300  # of an answer, at most
_SERIES_MOST = 640  # strangers may name devices by the thousand
_NOBODY = (1 << 64) - 1
_EMPTY = array("Q", [_NOBODY]) * KEPT
_ALWAYS = (Pool.DRAM, Pool.L1)  # of a chip that is looked at: known to be 0 until something is there

_Key = tuple[int | str, Pool]  # a chip by its unique id or its name, and a pool


@dataclass(slots=True)
class _Ring:
    """The samples of one pool of one chip."""

    device: int
    unique_id: int | None
    capacity_bytes: int | None
    last_second: int = 0
    origin: Origin = "counted"
    samples: "array[int]" = field(default_factory=lambda: array("Q", _EMPTY))


class Course:
    """Takes a sample of all chips whenever a new second has begun, and hands out histories."""

    def __init__(
        self,
        sample: Callable[[], tuple[Any, ...]],
        read: Callable[[], Iterable[ReadChip]],
        clock_ns: Callable[[], int],
    ) -> None:
        self._sample = sample
        self._read = read
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._rings: dict[_Key, _Ring] = {}
        self._happenings = Happenings()
        self._second = 0  # of the last sample; 0 before the first

    def look(self) -> None:
        """Takes a sample if it is time; cheap if it is not."""
        if self._clock_ns() // INTERVAL_NS == self._second:
            return
        with self._lock:
            second = self._clock_ns() // INTERVAL_NS
            if second != self._second:
                self._take(second)

    def history(self, seconds: int) -> History:
        """The last so many seconds, in at most `POINTS` samples; each is the highest of those it stands for."""
        self.look()
        with self._lock:
            span = max(1, min(KEPT, seconds))
            step = -(-span // POINTS)
            last = self._second // step  # bins are cut at fixed moments: else they would change as time passes
            count = -(-span // step)
            end_ns = (last + 1) * step * INTERVAL_NS
            begin_ns = end_ns - count * step * INTERVAL_NS
            return History(
                end_ns=end_ns,
                interval_ns=step * INTERVAL_NS,
                series=tuple(
                    _series(key, ring, _binned(ring.samples, self._second, last - count + 1, last, step))
                    for key, ring in self._rings.items()
                    if ring.last_second * INTERVAL_NS >= begin_ns
                ),
                marks=self._happenings.since(begin_ns),
            )

    def _take(self, second: int) -> None:
        self._forget(second)
        _, chips, processes, happenings = self._sample()
        counted: dict[tuple[int | None, Pool], int] = {}
        for number, unique_id, name, pools in chips:
            chip = unique_id if unique_id is not None else name
            found = {Pool(pool): (highest, capacity or None) for pool, _, highest, capacity in pools}
            for pool in {*_ALWAYS, *found, *(pool for one, pool in self._rings if one == chip)}:
                highest, capacity = found.get(pool, (0, None))
                self._put((chip, pool), second, highest, device=number, unique_id=unique_id, capacity=capacity)
                counted[unique_id, pool] = highest
        self._take_read(second, counted)
        self._happenings.take(processes, happenings)
        self._second = second

    def _take_read(self, second: int, counted: Mapping[tuple[int | None, Pool], int]) -> None:
        """What the runtime's counters say, where nothing was counted: the two are never added up."""
        for chip in self._read():
            if chip.unique_id is None:
                continue
            for pool, used in chip.used.items():
                if not counted.get((chip.unique_id, pool)):
                    key = (chip.unique_id, pool)
                    self._put(key, second, used, device=-1, unique_id=chip.unique_id, capacity=None, origin="read")

    def _put(
        self,
        key: _Key,
        second: int,
        highest: int,
        *,
        device: int,
        unique_id: int | None,
        capacity: int | None,
        origin: Origin = "counted",
    ) -> None:
        ring = self._rings.get(key)
        if ring is None:
            if len(self._rings) >= _SERIES_MOST:
                return
            ring = self._rings[key] = _Ring(device, unique_id, capacity, samples=self._zeros(key[0]))
        if device >= 0:
            ring.device = device
        ring.capacity_bytes = capacity or ring.capacity_bytes
        ring.origin = origin
        ring.last_second = second
        ring.samples[second % KEPT] = min(highest, _NOBODY - 1)

    def _zeros(self, chip: int | str) -> "array[int]":
        """The past of a pool that nothing lay in: 0 where its chip was looked at."""
        known = self._rings.get((chip, Pool.DRAM))
        if known is None:
            return array("Q", _EMPTY)
        return array("Q", [_NOBODY if sample == _NOBODY else 0 for sample in known.samples])

    def _forget(self, second: int) -> None:
        """Empties the places of all seconds since the last sample, and drops what has no sample left."""
        if second < self._second:  # the clock was set back: what was is not comparable
            self._rings.clear()
        passed = range(max(self._second, second - KEPT) + 1, second + 1)
        for key, ring in list(self._rings.items()):
            if second - ring.last_second >= KEPT:
                del self._rings[key]
                continue
            for at in passed:
                ring.samples[at % KEPT] = _NOBODY


def _series(key: _Key, ring: _Ring, samples: tuple[int | None, ...]) -> Series:
    uuid = None if ring.unique_id is None else f"0x{ring.unique_id:016x}"
    return Series(ring.device, uuid, key[1], ring.capacity_bytes, samples, ring.origin)


def _binned(samples: "array[int]", newest: int, first: int, last: int, step: int) -> tuple[int | None, ...]:
    """The highest of every `step` seconds, from the bin `first` to the bin `last`."""
    begin = max(first * step, newest - KEPT + 1)  # older places hold newer samples by now
    known = [samples[second % KEPT] for second in range(begin, newest + 1)]
    found = []
    for bin_ in range(first, last + 1):
        inside = known[max(0, bin_ * step - begin) : max(0, (bin_ + 1) * step - begin)]
        found.append(max((sample for sample in inside if sample != _NOBODY), default=None))
    return tuple(found)
