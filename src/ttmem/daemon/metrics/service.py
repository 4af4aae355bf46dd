"""Rows about the daemon itself, and those that only ever grow: what happened on every chip since it began."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ttmem.daemon.metrics import catalogue as metric
from ttmem.daemon.metrics.chips import ExportedChip
from ttmem.daemon.metrics.families import ChipLifetime, Labels, Lifetime, Page
from ttmem.devices import BANKED_POOLS, Pool
from ttmem.snapshot.incidents import KINDS
from ttmem.snapshot.usage import Snapshot
from ttmem.snapshot.values import Device
from ttmem.tracking import Cache, CacheOutcome, Stall
from ttmem.view.texts import FINDINGS

__all__ = ["Service", "add_happened", "add_service"]

_ALWAYS_TOLD = (CacheOutcome.HIT, CacheOutcome.MISS)  # of a cache that was ever asked; the others once they happened


def add_happened(page: Page, chips: Iterable[ExportedChip]) -> None:
    for usage, labels, _, happened in chips:
        if happened is None:
            continue
        page.add(metric.LAUNCHES, labels, happened.launches)
        for stall in Stall:
            page.add(metric.STALLS, (*labels, stall.word), happened.stalls[stall.number] or None)
        _add_caches(page, labels, happened)
        _add_pools(page, labels, usage.device, happened)
        page.add(metric.CLASHES, labels, happened.clashes)


def _add_caches(page: Page, labels: Labels, happened: ChipLifetime) -> None:
    for cache in Cache:
        outcomes = happened.caches[cache.number]
        for outcome in CacheOutcome if any(outcomes) else ():
            if outcomes[outcome] or outcome in _ALWAYS_TOLD:
                page.add(metric.CACHE, (*labels, cache.word, outcome.word), outcomes[outcome])


def _add_pools(page: Page, labels: Labels, device: Device, happened: ChipLifetime) -> None:
    """What alerts watch is there from the start, at 0."""
    page.add(metric.OUT_OF_MEMORY, (*labels, Pool.CB.word), happened.refusals[Pool.CB.number])
    for pool in BANKED_POOLS:
        made, refused = happened.allocations[pool.number], happened.refusals[pool.number]
        if device.capacity(pool) or made or refused:
            page.add(metric.ALLOCATIONS, (*labels, pool.word), made)
            page.add(metric.FREES, (*labels, pool.word), happened.frees[pool.number])
            page.add(metric.OUT_OF_MEMORY, (*labels, pool.word), refused)


_SOURCES = ("journal", "socket", "runtime")
_STATES = ("live", "stale")
_SECOND_NS = 1e9
_INCIDENTS = (
    *(("out_of_memory", memory) for memory in ("dram", "trace", "l1", "l1_small")),
    *(("clash", "l1"), ("unsafe_replay", "dram"), ("unsafe_replay", "l1")),
)


class Service(NamedTuple):
    """What the daemon knows of itself; it looks once a second."""

    version: str
    start_time_ns: int
    is_well: bool = True
    dropped_line_count: int = 0  # of the log


def add_service(page: Page, overview: Snapshot, lifetime: Lifetime, service: Service, now_ns: int) -> None:
    page.add(metric.UP, (), int(service.is_well))
    page.add(metric.BUILD, (service.version, overview.host.hostname), 1)
    page.add(metric.START, (), service.start_time_ns / _SECOND_NS)
    _add_ages(page, overview, lifetime, now_ns)
    page.add(metric.COMPLETE, (), int(not overview.reason))
    _add_clients(page, overview)
    page.add(metric.FOREIGN, (), len(overview.foreign))
    _add_findings(page, overview)
    page.add(metric.EVENTS, ("journal",), lifetime.journals.events)
    page.add(metric.EVENTS, ("socket",), lifetime.sockets.events)
    for reason in ("lost", "skipped", "untabled"):
        dropped = getattr(lifetime.journals, reason) + getattr(lifetime.sockets, reason)
        page.add(metric.DROPPED, (reason,), dropped)
    page.add(metric.DROPPED, ("log_lines",), service.dropped_line_count)
    _add_incidents(page, lifetime)


def _add_incidents(page: Page, lifetime: Lifetime) -> None:
    """Those that are usual are there from the beginning, so that the first of its kind is seen to come."""
    found: dict[tuple[str, str], int] = {
        (KINDS[kind], Pool.numbered(pool).word): count for kind, pool, count in lifetime.incidents if kind in KINDS
    }
    for place in (*_INCIDENTS, *sorted(found.keys() - {*_INCIDENTS})):
        page.add(metric.INCIDENTS, place, found.get(place, 0))


def _add_ages(page: Page, overview: Snapshot, lifetime: Lifetime, now_ns: int) -> None:
    said = {"snapshot": overview.time_ns, "journal": lifetime.journals.last_ns, "socket": lifetime.sockets.last_ns}
    for source, time_ns in said.items():
        page.add(metric.AGE, (source,), max(0, now_ns - time_ns) / _SECOND_NS if time_ns else None)


def _add_clients(page: Page, overview: Snapshot) -> None:
    found: Counter[tuple[str, str]] = Counter((process.source, process.state) for process in overview.processes)
    for source in _SOURCES:
        for state in _STATES:
            page.add(metric.CLIENTS, (source, state), found[source, state])


def _add_findings(page: Page, overview: Snapshot) -> None:
    """All names that there are, so that the first of its kind is seen to come."""
    found: Counter[str] = Counter()
    for finding in overview.findings:
        found[finding.name] += finding.count
    for name in (*FINDINGS, *sorted(found.keys() - FINDINGS.keys())):
        page.add(metric.FINDINGS, (name,), found[name])
