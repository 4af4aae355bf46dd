"""Snapshots of a ledger, one after the other. A chip or process keeps its object while the ledger's version of it does.

This is the one cache between the ledger and the faces: DESIGN 12, "full snapshot, 16 x 32 <= 3 ms" and "monitor
<= 1.5 % of a core", which skips what is the same object. Without it the snapshots are equal.

   field                     who touches it
   _chips, _processes        any thread that looks; replaced as a whole, under _lock
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ttmem._native import Ledger
from ttmem.collector.rows.structs import (
    chip_from_row,
    details_from_row,
    incident_from_row,
    kinds_from_rows,
    name_from_row,
    pools_from_rows,
    time_ns,
)
from ttmem.collector.rows.sums import without_details
from ttmem.devices import Pool
from ttmem.snapshot.host import Finding, Foreign, Host
from ttmem.snapshot.usage import DeviceUsage, ProcessUsage, Snapshot
from ttmem.snapshot.values import ChipName, TimeNs, replace
from ttmem.sources import procfs
from ttmem.sources.procfs import WorkloadOf, no_workload

__all__ = [
    "Details",
    "ParentOf",
    "SnapshotContext",
    "Snapshots",
    "chip_findings",
    "chip_name",
    "explained",
    "no_parent",
    "overlap_text",
]

Details = Iterable[int] | Literal["all"] | None  # processes whose details are wanted, by their keys
# pid and start (nanoseconds since 1970) of a process that can be seen from here -> its parent's pid
ParentOf = Callable[[int, int | None], int | None]


def no_parent(pid: int, start_time_ns: int | None) -> int | None:
    """Where the kernel is not asked whose child a process is."""
    return None


class SnapshotContext(NamedTuple):
    """What a snapshot says besides the ledger's figures."""

    source: str
    places: tuple[str, ...]
    host: Host
    user_of: Callable[[int], str]
    pid_namespace: int | None = None
    foreign: tuple[Foreign, ...] = ()
    findings: tuple[Finding, ...] = ()
    parent_of: ParentOf = no_parent
    workload_of: WorkloadOf = no_workload

    def container_of(self, namespace: int | None) -> int | None:
        """The pid namespace of a process, if that is another than ours."""
        return namespace if namespace and self.pid_namespace and namespace != self.pid_namespace else None


class _Chip(NamedTuple):
    version: int
    usage: DeviceUsage
    name: ChipName
    contradiction: Sequence[Any] | None


class Snapshots:
    """Makes snapshots of one ledger. Any thread may ask."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._chips: dict[int, _Chip] = {}
        self._processes: dict[tuple[int, bool], tuple[int, ProcessUsage]] = {}  # by key, and whether with details

    def snapshot(self, context: SnapshotContext, details: Details = "all") -> Snapshot:
        """Everything at this instant."""
        with self._lock:
            known, processes = self._chips, self._processes
        versions: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for (key, has_details), (version, _) in processes.items():
            versions[has_details][key] = version
        at, chip_rows, process_rows, unlisted, damaged = self._ledger.look(
            details, {number: chip.version for number, chip in known.items()}, *versions
        )
        chips = {number: _chip(version, row) if row else known[number] for number, version, row in chip_rows}
        names = {number: chip.name for number, chip in chips.items()}
        names |= {row[0]: name_from_row(row) for row in unlisted}
        found = dict(self._made(process_rows, processes, names, context, details))
        with self._lock:
            self._chips = chips
            self._processes = found | _of_others(processes, found)
        return _snapshot(at, chips, [usage for _, usage in found.values()], damaged, context)

    def _made(
        self,
        rows: Iterable[tuple[int, int, Sequence[Any] | None]],
        known: Mapping[tuple[int, bool], tuple[int, ProcessUsage]],
        names: Mapping[int, ChipName],
        context: SnapshotContext,
        details: Details,
    ) -> Iterable[tuple[tuple[int, bool], tuple[int, ProcessUsage]]]:
        wanted = None if details == "all" else frozenset(details or ())
        for key, version, row in rows:
            name = (key, wanted is None or key in wanted)
            if row is not None:
                process = _process(row, names, context)
            else:
                process = known[name][1] if name in known else without_details(known[key, True][1])
            yield name, (version, _with_host_facts(process, context, is_new=row is not None))


def _of_others(
    before: Mapping[tuple[int, bool], tuple[int, ProcessUsage]], found: Mapping[tuple[int, bool], Any]
) -> dict[tuple[int, bool], tuple[int, ProcessUsage]]:
    """Of processes that are still there, what was made with details where these are without, and the reverse."""
    keys = {key for key, _ in found}
    return {name: one for name, one in before.items() if name not in found and name[0] in keys}


def _chip(version: int, row: Sequence[Any]) -> _Chip:
    usage = chip_from_row(row)
    return _Chip(version, usage, usage.device.as_name(), row[-1])


def _with_host_facts(process: ProcessUsage, context: SnapshotContext, *, is_new: bool) -> ProcessUsage:
    """With what only the kernel knows: its parent, which may change, and what it belongs to, which does not."""
    is_here = process.is_live and process.is_visible
    parent = context.parent_of(process.pid, process.start_time_ns) if is_here else None
    if is_new:
        return replace(process, parent_pid=parent, workload=context.workload_of(process))
    return process if process.parent_pid == parent else replace(process, parent_pid=parent)


def _process(row: Sequence[Any], names: Mapping[int, ChipName], context: SnapshotContext) -> ProcessUsage:
    (key, pid, claimed, source, uid, label, command, path, state, is_visible, namespace, origin, reason, *rest) = row
    (start, ticks, last, events, lost, skipped, untabled, live, threads, chips, pools, kinds, launches, *others) = rest
    planned, refusals, clashes, incidents, incident_count, sites_off, findings, overlaps, details = others
    return ProcessUsage(
        key=key,
        pid=pid,
        claimed_pid=claimed,
        source=source,
        uid=uid,
        user=context.user_of(uid),
        label=label,
        command=command,
        path=path,
        state=state,
        is_visible=is_visible,
        container=context.container_of(namespace),
        origin=origin,
        reason=reason,
        start_time_ns=time_ns(start),
        start_ticks=ticks,
        last_event_time_ns=time_ns(last),
        event_count=events,
        lost_record_count=lost,
        skipped_count=skipped,
        untabled_count=untabled,
        live_count=live,
        thread_count=threads,
        chips=chips,
        pools=pools_from_rows(pools),
        kinds=kinds_from_rows(kinds),
        launch_count=launches,
        cb_planned_bytes=planned,
        refusal_count=refusals,
        clash_count=clashes,
        incidents=tuple(incident_from_row(incident, names) for incident in incidents),
        incident_count=incident_count,
        sites_off=sites_off,
        findings=tuple(
            Finding(name, count, pid or None, path, overlap_text(overlaps, names) if name == "overlap" else "")
            for name, count in findings
        ),
        **(details_from_row(details, names) if details is not None else {}),
    )


def _snapshot(
    at: int,
    chips: Mapping[int, _Chip],
    processes: Sequence[ProcessUsage],
    damaged: Iterable[tuple[str, str]],
    context: SnapshotContext,
) -> Snapshot:
    doubts = (explained(finding, process.uid) for process in processes for finding in process.findings)
    of_chips = chip_findings((chip.usage, chip.contradiction) for chip in chips.values())
    return Snapshot(
        time_ns=TimeNs(at),
        source=context.source,
        places=context.places,
        host=context.host,
        devices=tuple(chip.usage for chip in chips.values()),
        processes=tuple(processes),
        foreign=context.foreign,
        findings=(
            *(Finding("damaged", 1, path=path, text=text) for path, text in damaged),
            *doubts,
            *of_chips,
            *context.findings,
        ),
    )


_OVERLAPS_NAMED = 3


def chip_findings(chips: Iterable[tuple[DeviceUsage, Sequence[Any] | None]]) -> Iterator[Finding]:
    """Those of all chips; first openers that contradict each other or the driver, by what the ledger says of that."""
    listed = tuple(chips)
    for usage, contradiction in listed:
        if contradiction is not None:
            count, what, believed_text, other_text, believed, other = contradiction
            first = "the driver" if believed is None else _opener(believed)
            text = f"{_opener(other)} says {what} {other_text}, {first} says {believed_text} and is believed"
            yield Finding("contradicted", count, path=other[2], text=f"{chip_name(usage.device)}: {text}")
    for usage, _ in listed:
        for pool in usage.pools if usage.doubt in ("over_capacity", "contradicted") else ():
            if not pool.is_planned and pool.used_bytes > (pool.capacity_bytes or pool.used_bytes):
                yield Finding("over_capacity", 1, text=_excess(usage, pool.pool, pool.used_bytes))
        fullest, has = usage.fullest_core_bytes, usage.core_bytes
        if fullest is not None and has is not None and fullest > has:
            text = f"{chip_name(usage.device)}: {fullest:,} bytes of its fullest core are reported, a core has {has:,}"
            yield Finding("over_capacity", 1, text=text)


def _opener(opener: Sequence[Any]) -> str:
    pid, uid, _ = opener
    return f"pid {'?' if pid is None else pid} (uid {'?' if uid is None else uid})"


def _excess(usage: DeviceUsage, pool: Pool, used_bytes: int) -> str:
    has = usage.device.capacity(pool) or 0
    return f"{chip_name(usage.device)}: {used_bytes:,} bytes of {pool.word} are reported, it has {has:,}"


def chip_name(device: ChipName) -> str:
    """How findings call a chip."""
    return f"device {device.index if device.index is not None else device.uuid or device.name}"


def explained(finding: Finding, uid: int) -> Finding:
    """A finding as it stands among those of all processes. That of an unverified journal names no pid: it says why."""
    if finding.name != "unverified":
        return finding
    return replace(
        finding,
        text=f"written by uid {uid}; no process is confirmed by the kernel as its writer, "
        "so its figures are listed under no pid and counted nowhere",
    )


def overlap_text(overlaps: Sequence[Sequence[Any]], names: Mapping[int, ChipName]) -> str:
    """Both owners of every overlap; a finding that is one sentence for each."""

    def chips(numbers: Iterable[int]) -> str:
        found = [names[number] for number in numbers]
        words = [str(chip.index) if chip.index is not None else chip.name for chip in found]
        return f"chip{'s' if len(words) > 1 else ''} {', '.join(words)}"

    def owner(rows: int, columns: int, numbers: Iterable[int]) -> str:
        return f"mesh {rows}x{columns} ({chips(numbers)})" if rows else f"{chips(numbers)} alone"

    sentences = [
        f"{owner(*first)} and {owner(*second)} both hold {size_bytes:,} bytes of {Pool.numbered(pool).word} "
        f"from {address:#x} on, on {chips(where)}: they overwrite each other"
        for pool, address, size_bytes, where, first, second in overlaps[:_OVERLAPS_NAMED]
    ]
    more = len(overlaps) - len(sentences)
    return "; ".join(sentences) + (f"; and {more} more" if more else "")


_PARENT_SECONDS = 5.0
_PARENTS_MOST = 4096


class Parents:
    """Remembers parents. Any thread may ask: at worst two ask the kernel for the same."""

    def __init__(self, proc: procfs.Folder = procfs.PROC, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._proc = proc
        self._clock = clock
        self._known: dict[tuple[int, int | None], tuple[float, int | None]] = {}  # until when, and who

    def parent_of(self, pid: int, start_time_ns: int | None) -> int | None:
        """The parent of a process of our own pid namespace; None if there is no such process any more."""
        now = self._clock()
        until, parent = self._known.get((pid, start_time_ns), (now, None))
        if until > now:
            return parent
        if len(self._known) >= _PARENTS_MOST:
            self._known = {}
        stat = procfs.stat_of(pid, self._proc)
        parent = stat.parent if stat is not None else None
        self._known[pid, start_time_ns] = now + _PARENT_SECONDS, parent
        return parent
