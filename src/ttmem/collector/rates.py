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
        self.rates: deque[int | None] = deque([None] * _SAMPLES, maxlen=_SAMPLES)  # per second, up to the last one

    def take(self, second: int, time_ns: int, count: int | None) -> None:
        rate = None
        before, elapsed_ns = self.count, time_ns - self.time_ns
        if count is not None and before is not None and count >= before and elapsed_ns > 0:
            rate = round((count - before) * 1e9 / elapsed_ns)
            if count > before:
                self.launched_ns = time_ns
        self.let_pass(second - 1)
        self.count, self.time_ns, self.last_second = count, time_ns, second
        self.rates.append(rate)

    def let_pass(self, second: int) -> None:
        """Nothing is known of the seconds up to this one."""
        self.rates.extend([None] * min(_SAMPLES, max(0, second - self.last_second)))
        self.last_second = max(self.last_second, second)


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


class _KnownChip(NamedTuple):
    """What is remembered of one chip."""

    usage: DeviceUsage
    launches: _Launches
    second: int  # in which it was there


class RatesRecorder:
    """Takes what it is given each second, and makes rates of it once, for all who ask."""

    def __init__(self, stat: Callable[[int], Stat | None] = stat_of) -> None:
        self.launches: tuple[LaunchSeries, ...] = ()  # of every chip, all seconds that are remembered
        self.processes: tuple[ProcessRates, ...] = ()  # of every process that lives
        self._stat = stat
        self._chips: dict[int | str, _KnownChip] = {}
        self._processes: dict[tuple[int, int], _Process] = {}

    def take(self, second: int, snapshot: Snapshot) -> None:
        """The figures of a new second."""
        time_ns = int(snapshot.time_ns)
        for usage in snapshot.devices:
            name = usage.device.uuid or usage.device.number
            known = self._chips.get(name)
            if known is None and len(self._chips) >= _CHIPS_MOST:
                continue
            launches = known.launches if known else _Launches()
            launches.take(second, time_ns, usage.launch_count)
            self._chips[name] = _KnownChip(usage, launches, second)
        for row in snapshot.live[:_PROCESSES_MOST]:
            self._take_process(second, time_ns, row)
        self._chips = {name: one for name, one in self._chips.items() if second - one.second < _SAMPLES}
        self._processes = {key: one for key, one in self._processes.items() if one.last_second == second}
        for chip in self._chips.values():
            chip.launches.let_pass(second)
        self.launches = tuple(_series(chip) for chip in self._chips.values())
        self.processes = tuple(_rates(key, process) for (key, _), process in self._processes.items())

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

    def forget(self) -> None:
        """The clock was set back."""
        self._chips.clear()
        self._processes.clear()
        self.launches, self.processes = (), ()


def _series(chip: _KnownChip) -> LaunchSeries:
    device, launches = chip.usage.device, chip.launches
    return LaunchSeries(device.number, device.uuid, tuple(launches.rates), _time(launches.launched_ns))


def _rates(key: int, process: _Process) -> ProcessRates:
    held = process.held
    return ProcessRates(
        key=key,
        pid=process.pid,
        launches_per_second=process.launches.rates[-1],
        launched_time_ns=_time(process.launches.launched_ns),
        host_cpu_share=process.cpu_share,
        host_memory_bytes=process.host.stat.resident_pages * _PAGE_BYTES if process.host else None,
        growth_bytes=held[-1] if process.is_new else held[-1] - held[0] if len(held) > 1 else None,
    )


def _time(time_ns: int | None) -> TimeNs | None:
    return None if time_ns is None else TimeNs(time_ns)
