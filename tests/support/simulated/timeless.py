"""A snapshot without its times: they are worked out at every look from a journal's clock, and differ a little."""

from collections.abc import Iterable

from ttmem.snapshot import DeviceUsage, PoolUsage, ProcessDevice, ProcessUsage, Snapshot, TimeNs, replace
from ttmem.snapshot.incidents import Incident

SOME_TIME_NS = TimeNs(1)


def timeless(snapshot: Snapshot) -> Snapshot:
    """Only whether times are known is left."""
    return replace(
        snapshot,
        time_ns=SOME_TIME_NS,
        devices=tuple(map(_device, snapshot.devices)),
        processes=tuple(map(_process, snapshot.processes)),
    )


def _device(usage: DeviceUsage) -> DeviceUsage:
    return replace(usage, pools=_pools(usage.pools))


def _process(row: ProcessUsage) -> ProcessUsage:
    return replace(
        row,
        pools=_pools(row.pools),
        start_time_ns=_if_known(row.start_time_ns),
        last_event_time_ns=_if_known(row.last_event_time_ns),
        incidents=tuple(map(_incident, row.incidents)),
        devices=tuple(map(_held, row.devices)),
        other_devices=tuple(map(_held, row.other_devices)),
        phases=tuple(replace(one, time_ns=_if_known(one.time_ns)) for one in row.phases),
        open_phases=tuple(replace(one, since_ns=_if_known(one.since_ns)) for one in row.open_phases),
        out_of_memory=tuple(replace(one, time_ns=SOME_TIME_NS) for one in row.out_of_memory),
        clashes=tuple(replace(one, time_ns=SOME_TIME_NS) for one in row.clashes),
    )


def _held(held: ProcessDevice) -> ProcessDevice:
    return replace(held, pools=_pools(held.pools))


def _incident(incident: Incident) -> Incident:
    return replace(incident, time_ns=SOME_TIME_NS, last_time_ns=_if_known(incident.last_time_ns))


def _pools(usages: Iterable[PoolUsage]) -> tuple[PoolUsage, ...]:
    return tuple(replace(one, peak_time_ns=_if_known(one.peak_time_ns)) for one in usages)


def _if_known(time_ns: TimeNs | None) -> TimeNs | None:
    return None if time_ns is None else SOME_TIME_NS
