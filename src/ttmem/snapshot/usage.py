"""The figures of a snapshot: who holds how much of which pool on which chip, and how sure that is.

Sizes are bytes, times are nanoseconds since 1970, None is unknown (never 0). Every figure names its origin: `counted`
from events, a `counter` the reporting process keeps (the list behind it could not be followed), `read` from the stock
runtime's own counters, a `sample` of those, or `unknown`. What was counted and what was read are never added up.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

from ttmem.devices import PLANNED_POOLS, Device, Kind, Pool
from ttmem.snapshot.activity import NO_ACTIVITY, Activity
from ttmem.snapshot.circumstances import Finding, Foreign, Host
from ttmem.snapshot.refusals import Clash, OutOfMemory
from ttmem.snapshot.stories import Mesh, OpenPhase, PhasePeak, Program

if TYPE_CHECKING:
    from ttmem.snapshot.incidents import Incident

__all__ = [
    "DOUBTS",
    "REASONS",
    "SAMPLE_MS",
    "STALE_REASONS",
    "DeviceUsage",
    "Finding",
    "Foreign",
    "Host",
    "KindUsage",
    "Mesh",
    "OpenPhase",
    "Origin",
    "PhasePeak",
    "PoolUsage",
    "ProcessDevice",
    "ProcessUsage",
    "Program",
    "Snapshot",
    "Source",
    "State",
    "first_reason",
    "kernels_of",
]

Origin = Literal["counted", "counter", "read", "sample", "unknown"]
State = Literal["live", "ended"]
Source = Literal["journal", "socket", "runtime"]


L1_POOLS = (Pool.L1, Pool.L1_SMALL)
STALE_REASONS = frozenset({"damaged", "restored", "uncounted"})  # for which figures are not of now
DOUBTS = frozenset(
    {"damaged", "uncounted", "contradicted", "over_capacity"}
)  # for which a chip may hold more than anybody says
SAMPLE_MS = 100  # between two samples that the stock runtime takes of circular buffers


class PoolUsage(NamedTuple):
    """One pool of one chip: of one process, or of all of them."""

    pool: Pool
    used_bytes: int
    requested_bytes: int | None
    count: int | None  # type: ignore[assignment]  # hides a method of tuples, which nobody calls
    peak_bytes: int
    peak_time_ns: int | None
    is_lower_bound: bool  # the true peak may have been higher: something was not seen
    origin: Origin
    since_ns: int | None = None  # from when on the peak was watched; None for a process's own
    capacity_bytes: int | None = None
    largest_free_bytes: int | None = None  # all banks together; None: somebody did not say where something lies
    largest_free_bank_bytes: int | None = None  # the same of one bank: a buffer takes its share of each
    unattributed_bytes: int = 0  # of the chip's, what no process accounts for
    read_bytes: int | None = None  # not in `used`: of processes that only the runtime's counters tell about
    stale_bytes: int | None = None  # not in `used`: of ended processes, still in the runtime's counters
    reason: str = ""  # why the figure is not complete; empty when it is

    @property
    def is_planned(self) -> bool:
        """An inventory of what programs would take, not bytes that exclude each other."""
        return self.pool in PLANNED_POOLS

    @property
    def known_bytes(self) -> int | None:
        """What is used; nothing is not known to be nothing while somebody may hold more."""
        return self.used_bytes or (None if self.reason in DOUBTS else 0)

    @property
    def free_bytes(self) -> int | None:
        """What no buffer holds; unknown for an inventory, and where somebody may hold more."""
        if self.capacity_bytes is None or self.is_planned or self.reason in DOUBTS:
            return None
        return max(0, self.capacity_bytes - self.used_bytes)

    @property
    def fraction(self) -> float | None:
        """Used of capacity; above 1 if more is held than the chip was said to have."""
        return self.used_bytes / self.capacity_bytes if self.capacity_bytes else None

    @property
    def is_read(self) -> bool:
        """Told by the stock runtime's own counters, which see one thread of a process."""
        return self.origin in ("read", "sample")

    @property
    def source(self) -> str:
        """Who told it: the processes themselves, the stock runtime, or nobody."""
        return "unknown" if self.origin == "unknown" else "runtime" if self.is_read else "reports"

    @property
    def age_ms(self) -> int | None:
        """How much older than the snapshot the figure is at most; None if nobody can say."""
        if self.origin == "unknown" or self.reason in {*STALE_REASONS, "settling"}:
            return None
        return SAMPLE_MS if self.origin == "sample" else 0


class KindUsage(NamedTuple):
    """Everything of one kind; for kernels, `is_estimated` if any size came from the seeds' rule."""

    kind: Kind
    used_bytes: int
    count: int  # type: ignore[assignment]
    is_estimated: bool


class DeviceUsage(NamedTuple):
    """One chip and all that lives on it."""

    device: Device
    pools: tuple[PoolUsage, ...]
    kinds: tuple[KindUsage, ...]
    launch_count: int | None  # None: known by the runtime's counters alone, which tell nothing but sums
    activity: Activity = NO_ACTIVITY
    doubt: str = ""  # why its figures are not complete, where no pool says it
    worst_core_bytes: int | None = None  # of the fullest core: buffers, circular buffers planned there, kernel ring
    worst_core: tuple[int, int] | None = None  # its x and y; None where no core has circular buffers: all are as full
    core_bytes: int | None = None  # what a core has for those: its L1 but for what the runtime reserves
    headroom_bytes: int | None = None  # lowest L1 buffer less highest end of circular buffers, of the core with least
    headroom_programs: tuple[tuple[int, int | None], ...] = ()  # pid and program of those that reach into a buffer
    l1_hole_bytes: int | None = None  # largest free block of a core above its lowest L1 buffer; 0 without buffers

    @property
    def kernels(self) -> tuple[KindUsage, ...]:
        return kernels_of(self.kinds)

    @property
    def kernel_ring_bytes(self) -> int | None:
        """What kernel code takes of L1 while the chip is open, however many kernels are loaded: one ring on every
        worker core."""
        ring, grid = self.device.kernel_ring_bytes, self.device.grid
        if not ring or not grid:
            return None
        return ring * grid[0] * grid[1] if self.device.open_count else 0

    @property
    def l1_used_bytes(self) -> int | None:
        """L1 in all, as counted: buffers, small buffers and the kernel ring; planned figures are not on top of that."""
        if self.kernel_ring_bytes is None:
            return None
        counted = (pool.used_bytes for pool in self.pools if pool.pool in L1_POOLS and not pool.is_read)
        return self.kernel_ring_bytes + sum(counted) or (None if self.doubt else 0)

    @property
    def l1_total_bytes(self) -> int | None:
        """What `l1_used_bytes` is a share of: banks of L1 and L1_SMALL, and the kernel ring of every worker core."""
        ring, grid, l1_bytes = self.device.kernel_ring_bytes, self.device.grid, self.device.capacity(Pool.L1)
        if not ring or not grid or not l1_bytes:
            return None
        return l1_bytes + (self.device.capacity(Pool.L1_SMALL) or 0) + ring * grid[0] * grid[1]

    def used_bytes(self, pool: Pool) -> int | None:
        """What is used of a pool: 0 only if somebody counts there who would know of more."""
        found = next((usage.used_bytes for usage in self.pools if usage.pool is pool), None)
        if found is None and (self.launch_count is None or (pool is Pool.L1_SMALL and self.is_l1_undivided)):
            return None
        return found or (None if self.doubt else 0)

    @property
    def trace_bytes(self) -> int:
        """Of DRAM, what holds captured traces: those of devices that were opened without a trace region."""
        return sum(usage.used_bytes for usage in self.kinds if usage.kind is Kind.TRACE_BUFFER)

    @property
    def is_l1_undivided(self) -> bool:
        """Whether somebody's L1_SMALL buffers are counted as L1, because his runtime does not tell them apart."""
        return any(usage.reason == "undivided" for usage in self.pools)

    @property
    def reason(self) -> str:
        return first_reason([self.doubt, *(pool.reason for pool in self.pools)])

    @property
    def age_ms(self) -> int | None:
        """Of the oldest of its figures; None if nobody can say."""
        ages = [pool.age_ms for pool in self.pools]
        known = [age for age in ages if age is not None]
        is_told = not self.doubt and (ages or self.launch_count is not None)
        return max(known, default=0) if is_told and len(known) == len(ages) else None


class ProcessDevice(NamedTuple):
    """What one process holds on one chip."""

    device: Device
    pools: tuple[PoolUsage, ...]
    kinds: tuple[KindUsage, ...]
    launch_count: int | None  # None: known by the runtime's counters alone, which tell nothing but sums
    activity: Activity = NO_ACTIVITY
    clash_count: int = 0  # of circular buffers with an L1 buffer: all there were, of which the newest are listed

    @property
    def kernels(self) -> tuple[KindUsage, ...]:
        return kernels_of(self.kinds)


class ProcessUsage(NamedTuple):
    """One process that reports, or that the stock runtime's counters tell about."""

    key: int
    pid: int  # 0: no process is known to have written its journal
    claimed_pid: int | None  # what its messages say, if that is another pid
    source: Source  # how it reports: by journal or the seeds' socket; or not at all, but the runtime's counters tell
    uid: int
    user: str
    label: str
    command: str
    path: str
    state: State
    is_visible: bool  # False: `pid` is a number of another pid namespace
    container: int | None  # its pid namespace if that is not ours
    origin: Origin
    reason: str
    start_time_ns: int | None
    last_event_time_ns: int | None
    event_count: int
    lost_record_count: int
    skipped_count: int
    untabled_count: int
    live_count: int | None
    thread_count: int
    refusal_count: int  # how often memory ran out: all there were, of which the newest are listed, chip by chip
    clash_count: int  # likewise, of circular buffers with an L1 buffer
    devices: tuple[ProcessDevice, ...]
    other_devices: tuple[ProcessDevice, ...]  # as its socket or the runtime tells it: shown apart, counted nowhere
    programs: tuple[Program, ...]
    phases: tuple[PhasePeak, ...]
    open_phases: tuple[OpenPhase, ...]
    out_of_memory: tuple[OutOfMemory, ...]
    clashes: tuple[Clash, ...]
    meshes: tuple[Mesh, ...]
    findings: tuple[Finding, ...]
    start_ticks: int | None = None  # when the process began, in ticks since boot, as the kernel says
    incidents: "tuple[Incident, ...]" = ()  # those that are kept, oldest first
    incident_count: int = 0  # how many there were: what is not listed was not kept
    sites_off: str = ""  # why its Python stacks are not recorded; empty where they are, or nobody asked for them

    @property
    def unlisted_incident_count(self) -> int:
        """Incidents whose details are not kept."""
        return max(0, self.incident_count - len(self.incidents))

    @property
    def was_refused(self) -> bool:
        """Whether anything was ever refused to it, also where no incident tells of it."""
        return bool(self.incident_count or self.refusal_count or self.clash_count)

    @property
    def is_live(self) -> bool:
        return self.state == "live"

    @property
    def is_complete(self) -> bool:
        return not self.reason

    @property
    def is_verified(self) -> bool:
        """Whether the kernel confirms the process; without that its figures count nowhere."""
        return self.reason != "unverified"

    @property
    def told_state(self) -> str:
        """As people read it: live, stale if its figures are not of now, or ended."""
        return "stale" if self.is_live and self.reason in STALE_REASONS else self.state


class Snapshot(NamedTuple):
    """Everything known at one instant."""

    time_ns: int
    source: str
    places: tuple[str, ...]
    host: Host
    devices: tuple[DeviceUsage, ...]
    processes: tuple[ProcessUsage, ...]
    foreign: tuple[Foreign, ...]
    damaged: tuple[Finding, ...]
    findings: tuple[Finding, ...]

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
    def incidents(self) -> "tuple[tuple[ProcessUsage, Incident], ...]":
        """All incidents that are kept, and whose they are, oldest first."""
        found = [(process, incident) for process in self.processes for incident in process.incidents]
        return tuple(sorted(found, key=lambda one: (one[1].time_ns, one[0].key, one[1].number)))

    @property
    def reason(self) -> str:
        """Why the figures are not complete; empty when they are."""
        return first_reason([*(process.reason for process in self.live), *(usage.doubt for usage in self.devices)])

    @property
    def is_complete(self) -> bool:
        return not self.reason

    @property
    def errors(self) -> tuple[str, ...]:
        """What could not be read while the rest could, one line each."""
        files = (*self.damaged, *(finding for finding in self.findings if finding.pid is None))
        return (
            *(finding.line for finding in files),
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
