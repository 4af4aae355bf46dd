"""Everything at a glance: every chip with its figures, every process with its sums over the chips it is on."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from ttmem.devices import Kind, Pool
from ttmem.snapshot.usage import (
    STALE_REASONS,
    DeviceUsage,
    Finding,
    Foreign,
    Host,
    KindUsage,
    Origin,
    PoolUsage,
    ProcessUsage,
    Snapshot,
    Source,
    State,
    first_reason,
)

if TYPE_CHECKING:
    from ttmem.snapshot.incidents import Incident

__all__ = ["Overview", "ProcessRow", "RowState", "no_parent", "overview_of", "process_row_of", "row_state"]

# live: its figures are now; they may be incomplete for another `reason`.
# stale: they are old: it lives, but its journal broke, the runtime's counters of it stand still at nothing, or a daemon
#        knows it from a checkpoint.
# foreign: its journal may not be read. No process is known for those: faces show `Overview.foreign` as such rows.
# dead: it has ended; its figures are the last ones.
RowState = Literal["live", "stale", "foreign", "dead"]

# pid and start (nanoseconds since 1970) of a process that can be seen from here -> its parent's pid
ParentOf = Callable[[int, int | None], int | None]


class ProcessRow(NamedTuple):
    """One process, its figures summed over its chips. A peak is the sum of the peaks on each chip."""

    key: int
    pid: int  # 0: no process is known to have written its journal
    parent_pid: int | None
    is_visible: bool  # False: `pid` is a number of another pid namespace
    source: Source
    uid: int
    user: str
    label: str
    command: str
    container: int | None
    state: RowState
    origin: Origin
    reason: str
    start_time_ns: int | None
    live_count: int | None
    devices: tuple[int, ...]  # numbers of `Overview.devices`, in their order
    pools: tuple[PoolUsage, ...]
    kinds: tuple[KindUsage, ...]
    launch_count: int | None  # of a mesh, one on each of its chips; None if it does not report
    finding_count: int  # of all kinds together
    cb_planned_bytes: int | None = None  # what its circular buffers take of all cores; None if that is not known
    last_event_time_ns: int | None = None
    start_ticks: int | None = None  # when the process began, in ticks since boot, as the kernel says
    incidents: "tuple[Incident, ...]" = ()  # those that are kept, oldest first
    incident_count: int = 0  # how many there were: what is not listed was not kept
    refusal_count: int = 0  # how often memory ran out, also where no incident tells of it
    clash_count: int = 0  # likewise, of circular buffers with an L1 buffer
    sites_off: str = ""  # why its Python stacks are not recorded

    @property
    def unlisted_incident_count(self) -> int:
        """Incidents whose details are not kept."""
        return max(0, self.incident_count - len(self.incidents))

    @property
    def was_refused(self) -> bool:
        """Whether anything was ever refused to it, also where no incident tells of it."""
        return bool(self.incident_count or self.refusal_count or self.clash_count)

    def used_bytes(self, *pools: Pool) -> int | None:
        """What it holds of some pools; None if it is not known of any of them."""
        found = [usage.used_bytes for usage in self.pools if usage.pool in pools]
        return sum(found) if found or self.pools else None

    def peak_bytes(self, *pools: Pool) -> int | None:
        found = [usage.peak_bytes for usage in self.pools if usage.pool in pools]
        return sum(found) if found or self.pools else None


class Overview(NamedTuple):
    """Everything known at one instant, but for what a process holds on which chip. Findings name damaged files too."""

    time_ns: int
    source: str
    places: tuple[str, ...]
    host: Host
    devices: tuple[DeviceUsage, ...]
    processes: tuple[ProcessRow, ...]
    foreign: tuple[Foreign, ...]
    findings: tuple[Finding, ...]
    reason: str  # why the figures are not complete; empty when they are


def no_parent(pid: int, start_time_ns: int | None) -> int | None:
    """Where nobody asks the kernel whose child a process is."""
    return None


def overview_of(snapshot: Snapshot, parent_of: ParentOf = no_parent) -> Overview:
    """What a snapshot says, with every process summed over its chips. This is what an overview means; `Ledger.overview`
    is the faster way to the same."""
    listed = {usage.device.number for usage in snapshot.devices}
    return Overview(
        time_ns=snapshot.time_ns,
        source=snapshot.source,
        places=snapshot.places,
        host=snapshot.host,
        devices=snapshot.devices,
        processes=tuple(process_row_of(process, listed, parent_of) for process in snapshot.processes),
        foreign=snapshot.foreign,
        findings=(*snapshot.damaged, *snapshot.findings),
        reason=snapshot.reason,
    )


def row_state(state: State, reason: str) -> RowState:
    """Whether a process's figures are now."""
    if state == "ended":
        return "dead"
    return "stale" if reason in STALE_REASONS else "live"


def process_row_of(process: ProcessUsage, listed: Iterable[int], parent_of: ParentOf = no_parent) -> ProcessRow:
    """One process; `listed`: numbers of the devices that are shown."""
    is_here = process.is_live and process.is_visible
    shown = frozenset(listed)
    return ProcessRow(
        key=process.key,
        pid=process.pid,
        parent_pid=parent_of(process.pid, process.start_time_ns) if is_here else None,
        is_visible=process.is_visible,
        source=process.source,
        uid=process.uid,
        user=process.user,
        label=process.label,
        command=process.command,
        container=process.container,
        state=row_state(process.state, process.reason),
        origin=process.origin,
        reason=process.reason,
        start_time_ns=process.start_time_ns,
        live_count=process.live_count,
        devices=tuple(held.device.number for held in process.devices if held.device.number in shown),
        pools=_pools_together([usage for held in process.devices for usage in held.pools]),
        kinds=_kinds_together([usage for held in process.devices for usage in held.kinds]),
        launch_count=_sum_of([held.launch_count for held in process.devices]),
        finding_count=sum(finding.count for finding in process.findings),
        cb_planned_bytes=_planned_of(process),
        last_event_time_ns=process.last_event_time_ns,
        start_ticks=process.start_ticks,
        incidents=process.incidents,
        incident_count=process.incident_count,
        refusal_count=process.refusal_count,
        clash_count=process.clash_count,
        sites_off=process.sites_off,
    )


def _planned_of(process: ProcessUsage) -> int | None:
    """Circular buffers of several programs share addresses, so their sizes are not added up: see `Footprint`."""
    if process.source != "journal":
        return None
    planned = 0
    for held in process.devices:
        has_any = any(usage.pool is Pool.CB and usage.count != 0 for usage in held.pools)
        if has_any and held.activity.footprint is None:
            return None
        planned += held.activity.footprint.planned_bytes if held.activity.footprint else 0
    return planned


def _pools_together(usages: Iterable[PoolUsage]) -> tuple[PoolUsage, ...]:
    by_pool: dict[Pool, list[PoolUsage]] = {}
    for usage in usages:
        by_pool.setdefault(usage.pool, []).append(usage)
    return tuple(_pool_together(by_pool[pool]) for pool in sorted(by_pool))


def _pool_together(parts: Sequence[PoolUsage]) -> PoolUsage:
    """One pool over all chips. The peaks were not at one time; that of the last of them stands for all."""
    return PoolUsage(
        pool=parts[0].pool,
        used_bytes=sum(part.used_bytes for part in parts),
        requested_bytes=_sum_of([part.requested_bytes for part in parts]),
        count=_sum_of([part.count for part in parts]),
        peak_bytes=sum(part.peak_bytes for part in parts),
        peak_time_ns=max((part.peak_time_ns for part in parts if part.peak_time_ns is not None), default=None),
        is_lower_bound=any(part.is_lower_bound for part in parts),
        origin=parts[0].origin,
        reason=first_reason(part.reason for part in parts),
    )


def _kinds_together(usages: Iterable[KindUsage]) -> tuple[KindUsage, ...]:
    by_kind: dict[Kind, list[KindUsage]] = {}
    for usage in usages:
        by_kind.setdefault(usage.kind, []).append(usage)
    return tuple(
        KindUsage(
            kind,
            sum(part.used_bytes for part in parts),
            sum(part.count for part in parts),
            any(part.is_estimated for part in parts),
        )
        for kind, parts in sorted(by_kind.items())
    )


def _sum_of(figures: Sequence[int | None]) -> int | None:
    """None if any of them is not known."""
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None
