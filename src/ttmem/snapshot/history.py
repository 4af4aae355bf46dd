"""What was used when: samples of every chip and pool on one grid of time, and what happened meanwhile."""

from typing import Literal

from ttmem.devices import Pool
from ttmem.snapshot.usage import Origin
from ttmem.snapshot.values import Answer, ChipName, Count, Number, Struct, TimeNs

__all__ = ["SPANS_SECONDS", "History", "Mark", "MarkKind", "Series"]

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


class History(Answer, frozen=True, kw_only=True):
    """A stretch of time up to now."""

    end_ns: TimeNs
    interval_ns: TimeNs  # between two samples
    series: tuple[Series, ...]
    marks: tuple[Mark, ...]  # oldest first

    @property
    def begin_ns(self) -> int:
        """Where the oldest sample begins."""
        count = max((len(series.samples) for series in self.series), default=0)
        return self.end_ns - count * self.interval_ns

    def of(self, device: ChipName, pool: Pool) -> Series | None:
        """That of a chip's pool: by its unique id, or by its number if it has none."""
        chip = device.uuid or device.number
        return next((one for one in self.series if one.pool is pool and (one.uuid or one.device) == chip), None)
