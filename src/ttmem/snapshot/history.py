"""What was used when: samples of every chip and pool on one grid of time, and what happened meanwhile."""

from collections.abc import Iterable
from typing import Literal

from ttmem.devices import Pool
from ttmem.snapshot.usage import Origin
from ttmem.snapshot.values import Answer, ChipName, Count, Number, Struct, TimeNs

__all__ = ["SPANS_SECONDS", "History", "LaunchSeries", "Mark", "MarkKind", "ProcessRates", "Series"]

SPANS_SECONDS = (60, 300, 3600)  # that a monitor offers

MarkKind = Literal["phase_began", "phase_ended", "out_of_memory", "clash", "process_began", "process_ended"]


class Series(Struct, frozen=True):
    """One pool of one chip. A sample is the highest use within its interval, however short it lasted, as the events
    say. Where there are no events it is the highest of what counters said when they were read: those of the runtime
    (`origin`), or of a process that reports faster than it can be followed. None where nothing was read."""

    device: Number  # Device.number; -1 for a chip known by the runtime's counters alone
    uuid: str | None
    pool: Pool
    capacity_bytes: Count | None
    samples: tuple[Count | None, ...]  # oldest first; the last one ends at `History.end_ns`
    origin: Origin = "counted"

    @property
    def latest_bytes(self) -> int | None:
        """The newest sample; None if nothing was read then."""
        return self.samples[-1] if self.samples else None

    @property
    def highest_bytes(self) -> int | None:
        """The highest of all that is known."""
        return max((sample for sample in self.samples if sample is not None), default=None)


class Mark(Struct, frozen=True):
    """Something that happened at one moment."""

    time_ns: TimeNs
    what: MarkKind
    text: str  # the name of the phase; else what the process is called
    pid: Count | None = None
    device: Number | None = None  # Device.number; None: it is not about one chip
    pool: Pool | None = None  # of an allocation that was refused
    size_bytes: Count | None = None  # likewise; of several, the largest
    count: Count = 1  # of refusals that followed each other within a second


class LaunchSeries(Struct, frozen=True):
    """Launches of one chip, second by second, of at most the last five minutes."""

    device: Number  # Device.number
    uuid: str | None
    samples: tuple[Count | None, ...]  # programs started per second, oldest first; None where that is not known
    launched_time_ns: TimeNs | None = None  # of the newest launch that was seen; None if none was


class ProcessRates(Struct, frozen=True, kw_only=True):
    """What a living process does per second, and what it takes of the host."""

    key: Number  # ProcessUsage.key
    pid: Count
    launches_per_second: Count | None  # on all its chips: of a mesh, one on each
    launched_time_ns: TimeNs | None  # of the newest launch that was seen; None if none was
    host_cpu_share: float | None  # of one core, as `top` shows it; None if it may not be seen
    host_memory_bytes: Count | None  # resident
    growth_bytes: Number | None  # DRAM it holds now, less what it held a minute ago (0 before it began to report)


class History(Answer, frozen=True, kw_only=True):
    """A stretch of time up to now."""

    end_ns: TimeNs
    interval_ns: TimeNs  # between two samples
    series: tuple[Series, ...]
    marks: tuple[Mark, ...]  # oldest first
    fullest_cores: tuple[Series, ...] = ()  # by chip: `DeviceUsage.fullest_core_bytes` when samples were taken, highest
    launches: tuple[LaunchSeries, ...] = ()  # of every chip
    processes: tuple[ProcessRates, ...] = ()  # of those that live

    @property
    def begin_ns(self) -> int:
        """Where the oldest sample begins."""
        count = max((len(series.samples) for series in self.series), default=0)
        return self.end_ns - count * self.interval_ns

    def of(self, device: ChipName, pool: Pool) -> Series | None:
        """That of a chip's pool: by its unique id, or by its number if it has none."""
        return _of_chip((one for one in self.series if one.pool is pool), device)

    def fullest_core_of(self, device: ChipName) -> Series | None:
        """How full L1 of a chip was: its fullest core, of what a core has (`capacity_bytes`)."""
        return _of_chip(self.fullest_cores, device)


def _of_chip(series: Iterable[Series], device: ChipName) -> Series | None:
    chip = device.uuid or device.number
    return next((one for one in series if (one.uuid or one.device) == chip), None)
