"""Everything at a glance: every chip with its figures, every process with its sums over the chips it is on."""

from dataclasses import dataclass
from typing import Literal

from ttmem.devices import Pool
from ttmem.snapshot.usage import DeviceUsage, Finding, Foreign, Host, KindUsage, Origin, PoolUsage, Source

__all__ = ["Overview", "ProcessRow", "RowState"]

# live: its figures are now. stale: they are not (old counters of the runtime, a checkpoint, a journal that broke).
# foreign: it may not be read. dead: it has ended.
RowState = Literal["live", "stale", "foreign", "dead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRow:
    """One process, its figures summed over its chips. A peak is the sum of the peaks on each chip."""

    key: int
    pid: int
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
    launch_count: int | None
    finding_count: int

    def used_bytes(self, *pools: Pool) -> int | None:
        """What it holds of some pools; None if it is not known of any of them."""
        found = [usage.used_bytes for usage in self.pools if usage.pool in pools]
        return sum(found) if found or self.pools else None

    def peak_bytes(self, *pools: Pool) -> int | None:
        found = [usage.peak_bytes for usage in self.pools if usage.pool in pools]
        return sum(found) if found or self.pools else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """Everything known at one instant, but for what a process holds on which chip."""

    time_ns: int
    source: str
    places: tuple[str, ...]
    host: Host
    devices: tuple[DeviceUsage, ...]
    processes: tuple[ProcessRow, ...]
    foreign: tuple[Foreign, ...]
    findings: tuple[Finding, ...]
    reason: str  # why the figures are not complete; empty when they are
