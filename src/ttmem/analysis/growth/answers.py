"""The answers of `ttmem report --leaks`, `--growth` and `--temporary`, as they are printed by `--json`.

Sizes are of each chip: what lies on a mesh counts once on each of its chips.
"""

from typing import Literal

from ttmem.devices import Pool
from ttmem.snapshot.values import Answer, ChipName, Count, Hex, Number, Struct, TimeNs

__all__ = [
    "GrownLine",
    "GrownPool",
    "GrowthReport",
    "HeldLine",
    "LeakReport",
    "RunSeries",
    "Survivor",
    "TemporaryLine",
    "TemporaryPool",
    "TemporaryReport",
]


class RunSeries(Struct, frozen=True, kw_only=True):
    """Runs that are alike: of one phase, or rounds of launches that repeat. They are compared at their ends."""

    process: str  # "pid 4711 (model.py)"
    name: str  # of the phase; "17 launches" of a round
    is_inferred: bool  # rounds of launches, because no phase ran often enough
    run_count: Count  # that ended, with warm-ups
    warmup_count: Count  # the first, left out
    unsure_count: Count  # left out because they ended while the process could not be followed
    runs: tuple[Count, ...]  # which were compared, from 1

    @property
    def is_unbroken(self) -> bool:
        """Whether no run was left out between the first compared one and the last."""
        return not self.runs or self.runs[-1] - self.runs[0] == len(self.runs) - 1


class Survivor(Struct, frozen=True, kw_only=True):
    """The first allocation that was made after the first compared run and is alive at the end of the last."""

    run: Count  # in which it was made
    began_ns: TimeNs
    since_start_ns: TimeNs  # since the first event of the recording
    id: Hex
    address: Hex
    size_bytes: Count
    thread: Count
    site: str  # the whole stack, the innermost line first
    operation: str
    tensor: str


class GrownLine(Struct, frozen=True, kw_only=True):
    """What one line of a program had alive in one pool at the end of each compared run."""

    process: str
    phase: str  # name of the series
    chips: tuple[ChipName, ...]
    pool: Pool
    kind: str
    line: str  # the line that asked and the one that called it; the operation where no line is known
    counts: tuple[Count, ...]
    sizes: tuple[Count, ...]  # bytes
    bytes_per_run: Number  # from the first compared run to the last, with those that were left out between
    first_survivor: Survivor | None


class GrownPool(Struct, frozen=True, kw_only=True):
    """What a process held in one pool at the end of each compared run."""

    process: str
    phase: str
    chips: tuple[ChipName, ...]
    pool: Pool
    sizes: tuple[Count, ...]
    bytes_per_run: Number


class HeldLine(Struct, frozen=True, kw_only=True):
    """What was never freed by the program itself."""

    process: str
    chips: tuple[ChipName, ...]
    pool: Pool
    kind: str
    line: str
    until: Literal["recording ended", "device closed", "process ended"]
    count: Count
    size_bytes: Count


class LeakReport(Answer, frozen=True, kw_only=True):
    """Lines whose live count rises with every compared run of a phase; beside them what was still held at the end."""

    path: str
    series: tuple[RunSeries, ...]
    leaks: tuple[GrownLine, ...]  # the most bytes per run first
    held: tuple[HeldLine, ...]  # the largest first; no leak by itself
    is_sure: bool  # False: `doubts` say why
    doubts: tuple[str, ...]


class GrowthReport(Answer, frozen=True, kw_only=True):
    """What changed between the first compared run of a phase and the last."""

    path: str
    series: tuple[RunSeries, ...]
    pools: tuple[GrownPool, ...]
    lines: tuple[GrownLine, ...]  # that changed, the largest change first
    is_sure: bool
    doubts: tuple[str, ...]


class TemporaryPool(Struct, frozen=True, kw_only=True):
    """How many allocations of a process in one pool were freed before their thread allocated there again."""

    process: str
    chips: tuple[ChipName, ...]
    pool: Pool
    count: Count  # all that began
    temporary_count: Count
    temporary_bytes: Count  # of all of them together, one after the other


class TemporaryLine(Struct, frozen=True, kw_only=True):
    """The same by line."""

    process: str
    chips: tuple[ChipName, ...]
    pool: Pool
    line: str
    count: Count
    temporary_count: Count
    temporary_bytes: Count
    largest_bytes: Count  # of one temporary allocation
    alive_ns: TimeNs  # how long temporary ones were alive, all together


class TemporaryReport(Answer, frozen=True, kw_only=True):
    """Allocations that were gone again at once: each is a trip to the allocator that a reused buffer would spare."""

    path: str
    pools: tuple[TemporaryPool, ...]
    lines: tuple[TemporaryLine, ...]  # those with temporary ones; the most bytes first
    is_sure: bool
    doubts: tuple[str, ...]
