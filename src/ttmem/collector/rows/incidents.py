"""Incidents, and what was alive then, from the ledger's rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ttmem.devices import BufferLayout, Kind, Pool
from ttmem.snapshot.device import ChipName
from ttmem.snapshot.incidents import KINDS, Frame, HeldEntry, Incident, IncidentCopy, Site
from ttmem.snapshot.values import ChipId, TimeNs

__all__ = ["copy_from_rows", "incidents_from_rows"]


def incidents_from_rows(rows: Iterable[Mapping[str, Any]], devices: Mapping[int, ChipName]) -> tuple[Incident, ...]:
    """The incidents of a process, by the rows of the ledger."""
    return tuple(_incident(row, devices) for row in rows)


def _incident(row: Mapping[str, Any], devices: Mapping[int, ChipName]) -> Incident:
    facts = dict(row)
    chips = _names(facts.pop("devices"), devices)
    site, other_site, operation = _site(facts.pop("site")), _site(facts.pop("other_site")), facts.pop("operation")
    last = facts.pop("last_time_ns")
    return Incident(
        kind=KINDS[facts.pop("kind")],
        memory=Pool.numbered(facts.pop("pool")).word,
        device_ids=chips,
        operation=_operation(site) or operation,
        site=site,
        other_site=other_site,
        time_ns=TimeNs(facts.pop("time_ns")),
        last_time_ns=TimeNs(last) if last is not None else None,
        **facts,
    )


def _operation(site: Site | None) -> str | None:
    return site.operation or site.device_operation if site else None


def _site(row: Sequence[Any] | None) -> Site | None:
    if row is None:
        return None
    frames, *others = row
    return Site(tuple(Frame(*frame) for frame in frames), *others)


def copy_from_rows(rows: Mapping[str, Any]) -> IncidentCopy:
    """What `Ledger.incident()` hands out."""
    devices = {row["number"]: _chip_name(row) for row in rows["devices"]}
    return IncidentCopy(
        incident=_incident(rows["incident"], devices),
        pid=rows["pid"],
        entries=tuple(_held_entry(devices, *row) for row in rows["entries"]),
        sequence_before=rows["sequence_before"],
        sequence_after=rows["sequence_after"],
    )


def _held_entry(devices: Mapping[int, ChipName], kind: int, pool: int, identity: int, *facts: Any) -> HeldEntry:
    address, reserved, requested, per_bank, program, operation, cores, core_count, is_per_core, is_view, *rest = facts
    layout, page_bytes, thread, time_ns, sequence, phase, site_row, chips = rest
    site = _site(site_row)
    return HeldEntry(
        kind=Kind.numbered(kind).word,
        memory=Pool.numbered(pool).word,
        id=hex(identity),
        address=address,
        reserved_bytes=reserved,
        requested_bytes=requested,
        per_bank_bytes=per_bank,
        program=program,
        operation=_operation(site) or operation,
        cores=cores,
        core_count=core_count,
        is_per_core=is_per_core,
        is_view=is_view,
        layout=BufferLayout.numbered(layout).word if layout else None,
        page_bytes=page_bytes,
        thread=thread,
        time_ns=TimeNs(time_ns),
        sequence=sequence,
        phase=phase,
        site=site,
        device_ids=_names(chips, devices),
    )


def _chip_name(row: Mapping[str, Any]) -> ChipName:
    return ChipName(row["number"], ChipId(row["unique_id"]), None, row["known"], row["name"])


def _names(numbers: Iterable[int], devices: Mapping[int, ChipName]) -> tuple[str, ...]:
    return tuple(devices[number].uuid or devices[number].name for number in numbers)
