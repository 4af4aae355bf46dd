"""What `ttmem report` says on one page: peaks, cores, room, holes, programs, incidents, advice."""

from ttmem.analysis.alive import AliveSum, RecordingReport
from ttmem.analysis.growth import GrownLine, RunSeries
from ttmem.analysis.room.advice import Advice
from ttmem.analysis.room.answers import RunTime
from ttmem.analysis.room.cores import CoreHighest
from ttmem.analysis.room.floor import ChipRoom
from ttmem.analysis.room.holes import PoolHoles
from ttmem.snapshot.incidents import IncidentKind
from ttmem.snapshot.values import ChipName, Count, Struct

__all__ = ["CachedPrograms", "IncidentLine", "RecordedPage"]


class IncidentLine(Struct, frozen=True, kw_only=True):
    """An incident in short; its story: `ttmem explain RECORDING --incident NAME`."""

    name: str  # PID-N
    kind: IncidentKind
    memory: str
    when: RunTime
    chip_ids: tuple[str, ...]
    requested_bytes: Count | None
    largest_free_bytes: Count | None
    repeat_count: Count
    site: str  # who asked; empty: not known


class CachedPrograms(Struct, frozen=True, kw_only=True):
    """Programs that a process compiled over the run: a cache that still grows at its end may never stop."""

    process: str
    made_count: Count
    last_quarter_count: Count  # of these, those that were made in the last quarter of the recording
    size_bytes: Count  # of all of them, in DRAM of each chip
    sums: tuple[AliveSum, ...]  # by operation, the most programs first
    more_sum_count: Count


class RecordedPage(RecordingReport, frozen=True, kw_only=True):
    """All of it. Each list has its largest only; single answers of `ttmem report` have more."""

    is_whole: bool  # False: of so many events what has to go through all of them is left out
    chips: tuple[ChipName, ...]
    boards: tuple[str, ...]
    cores: tuple[CoreHighest, ...]
    incidents: tuple[IncidentLine, ...]
    room: tuple[ChipRoom, ...] = ()  # of launches, without its course
    holes: tuple[PoolHoles, ...] = ()  # the worst instants, without their course
    compared: tuple[RunSeries, ...] = ()  # runs that are alike, and were compared at their ends
    leaks: tuple[GrownLine, ...] = ()  # lines alive more often after every such run, the most bytes first
    programs: tuple[CachedPrograms, ...] = ()
    advice: tuple[Advice, ...] = ()
