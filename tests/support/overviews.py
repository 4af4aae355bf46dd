"""An overview, held against what it means: a snapshot without the details of its processes."""

from tests.support.figures import HOST
from ttmem._native import Ledger
from ttmem.collector.rows import Surroundings, snapshot_from_rows
from ttmem.collector.rows.sums import overview_of
from ttmem.snapshot import DeviceUsage, PoolUsage, ProcessUsage, Snapshot, TimeNs, replace
from ttmem.snapshot.incidents import Incident

SURROUNDINGS = Surroundings(source="a test", places=("/here",), host=HOST, user_of=str)
SOME_TIME_NS = TimeNs(1)


def check_overview(ledger: Ledger) -> Snapshot:
    """What the ledger knows, without details."""
    return overview_of(snapshot_from_rows(ledger.snapshot(), SURROUNDINGS))


def without_times(overview: Snapshot) -> Snapshot:
    """Wall-clock times are worked out at every look, and differ by a few nanoseconds."""
    return replace(
        overview,
        time_ns=SOME_TIME_NS,
        devices=tuple(map(_device, overview.devices)),
        processes=tuple(map(_process, overview.processes)),
    )


def _device(usage: DeviceUsage) -> DeviceUsage:
    return replace(usage, pools=tuple(map(_pool, usage.pools)))


def _process(row: ProcessUsage) -> ProcessUsage:
    return replace(
        row,
        pools=tuple(map(_pool, row.pools)),
        last_event_time_ns=_if_known(row.last_event_time_ns),
        incidents=tuple(map(_incident, row.incidents)),
    )


def _incident(incident: Incident) -> Incident:
    return replace(incident, time_ns=SOME_TIME_NS, last_time_ns=None)


def _pool(usage: PoolUsage) -> PoolUsage:
    return replace(usage, peak_time_ns=_if_known(usage.peak_time_ns))


def _if_known(time_ns: TimeNs | None) -> TimeNs | None:
    return None if time_ns is None else SOME_TIME_NS
