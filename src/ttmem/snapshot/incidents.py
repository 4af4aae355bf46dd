"""Incidents: memory that was refused, circular buffers that clashed, traces that were replayed over somebody's buffer.

An incident belongs to one process and one target (a chip, or a mesh: then it lists all chips of it), is numbered from 1
within its process, and is kept in the journal with a copy of what was alive there (`IncidentCopy`, asked for apart).
Bytes and counts that nobody knows are None, never 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec

from ttmem.devices import BufferLayout, Device, Kind, Pool
from ttmem.errors import VersionMismatch
from ttmem.snapshot.fields import Fields, time_text

__all__ = [
    "KINDS",
    "Frame",
    "HeldEntry",
    "Incident",
    "IncidentCopy",
    "IncidentKind",
    "Site",
    "copy_document",
    "copy_from_document",
    "copy_from_rows",
    "incident_document",
    "incident_name",
    "incidents_from_rows",
    "no_copy_text",
    "read_incident",
]

IncidentKind = Literal["out_of_memory", "clash", "unsafe_replay"]
KINDS: dict[int, IncidentKind] = {1: "out_of_memory", 2: "clash", 3: "unsafe_replay"}  # by the journal's numbers
Count = Annotated[int, msgspec.Meta(ge=0)]


class Frame(msgspec.Struct, frozen=True):
    """One line of Python: the last three parts of its path, its line, its function."""

    file: str
    line: int
    function: str


class Site(msgspec.Struct, frozen=True):
    """Who asked: Python frames, innermost first, and what is known of the operation and the tensor."""

    frames: tuple[Frame, ...] = ()
    operation: str | None = None  # the user's: "ttnn.matmul"
    device_operation: str | None = None  # "MatmulDeviceOperation"
    tensor: str | None = None  # "1x1x32x14336 bfloat16 tile"
    text: str | None = None  # of a program that names its sites itself
    is_other: bool = False  # there was no room for this stack


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    """One incident, without what was alive then."""

    number: Count
    kind: IncidentKind
    memory: str  # the pool's word: "l1", "dram", ...
    time_ns: Count  # since 1970
    device_ids: tuple[str, ...]  # unique ids of its chips, as elsewhere in the snapshot
    is_mesh: bool
    thread: int | None = None
    repeat_count: Count = 0  # how often it happened again within a second each time
    last_time_ns: Count | None = None
    is_read_later: bool = False  # figures were asked for a moment after the refusal
    is_of_text: bool = False  # figures are those of the runtime's own text
    is_per_core: bool = False  # asked of single cores: "bank" means core
    is_uncertain: bool = False  # of an unsafe replay: what the trace writes is known roughly; the buffer may be safe
    requested_bytes: Count | None = None
    requested_per_bank_bytes: Count | None = None
    free_bytes: Count | None = None
    largest_free_bytes: Count | None = None
    free_per_bank_bytes: Count | None = None
    largest_free_per_bank_bytes: Count | None = None
    bank_count: Count | None = None
    space_begin_address: Count | None = None
    space_end_address: Count | None = None
    program: int | None = None
    operation: str | None = None  # of the program, or of the launch that asked
    cores: str | None = None  # "0,0-7,7"
    cb_end_address: Count | None = None
    lowest_buffer_address: Count | None = None
    trace: int | None = None
    address: Count | None = None  # of an unsafe replay: the buffer that lies where the trace writes
    phase: str | None = None
    site: Site | None = None
    other_site: Site | None = None  # of an unsafe replay: who captured
    launches_before: Count = 0  # on its target
    launches_since: Count | None = None
    operations_since: Count | None = None  # reports of any kind after it; 0: the last thing the program did
    entry_count: Count | None = None  # in its copy; None: the copy was not kept
    left_out_count: Count = 0
    left_out_bytes: Count = 0
    text: str = ""  # what the runtime said, its beginning


class HeldEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One allocation that was alive at an incident."""

    kind: str  # "buffer", "circular_buffer", ...
    memory: str
    id: str
    address: Count | None
    reserved_bytes: Count  # in all banks, or on all its cores
    requested_bytes: Count
    per_bank_bytes: Count | None  # of one bank, or core
    program: int | None = None
    operation: str | None = None
    cores: str | None = None  # None: every bank
    core_count: Count | None = None
    is_per_core: bool = False
    is_view: bool = False
    layout: str | None = None
    page_bytes: Count | None = None
    thread: int | None = None
    time_ns: Count
    sequence: Count  # which of two is newer
    device_ids: tuple[str, ...] = ()  # its chips, if they are not those of the incident: a mesh of it, or one of a mesh
    phase: str | None = None  # of the incident, if it was made since that began; else "before" it
    site: Site | None = None


class IncidentCopy(msgspec.Struct, frozen=True, kw_only=True):
    """What was alive on an incident's target, of the pools that matter to it."""

    incident: Incident
    pid: int
    entries: tuple[HeldEntry, ...]
    sequence_before: Count
    sequence_after: Count  # larger by what other threads did while it was copied


def incident_name(pid: int, incident: Incident) -> str:
    """How an incident is called where several processes are shown."""
    return f"{pid}-{incident.number}"


def no_copy_text(pid: int, number: int) -> str:
    """What to say of an incident whose copy cannot be had."""
    return f"what was alive at incident {pid}-{number} is not kept: no such incident, or there was no room for it"


def incidents_from_rows(rows: Iterable[Mapping[str, Any]], devices: Mapping[int, Device]) -> tuple[Incident, ...]:
    """The incidents of a process, by the rows of the ledger."""
    return tuple(_incident(row, devices) for row in rows)


def _incident(row: Mapping[str, Any], devices: Mapping[int, Device]) -> Incident:
    facts = dict(row)
    chips = _names(facts.pop("devices"), devices)
    site, other_site, operation = _site(facts.pop("site")), _site(facts.pop("other_site")), facts.pop("operation")
    return Incident(
        kind=KINDS[facts.pop("kind")],
        memory=Pool(facts.pop("pool")).word,
        device_ids=chips,
        operation=_operation(site) or operation,
        site=site,
        other_site=other_site,
        **facts,
    )


def _operation(site: Site | None) -> str | None:
    return site.operation or site.device_operation if site else None


def _site(row: Sequence[Any] | None) -> Site | None:
    if row is None:
        return None
    frames, *others = row
    return Site(tuple(Frame(*frame) for frame in frames), *others)


def incident_document(incident: Incident) -> dict[str, Any]:
    """An incident as it stands in documents: its fields, and times as texts."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(incident))  # with lists, as elsewhere
    time_ns, last_time_ns = document.pop("time_ns"), document.pop("last_time_ns")
    return {"time": time_text(time_ns), "last_time": time_text(last_time_ns), **document}


def read_incident(row: Fields) -> Incident:
    """The inverse of `incident_document`. One that is not as it should be is a VersionMismatch."""
    facts = row.values | {"time_ns": row.time_ns("time"), "last_time_ns": row.maybe_time_ns("last_time")}
    try:
        return msgspec.convert(facts, Incident)
    except msgspec.ValidationError as error:
        row.refuse("", "an incident", str(error))


def copy_from_rows(rows: Mapping[str, Any], devices: Mapping[int, Device]) -> IncidentCopy:
    """What `Ledger.incident()` hands out."""
    return IncidentCopy(
        incident=_incident(rows["incident"], devices),
        pid=rows["pid"],
        entries=tuple(_held_entry(devices, *row) for row in rows["entries"]),
        sequence_before=rows["sequence_before"],
        sequence_after=rows["sequence_after"],
    )


def _held_entry(devices: Mapping[int, Device], kind: int, pool: int, identity: int, *facts: Any) -> HeldEntry:
    address, reserved, requested, per_bank, program, operation, cores, core_count, is_per_core, is_view, *rest = facts
    layout, page_bytes, thread, time_ns, sequence, phase, site_row, chips = rest
    site = _site(site_row)
    return HeldEntry(
        kind=Kind(kind).word,
        memory=Pool(pool).word,
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
        layout=BufferLayout(layout).word if layout else None,
        page_bytes=page_bytes,
        thread=thread,
        time_ns=time_ns,
        sequence=sequence,
        phase=phase,
        site=site,
        device_ids=_names(chips, devices),
    )


def _names(numbers: Iterable[int], devices: Mapping[int, Device]) -> tuple[str, ...]:
    return tuple(devices[number].uuid or devices[number].name for number in numbers)


def copy_document(copy: IncidentCopy) -> dict[str, Any]:
    """A copy as a daemon sends it: the fields of these structs."""
    document: dict[str, Any] = msgspec.to_builtins(copy)
    return document


def copy_from_document(document: object) -> IncidentCopy:
    """The inverse. What is no such copy is a VersionMismatch."""
    try:
        return msgspec.convert(document, IncidentCopy)
    except msgspec.ValidationError as error:
        raise VersionMismatch(
            f"the copy of an incident: {error}; both sides must be of one version of ttmem: restart the older one"
        ) from None
