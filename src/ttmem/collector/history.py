"""The course of things: what every chip and pool was at its highest in each second, for an hour, and what happened.

A sample is taken by whoever looks first in a new second. What it costs does not depend on how much is allocated.

   field        who touches it
   _second      read by anybody, written under _lock
   all others   whoever samples or asks; guarded by _lock
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ttmem.collector.happenings import Happenings
from ttmem.collector.rings import PLACES, STEPS, Ring, step_for
from ttmem.devices import Pool
from ttmem.snapshot.counters import ReadChip
from ttmem.snapshot.history import History, Series
from ttmem.snapshot.values import TimeNs

__all__ = ["Course"]

_SECOND_NS = 1_000_000_000
_KEPT_SECONDS = PLACES * STEPS[-1]
_CHIPS_MOST = 256  # strangers may name devices by the thousand
_NEVER = (Pool.CB,)  # those of several programs lie over each other: their sum is nothing that was ever used
_ALWAYS = (Pool.DRAM, Pool.L1)  # of a chip that is looked at: known to be 0 until something is there

_Chip = int | str  # by its unique id, or by its name


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
        self._chips: dict[_Chip, dict[Pool, Ring]] = {}
        self._happenings = Happenings()
        self._second = 0  # of the last sample; 0 before the first

    def look(self) -> None:
        """Takes a sample if it is time; cheap if it is not."""
        if self._clock_ns() // _SECOND_NS == self._second:
            return
        with self._lock:
            second = self._clock_ns() // _SECOND_NS
            if second != self._second:
                self._take(second)

    def history(self, seconds: int) -> History:
        """The last so many seconds in at most `PLACES` samples; each is the highest of those it stands for."""
        self.look()
        with self._lock:
            span = max(1, min(_KEPT_SECONDS, seconds))
            step = step_for(span)
            count = -(-span // step)
            last = self._second // step
            end_ns = (last + 1) * step * _SECOND_NS
            begin_ns = end_ns - count * step * _SECOND_NS
            return History(
                end_ns=TimeNs(end_ns),
                interval_ns=TimeNs(step * _SECOND_NS),
                series=tuple(
                    _series(pool, ring, ring.samples(step, last, count))
                    for rings in self._chips.values()
                    for pool, ring in rings.items()
                    if ring.last_second * _SECOND_NS >= begin_ns
                ),
                marks=self._happenings.since(begin_ns),
            )

    def _take(self, second: int) -> None:
        self._make_room(second)
        _, chips, processes, happenings = self._sample()
        for number, unique_id, name, pools in chips:
            rings = self._rings_of(unique_id if unique_id is not None else name)
            if rings is not None:
                _put_counted(rings, second, number, unique_id, pools)
        for chip in self._read():
            rings = self._rings_of(chip.unique_id) if chip.unique_id is not None else None
            if rings is not None:
                _put_read(rings, second, chip)
        self._happenings.take(processes, happenings)
        self._second = second

    def _rings_of(self, chip: _Chip) -> dict[Pool, Ring] | None:
        """The rings of a chip; None for one too many."""
        if chip not in self._chips and len(self._chips) < _CHIPS_MOST:
            self._chips[chip] = {}
        return self._chips.get(chip)

    def _make_room(self, second: int) -> None:
        """Empties the places since the last sample, and drops chips that have no sample left."""
        if second < self._second:  # the clock was set back: what was cannot be told from what will be
            self._chips.clear()
        gone = [
            chip
            for chip, rings in self._chips.items()
            if all(second - ring.last_second >= _KEPT_SECONDS for ring in rings.values())
        ]
        for chip in gone:
            del self._chips[chip]
        for rings in self._chips.values():
            for ring in rings.values():
                ring.empty(self._second, second)


def _put_counted(
    rings: dict[Pool, Ring], second: int, number: int, unique_id: int | None, pools: Sequence[Sequence[int]]
) -> None:
    """What was counted of a chip; a pool of which nothing is told holds nothing."""
    told = {Pool.numbered(pool): (highest, capacity) for pool, _, highest, capacity in pools if pool != Pool.CB.number}
    for pool in (*_ALWAYS, *told):
        if pool not in rings:
            known = rings.get(_ALWAYS[0])
            rings[pool] = known.zeros(number, unique_id) if known else Ring(number, unique_id)
    for pool, ring in rings.items():
        highest, capacity = told.get(pool, (0, 0))
        ring.device = number
        ring.origin = "counted"
        ring.capacity_bytes = capacity or ring.capacity_bytes
        ring.put(second, highest)


def _put_read(rings: dict[Pool, Ring], second: int, chip: ReadChip) -> None:
    """What the runtime's counters say, where nothing was counted: the two are never added up."""
    for pool, used_bytes in chip.used.items():
        if pool in _NEVER:
            continue
        ring = rings.get(pool)
        if ring is None:
            ring = rings[pool] = Ring(-1, chip.unique_id)
        elif ring.last_second == second and ring.origin == "counted" and ring.samples(1, second, 1) != (0,):
            continue
        ring.origin = "read"
        ring.put(second, used_bytes)


def _series(pool: Pool, ring: Ring, samples: tuple[int | None, ...]) -> Series:
    uuid = None if ring.unique_id is None else f"0x{ring.unique_id:016x}"
    return Series(ring.device, uuid, pool, ring.capacity_bytes, samples, ring.origin)
