"""The phases of a process as its page lists them: those that ended in the order in which they came, then those that are
open: that run, or in which the process died.

The peak of a phase is told when it ends. Of an open one it is known all the same if the process's own peak came after
the phase began; else it was at least what is held now.
"""

import math
from collections.abc import Sequence

from ttmem.devices import PLANNED_POOLS
from ttmem.snapshot.device import ChipName
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.snapshot.programs import OpenPhase, PhasePeak
from ttmem.snapshot.usage import PoolUsage
from ttmem.snapshot.values import ChipId, TimeNs, replace
from ttmem.view.pages.summary import grouped
from ttmem.view.units import clock_text

__all__ = ["NOWHERE", "OPEN_RUNS", "phase_groups"]

NOWHERE = ChipName(-1, ChipId(0), None, False, "")  # stands for any chip when things are compared
OPEN_RUNS = -1  # instead of how often a phase ended


def phase_groups(detail: ProcessDetail) -> Sequence[Sequence[PhasePeak]]:
    """Peaks that are the same on several chips together."""
    ended = _in_time([phase for phase in detail.process.phases if phase.pool not in PLANNED_POOLS])
    still_open = [peak for phase in detail.process.open_phases for peak in _peaks_so_far(phase, detail)]
    return [
        *grouped(ended, lambda phase: replace(phase, device=NOWHERE, time_ns=None)),
        *grouped(still_open, lambda phase: replace(phase, device=NOWHERE, time_ns=None)),
    ]


def _in_time(phases: list[PhasePeak]) -> list[PhasePeak]:
    """Phases as they came: by when each was first at a peak."""
    first: dict[str, float] = {}
    for phase in phases:
        time_ns = math.inf if phase.time_ns is None else phase.time_ns
        first[phase.name] = min(time_ns, first.get(phase.name, math.inf))
    return sorted(phases, key=lambda phase: first[phase.name])


def _peaks_so_far(phase: OpenPhase, detail: ProcessDetail) -> list[PhasePeak]:
    """Of every pool that is, or was, used since it began; one row that tells of none if there is no such pool."""
    times = f" {phase.open_count}x" if phase.open_count > 1 else ""
    name = f"{phase.name}{times} since {clock_text(phase.since_ns)}"
    found = [
        PhasePeak(name, held.device, pool.pool, *figures)
        for held in detail.process.devices
        for pool in held.pools
        if pool.pool not in PLANNED_POOLS and (figures := _so_far(pool, phase))
    ]
    return found or [PhasePeak(name, NOWHERE, min(PLANNED_POOLS), 0, None, OPEN_RUNS)]


def _so_far(pool: PoolUsage, phase: OpenPhase) -> tuple[int, TimeNs | None, int, bool] | None:
    """Peak, when, runs, and whether it is a lower bound."""
    if phase.since_ns is not None and pool.peak_time_ns is not None and pool.peak_time_ns >= phase.since_ns:
        return pool.peak_bytes, pool.peak_time_ns, OPEN_RUNS, pool.is_lower_bound
    return (pool.used_bytes, None, OPEN_RUNS, True) if pool.used_bytes else None
