"""The figures of a snapshot: who holds how much of which pool on which chip, and how sure that is.

Sizes are bytes, times are nanoseconds since 1970, None is unknown (never 0). Every figure names its origin: `counted`
from events, a `counter` the reporting process keeps (the list behind it could not be followed), `read` from the stock
runtime's own counters, a `sample` of those, or `unknown`. What was counted and what was read are never added up.

Fields below the line "follows from the others" are worked out here, whenever a struct is made, and nowhere else.
"""

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from ttmem.devices import PLANNED_POOLS, POOL_TOTALS, Kind, Pool, PoolTotal
from ttmem.snapshot.activity import NO_ACTIVITY, Activity
from ttmem.snapshot.host import Finding, Foreign, Host
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.programs import Clash, Mesh, OpenPhase, OutOfMemory, PhasePeak, Program
from ttmem.snapshot.values import Answer, ChipName, Count, Device, Number, Struct, TimeNs
from ttmem.snapshot.workload import WorkloadIdentity

__all__ = [
    "DOUBTS",
    "REASONS",
    "SAMPLE_MS",
    "STALE_REASONS",
    "DeviceUsage",
    "KindUsage",
    "Origin",
    "PoolUsage",
    "ProcessDevice",
    "ProcessUsage",
    "Snapshot",
    "Source",
    "State",
    "first_reason",
    "kernels_of",
    "kinds_shown",
    "with_union",
]

Origin = Literal["counted", "counter", "read", "sample", "unknown"]
# live: its figures are now; they may be incomplete for another `reason`.
# stale: they are old: it lives, but its journal broke, the runtime's counters of it stand still at nothing, or a daemon
#        knows it from a checkpoint.
# ended: its figures are the last ones.
State = Literal["live", "stale", "ended"]
Source = Literal["journal", "socket", "runtime"]


STALE_REASONS = frozenset({"damaged", "restored", "uncounted"})  # for which figures are not of now
DOUBTS = frozenset(
    {"damaged", "uncounted", "contradicted", "over_capacity"}
)  # for which a chip may hold more than anybody says
SAMPLE_MS = 100  # between two samples that the stock runtime takes of circular buffers

_set = msgspec.structs.force_setattr


class PoolUsage(Struct, frozen=True):
    """One pool: of one chip, of one process on a chip, or of one process over all its chips."""

    pool: Pool
    used_bytes: Count  # what all banks give up; of `cb` see `shown_pools`, of kernels all that are loaded
    requested_bytes: Count | None  # what callers asked for
    count: Count | None  # allocations alive
    peak_bytes: Count  # the highest use
    peak_time_ns: TimeNs | None
    is_lower_bound: bool  # the true peak may have been higher: something was not seen
    origin: Origin
    since_ns: TimeNs | None = None  # from when on the peak was watched; None for a process's own
    capacity_bytes: Count | None = None  # of all banks
    largest_free_bytes: Count | None = None  # all banks together; None: somebody did not say where something lies
    largest_free_bank_bytes: Count | None = None  # the same of one bank: a buffer takes its share of each
    hole_count: Count | None = None  # free blocks of one bank, the largest included; None as above
    unattributed_bytes: Count = 0  # of the chip's, what no process accounts for
    read_bytes: Count | None = None  # not in `used`: of processes that only the runtime's counters tell about
    stale_bytes: Count | None = None  # not in `used`: of ended processes, still in the runtime's counters
    freed_bytes: Count | None = None  # given back since the process began; None of chips, and without a journal
    reason: str = ""  # why the figure is not complete; empty when it is
    # ---- follows from the others
    is_complete: bool = True
    free_bytes: Count | None = None  # what no buffer holds; None for an inventory, and where somebody may hold more
    share: float | None = None  # used of capacity; above 1 if more is held than the chip was said to have

    def __post_init__(self) -> None:
        reason, capacity_bytes = self.reason, self.capacity_bytes
        if reason or not self.is_complete:
            _set(self, "is_complete", not reason)
        if capacity_bytes is None:
            if self.free_bytes is not None or self.share is not None:
                _set(self, "free_bytes", None)
                _set(self, "share", None)
            return
        is_free_known = not self.is_planned and reason not in DOUBTS
        _set(self, "free_bytes", max(0, capacity_bytes - self.used_bytes) if is_free_known else None)
        _set(self, "share", self.used_bytes / capacity_bytes if capacity_bytes else None)

    @property
    def totals(self) -> tuple[tuple[PoolTotal, int | None], ...]:
        """What only ever grows, of a process with a journal."""
        return tuple((total, getattr(self, total.field)) for total in POOL_TOTALS)

    @property
    def is_planned(self) -> bool:
        """An inventory of what programs would take, not bytes that exclude each other."""
        return self.pool in PLANNED_POOLS

    @property
    def known_bytes(self) -> int | None:
        """What is used; nothing is not known to be nothing while others may hold more."""
        return self.used_bytes or (None if self.reason in DOUBTS else 0)

    @property
    def is_read(self) -> bool:
        """From the stock runtime's own counters, which see one thread of a process."""
        return self.origin in ("read", "sample")

    @property
    def is_untouched(self) -> bool:
        """Nothing lies in it, and nothing ever did: it is only there because there is room."""
        is_told = self.is_read or self.read_bytes is not None or bool(self.stale_bytes)
        return self.since_ns is None and not is_told and not (self.used_bytes or self.peak_bytes or self.count)

    @property
    def source(self) -> str:
        """Where it comes from: the processes themselves, the stock runtime, or unknown."""
        return "unknown" if self.origin == "unknown" else "runtime" if self.is_read else "reports"

    @property
    def age_ms(self) -> int | None:
        """How much older than the snapshot the figure is at most; None if that is not known."""
        if self.origin == "unknown" or self.reason in {*STALE_REASONS, "settling"}:
            return None
        return SAMPLE_MS if self.origin == "sample" else 0


class KindUsage(Struct, frozen=True):
    """Everything of one kind; for kernels, `is_estimated` if any size is binary size x cores."""

    kind: Kind
    used_bytes: Count | None  # None: of circular buffers, which share addresses; see `activity.footprint`
    count: Count
    is_estimated: bool


_CB_KINDS = frozenset({Kind.CIRCULAR_BUFFER, Kind.DATAFLOW_BUFFER, Kind.SCRATCHPAD})


def with_union(pools: tuple[PoolUsage, ...], planned_bytes: int | None) -> tuple[PoolUsage, ...]:
    """Pools as they are shown: `cb` is the union per core of all loaded programs, never their sum.

    How high the union was is not watched: it was at least what it is now. Where a journal's list could not be followed
    nothing is known of it, and `cb` is missing. The runtime's counters name no addresses: what they say stays as it is.
    """
    if all(usage.pool is not Pool.CB for usage in pools):
        return pools
    shown = []
    for usage in pools:
        if usage.pool is not Pool.CB or usage.is_read:
            shown.append(usage)
        elif planned_bytes is not None or not usage.count:
            shown.append(_union(usage, planned_bytes or 0))
    return tuple(shown)


_NO_TOTALS: dict[str, Any] = dict.fromkeys(total.field for total in POOL_TOTALS)  # a sum over programs


def _union(usage: PoolUsage, planned_bytes: int) -> PoolUsage:
    return msgspec.structs.replace(
        usage,
        used_bytes=planned_bytes,
        requested_bytes=None,
        peak_bytes=planned_bytes,
        peak_time_ns=None,
        is_lower_bound=True,
        unattributed_bytes=0,
        **_NO_TOTALS,
    )


def kinds_shown(kinds: tuple[KindUsage, ...]) -> tuple[KindUsage, ...]:
    """Kinds as they are shown: of circular buffers how many there are, and no sum over programs."""
    return tuple(
        KindUsage(usage.kind, None, usage.count, usage.is_estimated) if usage.kind in _CB_KINDS else usage
        for usage in kinds
    )


class DeviceUsage(Struct, frozen=True):
    """One chip and all that lives on it."""

    device: Device
    pools: tuple[PoolUsage, ...]  # that ever held something, or are known to have room
    kinds: tuple[KindUsage, ...]
    launch_count: Count | None  # None: known by the runtime's counters alone, which tell nothing but sums
    activity: Activity = NO_ACTIVITY  # what programs do there
    doubt: str = ""  # why its figures are not complete, where no pool says it
    planned_core_bytes: Count | None = None  # planned: the fullest core with circular buffers of all loaded programs
    planned_core: tuple[Count, Count] | None = None  # its x and y; None where no core has circular buffers
    core_bytes: Count | None = None  # what a core has: kernel ring and L1 bank as opened
    headroom_bytes: Number | None = None  # lowest L1 buffer less end of circular buffers, of the core with least
    headroom_programs: tuple[tuple[Count, Count | None], ...] = ()  # pid and program of those that reach into a buffer
    l1_hole_bytes: Count | None = None  # largest free block of a core above its lowest L1 buffer; 0 without buffers
    fullest_core_bytes: Count | None = None  # of the fullest core now: buffers, resident circular buffers, kernel ring
    fullest_core: tuple[int, int] | None = None  # its x and y; None where no core has circular buffers
    # ---- follows from the others
    reason: str = ""  # why its figures are not complete; empty when they are
    is_complete: bool = True
    kernel_ring_bytes: Count | None = None  # of all worker cores: kernel code takes one ring on each while it is open
    l1_used_bytes: Count | None = None  # counted: L1 buffers and nothing else
    l1_total_bytes: Count | None = None  # what that is a share of: banks x bank size
    fullest_core_share: float | None = None  # `fullest_core_bytes` of `core_bytes`: how full L1 is

    def __post_init__(self) -> None:
        reason = first_reason([self.doubt, *(pool.reason for pool in self.pools)])
        _set(self, "reason", reason)
        _set(self, "is_complete", not reason)
        ring = self._kernel_ring_bytes()
        _set(self, "kernel_ring_bytes", ring if ring is None or self.device.open_count else 0)
        is_read = any(pool.pool is Pool.L1 and pool.is_read for pool in self.pools)
        _set(self, "l1_used_bytes", None if is_read else self.used_bytes(Pool.L1))
        _set(self, "l1_total_bytes", self.device.capacity(Pool.L1))
        fullest, core_bytes = self.fullest_core_bytes, self.core_bytes
        _set(self, "fullest_core_share", fullest / core_bytes if core_bytes and fullest is not None else None)

    def _kernel_ring_bytes(self) -> int | None:
        ring, grid = self.device.kernel_ring_bytes, self.device.grid
        return ring * grid[0] * grid[1] if ring and grid else None

    @property
    def shown_pools(self) -> tuple[PoolUsage, ...]:
        """With `cb` as the union per core."""
        return with_union(self.pools, self.activity.footprint.planned_bytes if self.activity.footprint else None)

    @property
    def kernels(self) -> tuple[KindUsage, ...]:
        return kernels_of(self.kinds)

    def used_bytes(self, pool: Pool) -> int | None:
        """What is used of a pool: 0 only if a process counts there that would know of more."""
        found = next((usage.used_bytes for usage in self.pools if usage.pool is pool), None)
        if found is None and (self.launch_count is None or (pool is Pool.L1_SMALL and self.is_l1_undivided)):
            return None
        return found or (None if self.doubt else 0)

    @property
    def trace_bytes(self) -> int:
        """Of DRAM, what holds captured traces: those of devices that were opened without a trace region."""
        return sum(usage.used_bytes or 0 for usage in self.kinds if usage.kind is Kind.TRACE_BUFFER)

    @property
    def is_l1_undivided(self) -> bool:
        """Whether L1_SMALL buffers of a process are counted as L1, because its runtime does not separate them."""
        return any(usage.reason == "undivided" for usage in self.pools)

    @property
    def age_ms(self) -> int | None:
        """Of the oldest of its figures; None if that is not known."""
        ages = [pool.age_ms for pool in self.pools if not pool.is_untouched]
        known = [age for age in ages if age is not None]
        is_told = not self.doubt and (ages or self.launch_count is not None)
        return max(known, default=0) if is_told and len(known) == len(ages) else None


class ProcessDevice(Struct, frozen=True):
    """What one process holds on one chip."""

    device: ChipName
    pools: tuple[PoolUsage, ...]
    kinds: tuple[KindUsage, ...]
    launch_count: Count | None  # None: known by the runtime's counters alone, which tell nothing but sums
    activity: Activity = NO_ACTIVITY
    clash_count: Count = 0  # of circular buffers with an L1 buffer: all there were, of which the newest are listed

    @property
    def shown_pools(self) -> tuple[PoolUsage, ...]:
        """With `cb` as the union per core."""
        return with_union(self.pools, self.activity.footprint.planned_bytes if self.activity.footprint else None)

    @property
    def kernels(self) -> tuple[KindUsage, ...]:
        return kernels_of(self.kinds)


class ProcessUsage(Struct, frozen=True, kw_only=True):
    """One process that reports, or that the stock runtime's counters know of.

    Its figures are summed over its chips; what it holds on each, its programs and phases are details, which a snapshot
    has of all processes or, as an overview, only of those that were asked for.
    """

    key: Number  # below 0: only the runtime's counters tell of it
    pid: Count  # 0: no process is known to have written its journal
    parent_pid: Count | None = None  # None if it has ended, or `pid` is a number of another pid namespace
    claimed_pid: Count | None = None  # what its messages say, if that is another pid
    source: Source  # how it reports: by journal or socket; or not at all, but the runtime's counters tell
    uid: Count
    user: str
    label: str  # TTMEM_LABEL, or what it called itself, else the command line
    command: str  # its command line, cut at 255 bytes
    workload: WorkloadIdentity | None = None  # what it belongs to; None: nobody asked the kernel
    path: str = ""  # its journal; empty for a process of the socket
    state: State  # stale: it lives, but its figures are old; `reason` says why
    is_visible: bool  # False: `pid` is a number of another pid namespace
    container: Count | None = None  # its pid namespace if that is not ours
    origin: Origin  # of all its figures
    reason: str  # why its figures are not complete; empty when they are
    start_time_ns: TimeNs | None  # when it began to report; if it does not, when it started
    start_ticks: Count | None = None  # when the process began, in ticks since boot, as the kernel says
    last_event_time_ns: TimeNs | None = None  # its newest report, or when the runtime last changed its counters
    event_count: Count = 0  # reports so far
    lost_record_count: Count = 0  # reports that came too late here: history only, no figure is wrong for it
    skipped_count: Count = 0  # records the process itself could not place: history only
    untabled_count: Count = 0  # allocations that found its table full
    live_count: Count | None  # allocations alive
    thread_count: Count = 0  # threads that reported
    # ---- over all its chips; a peak is the sum of the peaks on each
    chips: tuple[Count, ...] = ()  # numbers of the snapshot's devices, in their order
    pools: tuple[PoolUsage, ...] = ()
    kinds: tuple[KindUsage, ...] = ()
    launch_count: Count | None = None  # of a mesh, one on each of its chips; None if it does not report
    cb_planned_bytes: Count | None = None  # what its circular buffers take of all cores; None if that is not known
    # ---- what was refused
    refusal_count: Count = 0  # how often memory ran out: all there were, of which the newest are listed, chip by chip
    clash_count: Count = 0  # likewise, of circular buffers with an L1 buffer
    incidents: tuple[Incident, ...] = ()  # those that are kept, oldest first
    incident_count: Count = 0  # how many there were: what is not listed was not kept
    sites_off: str = ""  # why its Python stacks are not recorded; empty where they are, or they were not asked for
    findings: tuple[Finding, ...] = ()  # what does not add up in its reports
    # ---- details
    has_details: bool = False  # whether what follows is filled: always in a snapshot, in an overview where asked for
    devices: tuple[ProcessDevice, ...] = ()
    other_devices: tuple[ProcessDevice, ...] = ()  # as its socket or the runtime tells it: counted nowhere
    programs: tuple[Program, ...] = ()
    phases: tuple[PhasePeak, ...] = ()
    open_phases: tuple[OpenPhase, ...] = ()
    out_of_memory: tuple[OutOfMemory, ...] = ()
    clashes: tuple[Clash, ...] = ()
    meshes: tuple[Mesh, ...] = ()
    # ---- follows from the others
    is_complete: bool = True

    def __post_init__(self) -> None:
        _set(self, "is_complete", not self.reason)
        if self.state == "live" and self.reason in STALE_REASONS:
            _set(self, "state", "stale")

    @property
    def named_chips(self) -> tuple[ChipName, ...]:
        """Every chip that its details name, by number."""
        named = [one.device for one in self.devices] + [one.device for one in self.phases]
        named += [one.device for one in self.out_of_memory] + [one.device for one in self.clashes]
        found = {device.number: device for device in named}
        found |= {device.number: device for mesh in self.meshes for device in mesh.devices}
        return tuple(found[number] for number in sorted(found))

    @property
    def shown_pools(self) -> tuple[PoolUsage, ...]:
        """With `cb` as the union per core, of all its chips."""
        return with_union(self.pools, self.cb_planned_bytes)

    @property
    def finding_count(self) -> int:
        """Of all kinds together."""
        return sum(finding.count for finding in self.findings)

    @property
    def unlisted_incident_count(self) -> int:
        """Incidents whose details are lost."""
        return max(0, self.incident_count - len(self.incidents))

    @property
    def was_refused(self) -> bool:
        """Whether anything was ever refused to it, also where no incident says so."""
        return bool(self.incident_count or self.refusal_count or self.clash_count)

    @property
    def is_live(self) -> bool:
        return self.state != "ended"

    @property
    def is_verified(self) -> bool:
        """Whether the kernel confirms the process; without that its figures count nowhere."""
        return self.reason != "unverified"

    def used_bytes(self, *pools: Pool) -> int | None:
        """What it holds of some pools; None if it is not known of any of them."""
        found = [usage.used_bytes for usage in self.pools if usage.pool in pools]
        return sum(found) if found or self.pools else None

    def peak_bytes(self, *pools: Pool) -> int | None:
        found = [usage.peak_bytes for usage in self.pools if usage.pool in pools]
        return sum(found) if found or self.pools else None


class Snapshot(Answer, frozen=True, kw_only=True):
    """Everything known at one instant."""

    time_ns: TimeNs
    source: str
    places: tuple[str, ...]
    host: Host
    devices: tuple[DeviceUsage, ...]
    processes: tuple[ProcessUsage, ...]
    foreign: tuple[Foreign, ...]
    findings: tuple[Finding, ...]  # damaged files first
    # ---- follows from the others
    reason: str = ""  # why the figures are not complete; empty when they are
    is_complete: bool = True

    def __post_init__(self) -> None:
        reasons = [*(process.reason for process in self.live), *(usage.doubt for usage in self.devices)]
        reason = first_reason(reasons)
        _set(self, "reason", reason)
        _set(self, "is_complete", not reason)

    @property
    def live(self) -> tuple[ProcessUsage, ...]:
        return tuple(process for process in self.processes if process.is_live)

    @property
    def reporting(self) -> tuple[ProcessUsage, ...]:
        """Those of the living whose single allocations are known."""
        return tuple(process for process in self.live if process.source != "runtime")

    @property
    def ended(self) -> tuple[ProcessUsage, ...]:
        return tuple(process for process in self.processes if not process.is_live)

    @property
    def damaged(self) -> tuple[Finding, ...]:
        """Files that are no sound journals."""
        return tuple(finding for finding in self.findings if finding.name == "damaged")

    @property
    def incidents(self) -> tuple[tuple[ProcessUsage, Incident], ...]:
        """All incidents that are known, and whose they are, oldest first."""
        found = [(process, incident) for process in self.processes for incident in process.incidents]
        return tuple(sorted(found, key=lambda one: (one[1].time_ns, one[0].key, one[1].number)))

    @property
    def errors(self) -> tuple[str, ...]:
        """What could not be read while the rest could, one line each."""
        return (
            *(finding.line for finding in self.findings if finding.pid is None),
            *(f"{row.path}: {row.what} of uid {row.uid} may not be read" for row in self.foreign),
        )


# Worst first: what to name when several processes are incomplete for several reasons.
_WORST = (
    *("damaged", "unverified", "contradicted", "over_capacity"),
    *("targets_lost", "unknown_device", "table_full"),
)
REASONS = (*_WORST, "outrun", "restored", "uncounted", "undivided", "settling")


def first_reason(reasons: Iterable[str]) -> str:
    """The worst of several reasons; empty if there is none."""
    given = set(filter(None, reasons))
    known = [reason for reason in REASONS if reason in given] if given else ()
    return known[0] if known else min(given, default="")


def kernels_of(kinds: Iterable[KindUsage]) -> tuple[KindUsage, ...]:
    """Only the kernels: application, fabric, dispatch, unknown."""
    return tuple(usage for usage in kinds if usage.kind.is_kernel)
