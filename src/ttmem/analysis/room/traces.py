"""Trace safety: buffers that were made while a captured trace could still be replayed.

A trace writes to addresses that were free when it was captured. A buffer that is allocated later may get them,
and is overwritten by the next replay, or makes it hang. Where the program reported what the trace writes, the overlap
itself was found: that is an incident.
"""

from ttmem.analysis.alive import AliveSum, ByWord
from ttmem.analysis.room.answers import RoomAnswer, RunTime
from ttmem.snapshot.values import ChipId, Count, Struct

__all__ = ["TraceLife", "TraceReport"]


class TraceLife(Struct, frozen=True, kw_only=True):
    """One trace, from its capture to its release."""

    process: str
    trace: Count
    chip_ids: tuple[ChipId, ...]
    size_bytes: Count  # what it takes on each chip
    captured: RunTime
    released: RunTime | None  # None: it was alive at the end
    replay_count: Count
    made_count: Count  # buffers that were made while it could be replayed
    made_bytes: Count  # on each chip
    replayed_over_count: Count  # of these, those that were alive at a replay
    replayed_over_bytes: Count
    sums: tuple[AliveSum, ...]  # of those that were alive at a replay, the largest first
    more_sum_count: Count


class TraceReport(RoomAnswer, frozen=True, kw_only=True):
    """Every trace of a run, and the replays that were seen to write into a live buffer."""

    by: tuple[ByWord, ...]
    traces: tuple[TraceLife, ...]
    overlap_incidents: tuple[str, ...]  # PID-N, as for `ttmem explain --incident`
