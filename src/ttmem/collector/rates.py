"""What happens per second: launches of every chip and process, and what each process takes of the host.

Taken with the samples of the history, once a second, under its lock. A rate is the difference of two counts over the
time between them; where a count fell (a process ended) it is not known for that second.
"""

import os
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.snapshot.history import LaunchSeries, ProcessRates
from ttmem.snapshot.usage import DeviceUsage, ProcessUsage, Snapshot
from ttmem.snapshot.values import TimeNs
from ttmem.sources.procfs import Stat, stat_of

__all__ = ["RatesRecorder"]

_SAMPLES = 300  # seconds of launches that are kept
GROWTH_SECONDS = 60
_LEAST_SECONDS = 0.5  # between two looks at a process's CPU time
_CHIPS_MOST, _PROCESSES_MOST = 256, 4096
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class _Launches:
    """Launches of one chip or process, second by second."""

    __slots__ = ("count", "last_second", "launched_ns", "rates", "time_ns")

    def __init__(self) -> None:
        self.count: int | None = None
        self.time_ns = 0
        self.last_second = 0
        self.launched_ns: int | None = None
        self.rates: deque[tuple[int, int | None]] = deque(maxlen=_SAMPLES)  # second, launches per second

    def take(self, second: int, time_ns: int, count: int | None) -> None:
        rate = None
        before, elapsed_ns = self.count, time_ns - self.time_ns
        if count is not None and before is not None and count >= before and elapsed_ns > 0:
            rate = round((count - before) * 1e9 / elapsed_ns)
            if count > before:
                self.launched_ns = time_ns
        self.count, self.time_ns, self.last_second = count, time_ns, second
        self.rates.append((second, rate))

    @property
    def newest(self) -> int | None:
        return self.rates[-1][1] if self.rates else None

    def samples(self, last: int, count: int) -> tuple[int | None, ...]:
        known = dict(self.rates)
        return tuple([known.get(second) for second in range(last - count + 1, last + 1)])


class _Host(NamedTuple):
    """What a process took of the host, when it was looked at."""

    time_ns: int
    stat: Stat


class _Process:
    """What is remembered of one process."""

    __slots__ = ("cpu_share", "held", "host", "is_new", "last_second", "launches", "pid")

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.last_second = 0
        self.launches = _Launches()
        self.held: deque[int] = deque(maxlen=GROWTH_SECONDS + 1)  # DRAM, second by second
        self.is_new = False  # it began to report within that time, and held nothing before
        self.host: _Host | None = None
        self.cpu_share: float | None = None


class RatesRecorder:
    """Takes what it is given each second, and hands out rates."""

    def __init__(self, stat: Callable[[int], Stat | None] = stat_of) -> None:
        self._stat = stat
        self._chips: dict[int | str, tuple[DeviceUsage, _Launches]] = {}
        self._processes: dict[tuple[int, int], _Process] = {}

    def take(self, second: int, snapshot: Snapshot) -> None:
        """The figures of a new second."""
        time_ns = int(snapshot.time_ns)
        for usage in snapshot.devices:
            known = self._chips.get(usage.device.uuid or usage.device.number)
            if known is None and len(self._chips) >= _CHIPS_MOST:
                continue
            launches = known[1] if known else _Launches()
            launches.take(second, time_ns, usage.launch_count)
            self._chips[usage.device.uuid or usage.device.number] = (usage, launches)
        for row in snapshot.live[:_PROCESSES_MOST]:
            self._take_process(second, time_ns, row)
        self._chips = {name: one for name, one in self._chips.items() if second - one[1].last_second < _SAMPLES}
        self._processes = {key: one for key, one in self._processes.items() if one.last_second == second}

    def _take_process(self, second: int, time_ns: int, row: ProcessUsage) -> None:
        name = row.key, row.pid
        process = self._processes.get(name) or _Process(row.pid)
        self._processes[name] = process
        process.last_second = second
        process.launches.take(second, time_ns, row.launch_count)
        process.held.append(row.used_bytes(Pool.DRAM) or 0)
        process.is_new = row.start_time_ns is not None and time_ns - row.start_time_ns < GROWTH_SECONDS * 10**9
        self._look_at_host(process, time_ns, row)

    def _look_at_host(self, process: _Process, time_ns: int, row: ProcessUsage) -> None:
        stat = self._stat(row.pid) if row.pid and row.is_visible else None
        if stat is None or (row.start_ticks is not None and stat.start_ticks != row.start_ticks):
            process.host, process.cpu_share = None, None
            return
        before = process.host
        if before is None or before.stat.start_ticks != stat.start_ticks:
            process.host = _Host(time_ns, stat)
            return
        seconds = (time_ns - before.time_ns) / 1e9
        if seconds >= _LEAST_SECONDS:
            process.cpu_share = max(0, stat.cpu_ticks - before.stat.cpu_ticks) / _TICKS_PER_SECOND / seconds
            process.host = _Host(time_ns, stat)

    def launches(self, last: int, count: int) -> tuple[LaunchSeries, ...]:
        """Of every chip: the last `count` seconds up to `last`."""
        return tuple(
            LaunchSeries(usage.device.number, usage.device.uuid, found.samples(last, count), _time(found.launched_ns))
            for usage, found in self._chips.values()
        )

    def processes(self) -> tuple[ProcessRates, ...]:
        """Of every process that lives."""
        return tuple(_rates(key, process) for (key, _), process in self._processes.items())

    def forget(self) -> None:
        """The clock was set back."""
        self._chips.clear()
        self._processes.clear()


def _rates(key: int, process: _Process) -> ProcessRates:
    held = process.held
    return ProcessRates(
        key=key,
        pid=process.pid,
        launches_per_second=process.launches.newest,
        launched_time_ns=_time(process.launches.launched_ns),
        host_cpu_share=process.cpu_share,
        host_memory_bytes=process.host.stat.resident_pages * _PAGE_BYTES if process.host else None,
        growth_bytes=held[-1] if process.is_new else held[-1] - held[0] if len(held) > 1 else None,
    )


def _time(time_ns: int | None) -> TimeNs | None:
    return None if time_ns is None else TimeNs(time_ns)
