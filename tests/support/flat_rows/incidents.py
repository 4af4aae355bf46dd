"""Incidents, from the ledger's flat rows."""

from collections.abc import Iterable, Mapping
from typing import Any

from ttmem.collector.rows.structs import site_from_row
from ttmem.devices import Pool
from ttmem.snapshot.incidents import KINDS, Incident
from ttmem.snapshot.values import ChipName, TimeNs

__all__ = ["incidents_from_rows"]


def incidents_from_rows(rows: Iterable[Mapping[str, Any]], devices: Mapping[int, ChipName]) -> tuple[Incident, ...]:
    """The incidents of a process."""
    return tuple(_incident(dict(row), devices) for row in rows)


def _incident(facts: dict[str, Any], devices: Mapping[int, ChipName]) -> Incident:
    chips = tuple(devices[number].uuid or devices[number].name for number in facts.pop("devices"))
    site, operation = site_from_row(facts.pop("site")), facts.pop("operation")
    last = facts.pop("last_time_ns")
    return Incident(
        kind=KINDS[facts.pop("kind")],
        memory=Pool.numbered(facts.pop("pool")).word,
        device_ids=chips,
        operation=(site.operation or site.device_operation if site else None) or operation,
        site=site,
        other_site=site_from_row(facts.pop("other_site")),
        time_ns=TimeNs(facts.pop("time_ns")),
        last_time_ns=TimeNs(last) if last is not None else None,
        **facts,
    )
