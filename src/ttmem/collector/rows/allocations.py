"""What is alive, allocation by allocation, from the ledger's rows: a dump, and one process close up."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ttmem.devices import POOL_TOTALS, BufferLayout, Kind, Pool
from ttmem.errors import SelectionError
from ttmem.snapshot.dump import (
    By,
    Dump,
    DumpDevice,
    DumpedAllocation,
    DumpGroup,
    DumpSum,
    Owner,
    PlacedPart,
    ProcessNote,
    Unlisted,
    owner_of,
)
from ttmem.snapshot.process_detail import Holding, ProcessDetail, SiteSum
from ttmem.snapshot.programs import OpenPhase
from ttmem.snapshot.selection import MOST, device_test, known_devices
from ttmem.snapshot.usage import DeviceUsage, KindUsage, PoolUsage, ProcessUsage, Snapshot
from ttmem.snapshot.values import Hex, TimeNs, replace
from ttmem.tracking import CoreType, FoundBy

__all__ = ["dump_of", "process_detail_of"]

_VIEW, _ESTIMATED = 1, 64  # flags of a row
_SUM_FRAMES = 2  # of a stack that distinguish lines
_OF_RUNTIME = (Kind.PROGRAM_BINARY, Kind.TRACE_BUFFER)
_KERNEL_POOLS = frozenset({Pool.KERNEL, Pool.ETH, Pool.DISPATCH})  # shown by type of kernel, not by place
_ORDER = (Pool.DRAM, Pool.L1, Pool.L1_SMALL, Pool.TRACE, Pool.CB, Pool.HOST, Pool.UNKNOWN)

Row = Sequence[Any]  # of `Ledger.allocations`


def process_detail_of(process: ProcessUsage, rows: Mapping[str, Any], *, time_ns: int) -> ProcessDetail:
    """Close up: what a snapshot says of a process, and its allocations by the rows of `Ledger.process()`, if any."""
    owner = owner_of(process)
    largest, oldest, sites = (rows.get(name, ()) for name in ("largest", "oldest", "sites"))
    return ProcessDetail(
        time_ns=TimeNs(time_ns),
        process=process,
        largest=tuple(Holding(row[0], allocation_from_row(row, owner)) for row in largest),
        oldest=tuple(Holding(row[0], allocation_from_row(row, owner)) for row in oldest),
        more_count=max(0, (process.live_count or 0) - len(largest)),
        sites=tuple(SiteSum(tuple(text.split("\n")), size, count) for text, size, count in sites),
        more_site_count=rows.get("site_count", 0) - len(sites),
    )


def dump_of(
    snapshot: Snapshot,
    allocations: Mapping[int, Iterable[Row]],
    *,
    kernels: bool = False,
    device: str | int | None = None,
    most: int = MOST,
    by: By = "",
) -> Dump:
    """What is alive, from a snapshot and the rows of `Ledger.allocations` by process key.

    `kernels` keeps kernels only, `device` one device (as `ps -i` names it), `most` cuts lists (0: not at all). `by`
    sums all rows that are handed in; kernels are summed by operation alone.
    """
    usages = _chosen(snapshot, None if device is None else str(device))
    rows = _sorted_out(snapshot, allocations, {usage.device.number for usage in usages})
    phases = {process.key: process.open_phases for process in snapshot.live} if by == "phase" else {}
    listing = _Listing(kernels, most, by, phases, _totals_of(snapshot))
    devices = (DumpDevice(usage.device, tuple(_groups(usage, rows, listing))) for usage in usages)
    return Dump(
        time_ns=snapshot.time_ns,
        source=snapshot.source,
        places=snapshot.places,
        is_kernels_only=kernels,
        process_count=len(snapshot.live),
        ended_count=len(snapshot.ended),
        devices=tuple(found for found in devices if found.groups),
        unlisted=tuple(Unlisted(owner_of(process), reason) for process in snapshot.live if (reason := _why(process))),
        notes=tuple(one.line for one in snapshot.findings if one.pid is None and one.name != "damaged"),
        by=by,
        process_notes=tuple(
            _note(process, snapshot) for process in snapshot.processes if process.was_refused or _has_no_lines(process)
        ),
    )


def _has_no_lines(process: ProcessUsage) -> bool:
    return process.is_live and bool(process.sites_off)


def _note(process: ProcessUsage, snapshot: Snapshot) -> ProcessNote:
    chips = {chip for incident in process.incidents for chip in incident.device_ids}
    return ProcessNote(
        owner=owner_of(process),
        is_ended=not process.is_live,
        incidents=process.incidents,
        incident_count=process.incident_count,
        refusal_count=process.refusal_count,
        clash_count=process.clash_count,
        sites_off=process.sites_off,
        devices=tuple(usage.device for usage in snapshot.devices if (usage.device.uuid or usage.device.name) in chips),
    )


def _chosen(snapshot: Snapshot, word: str | None) -> tuple[DeviceUsage, ...]:
    if word is None:
        return snapshot.devices
    is_meant = device_test(word)
    usages = tuple(usage for usage in snapshot.devices if is_meant(usage.device))
    if not usages:
        raise SelectionError(f"no device {word} here; {known_devices(usage.device for usage in snapshot.devices)}")
    return usages


_Rows = dict[tuple[int, str], list[tuple[Row, Owner, int]]]  # with the key of its process


def _sorted_out(snapshot: Snapshot, allocations: Mapping[int, Iterable[Row]], wanted: set[int]) -> _Rows:
    """Rows by device and type; one on a mesh stands under every chip of it."""
    found: _Rows = defaultdict(list)
    for process in filter(lambda one: one.is_verified, snapshot.live):
        owner = owner_of(process)
        for row in allocations.get(process.key, ()):
            name = _type_of(Kind.numbered(row[1]), Pool.numbered(row[3]))
            for number in row[0]:
                if number in wanted:
                    found[number, name].append((row, owner, process.key))
    return found


def _why(process: ProcessUsage) -> str:
    """Why its allocations are not all listed; empty if they are."""
    return process.reason or ("read" if process.source == "runtime" else "")


def _type_of(kind: Kind, pool: Pool) -> str:
    return kind.word if kind.is_kernel else pool.word


class _Listing(NamedTuple):
    """What is listed of a group, and how."""

    is_kernels_only: bool
    most: int  # 0: all
    by: By
    phases: Mapping[int, Sequence[OpenPhase]]  # that are open, by the keys of processes
    totals: "_Totals"


_Totals = dict[tuple[int, str], dict[str, Any]]  # of the living, by device and pool: what only ever grows


def _totals_of(snapshot: Snapshot) -> _Totals:
    found: _Totals = defaultdict(dict)
    for process in filter(lambda one: one.is_verified, snapshot.live if POOL_TOTALS else ()):
        for held in process.devices:
            for usage in held.shown_pools:
                sums = found[held.device.number, usage.pool.word]
                for total, size_bytes in usage.totals:
                    if size_bytes is not None:
                        sums[total.field] = sums.get(total.field, 0) + size_bytes
    return found


def _groups(usage: DeviceUsage, rows: _Rows, listing: _Listing) -> Iterable[DumpGroup]:
    """Buffers by pool, then kernels by type; only what is alive."""
    totals: list[tuple[str, bool, PoolUsage | KindUsage]] = []
    if not listing.is_kernels_only:
        pools = {pool.pool: pool for pool in usage.shown_pools if pool.pool not in _KERNEL_POOLS}
        totals += [(pool.word, False, pools[pool]) for pool in _ORDER if pool in pools]
    if listing.by in ("", "operation"):  # a kernel has neither a line nor a phase
        totals += [(kernel.kind.word, True, kernel) for kernel in usage.kernels]
    for name, is_kernel, total in totals:
        if total.count:
            grown = {} if is_kernel else listing.totals.get((usage.device.number, name), {})
            found = rows.get((usage.device.number, name), [])
            is_estimated = isinstance(total, KindUsage) and total.is_estimated
            word, footprint = name.removeprefix("kernel_"), usage.activity.footprint
            group = DumpGroup(word, is_kernel, total.used_bytes or 0, total.count, is_estimated, (), **grown)
            if name == Pool.CB.word and footprint is not None:
                group = replace(group, resident_bytes=footprint.resident_bytes)
            yield (
                _summed(group, found, listing)
                if listing.by
                else replace(group, allocations=_largest(found, listing.most))
            )


def _summed(group: DumpGroup, rows: Sequence[tuple[Row, Owner, int]], listing: _Listing) -> DumpGroup:
    """The same group with its sums, largest first."""
    name_of = _NAMES[listing.by]
    sums: dict[_SumName, list[int]] = defaultdict(lambda: [0, 0])
    for row, _, key in rows:
        one = sums[name_of(row, listing.phases.get(key, ()))]
        one[0] += row[5]
        one[1] += 1
    found = sorted(
        (DumpSum(*name, *figures) for name, figures in sums.items()),
        key=lambda one: (-one.size_bytes, one.name, one.stack),
    )
    listed = found[: listing.most or None]
    return replace(group, sums=tuple(listed), more_sum_count=len(found) - len(listed))


_SumName = tuple[str, tuple[str, ...]]


def _line_of(row: Row, _: Sequence[OpenPhase]) -> _SumName:
    """The line and its caller; the operation where no line is known; what the runtime makes for itself by its kind."""
    kind = Kind.numbered(row[1])
    if row[-2]:
        return "", tuple(row[-2].split("\n")[:_SUM_FRAMES])
    words = kind.word.replace("_", " ")
    return words if kind in _OF_RUNTIME else row[-5] or ("" if kind is Kind.BUFFER else words), ()


def _operation_of(row: Row, _: Sequence[OpenPhase]) -> _SumName:
    return row[-5], ()


def _phase_of(row: Row, phases: Sequence[OpenPhase]) -> _SumName:
    """Of the phases that are open the one that began last before it was made; those that have ended are forgotten."""
    began = [phase for phase in phases if phase.since_ns is not None]
    within = [phase for phase in began if (phase.since_ns or 0) <= row[12]]
    if within:
        return max(within, key=lambda phase: phase.since_ns or 0).name, ()
    first = min(began, key=lambda phase: phase.since_ns or 0, default=None)
    return f"before {first.name}" if first else "", ()


_NAMES: dict[By, Callable[[Row, Sequence[OpenPhase]], _SumName]] = {
    "site": _line_of,
    "operation": _operation_of,
    "phase": _phase_of,
}


def rank_by_size(row: Row) -> tuple[int, int, int]:
    """The largest first, of equal ones the oldest."""
    return -row[5], row[12], row[2]


def _largest(rows: list[tuple[Row, Owner, int]], most: int) -> tuple[DumpedAllocation, ...]:
    def rank(found: tuple[Row, Owner, int]) -> tuple[int, int, int]:
        return rank_by_size(found[0])

    chosen = heapq.nsmallest(most, rows, key=rank) if most else sorted(rows, key=rank)
    return tuple(allocation_from_row(row, owner) for row, owner, _ in chosen)


def allocation_from_row(row: Row, owner: Owner) -> DumpedAllocation:
    _, kind_number, identity, pool, flags, reserved, requested, address, per_bank, cores, *others = row
    thread, _, time_ns, *rest = others
    *_, holders, program, core_type, found_by, layout, page_bytes, operation, tensor, packed, name, parts = rest
    kind = Kind.numbered(kind_number)
    return DumpedAllocation(
        kind=kind,
        pool=Pool.numbered(pool),
        id=Hex(identity),
        address=Hex(address) if address else None,
        program=program,
        name=name if kind.is_kernel else "",
        stack=() if kind.is_kernel or not name else tuple(name.split("\n")),
        core_type=CoreType.numbered(core_type),
        found_by=FoundBy.numbered(found_by),
        packed_bytes=packed if kind.is_kernel else (),
        size_bytes=reserved,
        requested_bytes=requested,
        page_bytes=page_bytes or None,
        layout=BufferLayout.numbered(layout),
        core_count=cores or None,
        per_core_bytes=per_bank if parts else None,
        parts=tuple(PlacedPart(Hex(address), *part) for address, *part in parts),
        holder_count=holders,
        is_view=bool(flags & _VIEW),
        is_estimated=kind is not Kind.BUFFER and bool(flags & _ESTIMATED),
        time_ns=TimeNs(time_ns) if time_ns else None,
        thread=thread or None,
        owner=owner,
        operation=operation,
        tensor=tensor,
    )
