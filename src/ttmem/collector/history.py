"""What was used when: the highest of every chip and pool in each second, for an hour, and what happened meanwhile.

A sample is taken by the first caller in a new second. That of a pool is the highest since the last one, as events say,
and costs the same however much is allocated. That of a chip's fullest core is what its row says at that moment: no
event says how the addresses of a core lie, and only rows that have changed are made again.

The samples of one pool of one chip, and those of its fullest core, are two rings:

    300 places of  1 s      place = second % 300
    300 places of 12 s      place = second // 12 % 300, the highest of its seconds

A place holds its sample plus one, and 0 where no sample was taken. A phase that runs repeatedly within a second is
one phase that goes on: else a loop would fill the hour with marks.

   field        who touches it
   _second      read by any thread, written under _lock
   all others   any thread that samples or asks; guarded by _lock
"""

import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ttmem.collector.rates import RatesRecorder
from ttmem.devices import Pool
from ttmem.snapshot.counters import ReadChip
from ttmem.snapshot.history import History, Mark, Series
from ttmem.snapshot.usage import DeviceUsage, Origin, Snapshot
from ttmem.snapshot.values import TimeNs, replace

__all__ = ["PLACES", "STEPS", "EventMarks", "HistoryRecorder", "Ring", "step_for"]

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
        """`count` samples up to the place of time `last`, which is counted in steps; oldest first."""
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


_STORED_MOST = 4096
_SHOWN_MOST = 1024  # at once
_PAUSE_NS = 1_000_000_000  # shorter ones between two runs of a phase are not reported

Rows = Iterable[Sequence[Any]]


class EventMarks:
    """Turns a ledger's sample into marks."""

    def __init__(self) -> None:
        self._marks: deque[Mark] = deque(maxlen=_STORED_MOST)
        self._is_live: dict[int, bool] = {}  # by the key of a process
        self._ended: dict[tuple[int, str], Mark] = {}  # phases that ended just now, by process and name
        self._running: dict[tuple[int, str], int] = {}  # how often a phase is open
        self._began: dict[tuple[int, str], Mark] = {}  # of those that are

    def take(self, processes: Rows, events: Rows) -> None:
        """Takes what is new; see `Ledger.sample` for the rows."""
        lives = list(processes)
        names = {key: (pid, label) for key, pid, label, *_ in lives}
        refused: dict[tuple[Any, ...], Mark] = {}
        for row in events:
            self._happened(row, names, refused)
        self._marks.extend(refused.values())
        known, self._is_live = self._is_live, {}
        for key, pid, label, is_live, started_ns, ended_ns in lives:
            if not pid:
                continue  # no process is known to have written that journal
            self._is_live[key] = is_live
            if key not in known and started_ns:
                self._marks.append(Mark(TimeNs(started_ns), "process_began", label, pid))
            if not is_live and known.get(key, True) and ended_ns:
                self._marks.append(Mark(TimeNs(ended_ns), "process_ended", label, pid))
                self._end_phases(key, ended_ns, pid)
        self._forget_ended()

    def since(self, time_ns: int) -> tuple[Mark, ...]:
        """All that happened then or later, oldest first, and when the phases began that still run."""
        shown = [mark for mark in (*self._marks, *self._ended.values()) if mark.time_ns >= time_ns]
        earlier = [mark for mark in self._began.values() if mark.time_ns < time_ns]
        return tuple(sorted((*earlier, *shown), key=lambda mark: mark.time_ns)[-_SHOWN_MOST:])

    def _happened(
        self, row: Sequence[Any], names: Mapping[int, tuple[int, str]], refused: dict[tuple[Any, ...], Mark]
    ) -> None:
        key, what, device, pool, figure, time_ns = row
        pid, label = names.get(key, (None, ""))
        if what == "phase_began":
            self._phase_began(key, str(figure), time_ns, pid)
        elif what == "phase_ended":
            self._phase_ended(key, str(figure), time_ns, pid)
        else:
            size = figure if what == "out_of_memory" else None
            mark = Mark(TimeNs(time_ns), what, label, pid, device, Pool.numbered(pool), size)
            before = refused.get((key, what, device, pool))
            refused[key, what, device, pool] = _together(before, mark) if before else mark

    def _phase_began(self, key: int, name: str, time_ns: int, pid: int | None) -> None:
        self._let_ended_go(time_ns)
        open_count = self._running.get((key, name), 0)
        self._running[key, name] = open_count + 1
        if self._ended.pop((key, name), None) is None and not open_count:
            self._began[key, name] = Mark(TimeNs(time_ns), "phase_began", name, pid)
            self._marks.append(self._began[key, name])

    def _phase_ended(self, key: int, name: str, time_ns: int, pid: int | None) -> None:
        open_count = self._running.pop((key, name), 1)
        if open_count > 1:
            self._running[key, name] = open_count - 1
            return
        self._ended[key, name] = Mark(TimeNs(time_ns), "phase_ended", name, pid)

    def _end_phases(self, key: int, time_ns: int, pid: int) -> None:
        """What ran in a process ends with it."""
        for owner, name in [of for of in self._running if of[0] == key]:
            del self._running[owner, name]
            self._began.pop((owner, name), None)
            self._marks.append(Mark(TimeNs(time_ns), "phase_ended", name, pid))

    def _forget_ended(self) -> None:
        """Processes that are no longer known have no phases; what was reported of them stays."""
        self._marks.extend(mark for of, mark in self._ended.items() if of[0] not in self._is_live)
        self._ended = {of: mark for of, mark in self._ended.items() if of[0] in self._is_live}
        self._began = {of: mark for of, mark in self._began.items() if of[0] in self._is_live}
        self._running = {of: count for of, count in self._running.items() if of[0] in self._is_live}

    def _let_ended_go(self, time_ns: int) -> None:
        """What ended long enough ago has ended."""
        over = [of for of, mark in self._ended.items() if time_ns - mark.time_ns > _PAUSE_NS]
        for of in sorted(over, key=lambda of: self._ended[of].time_ns):
            self._began.pop(of, None)
            self._marks.append(self._ended.pop(of))


def _together(first: Mark, other: Mark) -> Mark:
    """Refusals of one kind on one chip within a second: repeated tries are reported once."""
    size = max(first.size_bytes or 0, other.size_bytes or 0) or None
    return replace(first, size_bytes=size, count=first.count + other.count)


_SECOND_NS = 1_000_000_000
_HISTORY_SECONDS = PLACES * STEPS[-1]
_CHIPS_MOST = 256  # any process may name devices by the thousand
_NEVER = (Pool.CB,)  # those of several programs lie over each other: their sum is nothing that was ever used
_ALWAYS = (Pool.DRAM, Pool.L1)  # of a chip that is looked at: known to be 0 until something is there

_Chip = int | str  # by its unique id, or by its name


class HistoryRecorder:
    """Takes a sample of all chips whenever a new second has begun, and hands out histories."""

    def __init__(
        self,
        sample: Callable[[], tuple[Any, ...]],
        read: Callable[[], Iterable[ReadChip]],
        clock_ns: Callable[[], int],
        overview: Callable[[], Snapshot | None] = lambda: None,
        rates: RatesRecorder | None = None,
    ) -> None:
        self._sample = sample
        self._read = read
        self._overview = overview
        self._rates = rates or RatesRecorder()
        self._clock_ns = clock_ns
        self._lock = threading.Lock()
        self._chips: dict[_Chip, dict[Pool, Ring]] = {}
        self._fullest_cores: dict[_Chip, Ring] = {}
        self._events = EventMarks()
        self._second = 0  # of the last sample; 0 before the first

    def take_due(self) -> None:
        """Takes a sample if it is time; cheap if it is not."""
        if self._clock_ns() // _SECOND_NS == self._second:
            return
        with self._lock:
            second = self._clock_ns() // _SECOND_NS
            if second != self._second:
                self._take(second)

    def history(self, seconds: int) -> History:
        """The last `seconds` in at most `PLACES` samples; each is the highest of those it stands for."""
        self.take_due()
        with self._lock:
            span = max(1, min(_HISTORY_SECONDS, seconds))
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
                marks=self._events.since(begin_ns),
                fullest_cores=tuple(
                    _series(Pool.L1, ring, ring.samples(step, last, count))
                    for ring in self._fullest_cores.values()
                    if ring.last_second * _SECOND_NS >= begin_ns
                ),
                launches=tuple([replace(one, samples=one.samples[-span:]) for one in self._rates.launches]),
                processes=self._rates.processes,
            )

    def _take(self, second: int) -> None:
        self._make_room(second)
        _, chips, processes, events = self._sample()
        for number, unique_id, name, pools in chips:
            rings = self._rings_of(unique_id if unique_id is not None else name)
            if rings is not None:
                _put_counted(rings, second, number, unique_id, pools)
        for chip in self._read():
            rings = self._rings_of(chip.unique_id) if chip.unique_id is not None else None
            if rings is not None:
                _put_read(rings, second, chip)
        overview = self._overview()
        if overview is not None:
            for usage in overview.devices:
                self._put_fullest_core(second, usage)
            self._rates.take(second, overview)
        self._events.take(processes, events)
        self._second = second

    def _put_fullest_core(self, second: int, usage: DeviceUsage) -> None:
        device = usage.device
        unique_id = device.unique_id if device.is_known else None
        chip = device.name if unique_id is None else unique_id
        if usage.fullest_core_bytes is None or (
            chip not in self._fullest_cores and len(self._fullest_cores) >= _CHIPS_MOST
        ):
            return
        ring = self._fullest_cores.setdefault(chip, Ring(device.number, unique_id))
        ring.device = device.number
        ring.capacity_bytes = usage.core_bytes
        ring.put(second, usage.fullest_core_bytes)

    def _rings_of(self, chip: _Chip) -> dict[Pool, Ring] | None:
        """The rings of a chip; None for one too many."""
        if chip not in self._chips and len(self._chips) < _CHIPS_MOST:
            self._chips[chip] = {}
        return self._chips.get(chip)

    def _make_room(self, second: int) -> None:
        """Empties the places since the last sample, and drops chips that have no sample left."""
        if second < self._second:  # the clock was set back: past and future cannot be distinguished
            self._chips.clear()
            self._fullest_cores.clear()
            self._rates.forget()

        def has_samples(rings: Iterable[Ring]) -> bool:
            return any(second - ring.last_second < _HISTORY_SECONDS for ring in rings)

        self._chips = {chip: rings for chip, rings in self._chips.items() if has_samples(rings.values())}
        self._fullest_cores = {chip: ring for chip, ring in self._fullest_cores.items() if has_samples((ring,))}
        pools = (ring for rings in self._chips.values() for ring in rings.values())
        for ring in (*pools, *self._fullest_cores.values()):
            ring.empty(self._second, second)


def _put_counted(
    rings: dict[Pool, Ring], second: int, number: int, unique_id: int | None, pools: Sequence[Sequence[int]]
) -> None:
    """What was counted of a chip; a pool without a report holds nothing."""
    shown = {Pool.numbered(pool): (highest, capacity) for pool, _, highest, capacity in pools if pool != Pool.CB.number}
    for pool in (*_ALWAYS, *shown):
        if pool not in rings:
            known = rings.get(_ALWAYS[0])
            rings[pool] = known.zeros(number, unique_id) if known else Ring(number, unique_id)
    for pool, ring in rings.items():
        highest, capacity = shown.get(pool, (0, 0))
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
