"""What was read from the stock runtime's own counters, before it is joined with what was counted.

Sizes are bytes by pool as the runtime sums them up: those of tensors, not what banks give up. Processes that have ended
are left out of everything but `stale`.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.snapshot.host import Finding, Foreign

__all__ = ["NO_READINGS", "ReadChip", "ReadProcess", "Readings"]

Sizes = Mapping[Pool, int]


class ReadProcess(NamedTuple):
    """A living process on one chip."""

    pid: int
    uid: int
    command: str
    container: int | None
    start_time_ns: int
    last_update_ns: int | None  # None: attached, and not one byte was ever counted
    used: Sizes


class ReadChip(NamedTuple):
    """One chip, by one region."""

    unique_id: int | None  # None: its region is named by something else
    name: str
    device_index: int  # in the process that made the region
    path: str
    used: Sizes  # by all that live, named or not
    stale: Sizes  # still in the region, of processes that have ended
    processes: tuple[ReadProcess, ...]


class Readings(NamedTuple):
    """All regions at one instant."""

    time_ns: int = 0
    places: tuple[str, ...] = ()  # that hold any
    chips: tuple[ReadChip, ...] = ()
    foreign: tuple[Foreign, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def pids(self) -> frozenset[int]:
        """Of all processes that they count."""
        return frozenset(process.pid for chip in self.chips for process in chip.processes)


NO_READINGS = Readings()
