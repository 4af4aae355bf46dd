"""`ttmem report --trace-safety`: what was allocated while a captured trace could be replayed."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ttmem.analysis.alive import AliveSum, ByWord
from ttmem.analysis.room.traces import TraceLife, TraceReport
from ttmem.devices import BANKED_POOLS, Kind
from ttmem.figures.recorded import process_word
from ttmem.figures.room.run import LifeNames, RoomRun, says_damage
from ttmem.recording import Batch, EventKind, LifeEvent, LifeFlag, Lives
from ttmem.snapshot.values import ChipId

__all__ = ["trace_report"]

_BANKED = frozenset(pool.number for pool in BANKED_POOLS)
_KINDS = (EventKind.TRACE_CAPTURED, EventKind.TRACE_REPLAYED, EventKind.TRACE_RELEASED, EventKind.TARGET_CLOSED)


class _Made(NamedTuple):
    """A buffer that was made while a trace could be replayed."""

    begin: int  # sequence
    end: int  # 0: it was alive at the end
    size_bytes: int
    key: tuple[int, ...]  # of its name


@dataclass
class _Trace:
    """What is known of a trace so far; sequences order what one process did."""

    captured: LifeEvent
    released: LifeEvent | None = None
    replays: list[int] = field(default_factory=list)  # sequences
    made: list[_Made] = field(default_factory=list)

    def takes(self, process: int, target: int, begin: int) -> bool:
        """Whether what began then on that device did so while the trace could be replayed."""
        its = self.captured
        is_after = (process, target) == (its.process, its.target) and its.sequence < begin
        return is_after and (self.released is None or begin < self.released.sequence)

    def is_replayed_over(self, made: _Made) -> bool:
        """Whether it was alive at a replay."""
        at = bisect_right(self.replays, made.begin)
        return at < len(self.replays) and (not made.end or self.replays[at] < made.end)


@says_damage
def trace_report(run: RoomRun, *, by: Sequence[ByWord], most: int) -> TraceReport:
    """Every trace that was captured."""
    reader = run.lives(events=_KINDS)
    named = LifeNames(reader, by)
    traces: list[_Trace] = []
    alive: dict[tuple[int, int, int], _Trace] = {}
    for batch in reader.batches():
        for event in batch.event_rows():
            _note(event, traces, alive)
        if traces:
            _take(batch, traces, named)
    meant = [trace for trace in traces if set(trace.captured.chips) & set(run.usages)]
    return TraceReport(
        path=str(run.recording.path),
        certainty="inferred",
        why="a buffer made while a trace could be replayed may lie where the trace writes; "
        "that it does is known of incidents only",
        by=tuple(by),
        traces=tuple(_life(run, reader, trace, named, most) for trace in meant),
        overlap_incidents=tuple(
            f"{process.pid}-{one.number}" for process, one in run.incidents if one.kind == "unsafe_replay"
        ),
    )


def _take(batch: Batch, traces: list[_Trace], named: LifeNames) -> None:
    """A life comes in or after the batch of the trace that was captured before it began."""
    columns = batch.lives
    pools, kinds, flags, sizes = (columns[name] for name in ("pool", "kind", "flags", "bytes"))
    processes, targets = columns["process"], columns["target"]
    begins, ends = columns["begin_sequence"], columns["end_sequence"]
    for at in range(batch.life_count):
        if pools[at] not in _BANKED or kinds[at] != Kind.BUFFER.number or not sizes[at]:
            continue
        if flags[at] & (LifeFlag.IS_VIEW | LifeFlag.IS_PART):
            continue
        for trace in traces:
            if trace.takes(processes[at], targets[at], begins[at]):
                trace.made.append(_Made(begins[at], ends[at], sizes[at], named.key(batch, at)))


def _note(event: LifeEvent, traces: list[_Trace], alive: dict[tuple[int, int, int], _Trace]) -> None:
    name = (event.process, event.target, event.id)
    if event.kind is EventKind.TRACE_CAPTURED:
        alive[name] = _Trace(event)
        traces.append(alive[name])
    elif event.kind is EventKind.TARGET_CLOSED:
        for one in [one for one in alive if one[:2] == name[:2]]:
            alive.pop(one).released = event
    elif name in alive and event.kind is EventKind.TRACE_RELEASED:
        alive.pop(name).released = event
    elif name in alive:
        alive[name].replays.append(event.sequence)


def _life(run: RoomRun, reader: Lives, trace: _Trace, named: LifeNames, most: int) -> TraceLife:
    made = [one for one in trace.made if trace.takes(trace.captured.process, trace.captured.target, one.begin)]
    over = [one for one in made if trace.is_replayed_over(one)]
    sums: dict[tuple[str, ...], list[int]] = {}
    for one in over:
        figures = sums.setdefault(named.names(one.key), [0, 0])
        figures[0] += one.size_bytes
        figures[1] += 1
    found = sorted((AliveSum(names, *figures) for names, figures in sums.items()), key=lambda one: -one.size_bytes)
    process = reader.processes[trace.captured.process]
    return TraceLife(
        process=process_word(process.pid, process.label or process.command),
        trace=trace.captured.id,
        chip_ids=tuple(map(ChipId, trace.captured.chips)),
        size_bytes=trace.captured.value,
        captured=run.when(trace.captured.time_ns),
        released=run.when(trace.released.time_ns) if trace.released else None,
        replay_count=len(trace.replays),
        made_count=len(made),
        made_bytes=sum(one.size_bytes for one in made),
        replayed_over_count=len(over),
        replayed_over_bytes=sum(one.size_bytes for one in over),
        sums=tuple(found[: most or None]),
        more_sum_count=max(0, len(found) - most) if most else 0,
    )
