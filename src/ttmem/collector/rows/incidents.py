"""What was alive at an incident, from the ledger's rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ttmem.collector.rows.structs import incident_from_row, name_from_row, site_from_row
from ttmem.devices import BufferLayout, Kind, Pool
from ttmem.snapshot.incidents import HeldEntry, IncidentCopy, Site
from ttmem.snapshot.values import ChipName, TimeNs

__all__ = ["copy_from_rows"]


def _operation(site: Site | None) -> str | None:
    return site.operation or site.device_operation if site else None


def copy_from_rows(rows: Sequence[Any]) -> IncidentCopy:
    """What `Ledger.incident()` hands out."""
    pid, chips, incident, entries, before, after = rows
    names = {row[0]: name_from_row(row) for row in chips}
    return IncidentCopy(
        incident=incident_from_row(incident, names),
        pid=pid,
        entries=tuple(_held_entry(names, *row) for row in entries),
        sequence_before=before,
        sequence_after=after,
    )


def _held_entry(devices: Mapping[int, ChipName], kind: int, pool: int, identity: int, *facts: Any) -> HeldEntry:
    address, reserved, requested, per_bank, program, operation, cores, core_count, is_per_core, is_view, *rest = facts
    layout, page_bytes, thread, time_ns, sequence, phase, site_row, chips = rest
    site = site_from_row(site_row)
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


def _names(numbers: Iterable[int], devices: Mapping[int, ChipName]) -> tuple[str, ...]:
    return tuple(devices[number].uuid or devices[number].name for number in numbers)
