"""What was used when: samples of every chip and pool on one grid of time, and what happened meanwhile."""

from dataclasses import dataclass
from typing import Literal

from ttmem.devices import Pool

__all__ = ["History", "Mark", "Series"]


@dataclass(frozen=True, slots=True)
class Series:
    """One pool of one chip. A sample is the highest use within its interval; None where nobody looked."""

    device: int  # Device.number
    uuid: str | None
    pool: Pool
    capacity_bytes: int | None
    samples: tuple[int | None, ...]  # oldest first; the last one ends at `History.end_ns`


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at one moment."""

    time_ns: int
    what: Literal["phase", "out_of_memory", "clash", "process_began", "process_ended"]
    text: str
    pid: int | None = None
    device: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A stretch of time up to now."""

    end_ns: int
    interval_ns: int  # between two samples
    series: tuple[Series, ...]
    marks: tuple[Mark, ...]  # oldest first
