"""Incidents: memory that was refused, circular buffers that clashed, traces that were replayed over a live buffer.

An incident belongs to one process and one target (a chip, or a mesh: then it lists all chips of it), is numbered from 1
within its process, and is stored in the journal with a copy of what was alive there (`IncidentCopy`, asked for apart).
Unknown bytes and counts are None, never 0.
"""

from typing import Literal

from ttmem.snapshot.values import Answer, Count, Struct, TimeNs, replace

__all__ = [
    "KINDS",
    "Frame",
    "HeldEntry",
    "Incident",
    "IncidentCopy",
    "IncidentKind",
    "Site",
    "incident_name",
    "no_copy_text",
    "without_copy",
]

IncidentKind = Literal["out_of_memory", "clash", "unsafe_replay"]
KINDS: dict[int, IncidentKind] = {1: "out_of_memory", 2: "clash", 3: "unsafe_replay"}  # by the journal's numbers


class Frame(Struct, frozen=True):
    """One line of Python: the last three parts of its path, its line, its function."""

    file: str
    line: Count
    function: str


class Site(Struct, frozen=True):
    """Who asked: Python frames, innermost first, and what is known of the operation and the tensor."""

    frames: tuple[Frame, ...] = ()
    operation: str | None = None  # the user's: "ttnn.matmul"
    device_operation: str | None = None  # "MatmulDeviceOperation"
    tensor: str | None = None  # "1x1x32x14336 bfloat16 tile"
    text: str | None = None  # of a program that names its sites itself
    is_other: bool = False  # there was no room for this stack

    @property
    def text_lines(self) -> list[str]:
        """The lines of a site that a program named itself, without directories: innermost first."""
        text = self.text or ""
        places = (line.strip().partition(" ") for line in text.splitlines() if line.strip())
        return [f"{place.rpartition('/')[2]}{blank}{rest}" for place, blank, rest in places] or [text]


class Incident(Struct, frozen=True, kw_only=True):
    """One incident, without what was alive then."""

    number: Count  # counted from 1 within its process
    kind: IncidentKind
    memory: str  # the pool's word: "l1", "dram", ...
    time_ns: TimeNs
    device_ids: tuple[str, ...]  # unique ids of its chips, as elsewhere in the snapshot
    is_mesh: bool
    thread: Count | None = None
    repeat_count: Count = 0  # how often it happened again within a second each time
    last_time_ns: TimeNs | None = None
    is_read_later: bool = False  # figures were asked for a moment after the refusal
    is_of_text: bool = False  # figures are those of the runtime's own text
    is_per_core: bool = False  # asked of single cores: "bank" means core
    is_uncertain: bool = False  # of an unsafe replay: what the trace writes is known roughly; the buffer may be safe
    requested_bytes: Count | None = None  # asked for, in all banks
    requested_per_bank_bytes: Count | None = None  # of each bank
    free_bytes: Count | None = None  # free then, in all banks
    largest_free_bytes: Count | None = None  # largest free block then, in all banks
    free_per_bank_bytes: Count | None = None
    largest_free_per_bank_bytes: Count | None = None
    bank_count: Count | None = None  # how many banks, or cores
    space_begin_address: Count | None = None  # where the addresses of the allocator that refused begin, in each bank
    space_end_address: Count | None = None
    program: Count | None = None
    operation: str | None = None  # of the program, or of the launch that asked
    cores: str | None = None  # "0,0-7,7"
    cb_end_address: Count | None = None
    lowest_buffer_address: Count | None = None
    trace: Count | None = None
    address: Count | None = None  # of an unsafe replay: the buffer that lies where the trace writes
    phase: str | None = None  # that was open
    site: Site | None = None  # who asked; None if that is not known
    other_site: Site | None = None  # of an unsafe replay: who captured
    launches_before: Count = 0  # on its target
    launches_since: Count | None = None
    operations_since: Count | None = None  # reports of any kind after it; 0: the last thing the program did
    entry_count: Count | None = None  # in its copy; None: there was no room for the copy
    left_out_count: Count = 0  # alive then, and not in the copy
    left_out_bytes: Count = 0
    text: str = ""  # what the runtime said, its beginning


class HeldEntry(Struct, frozen=True, kw_only=True):
    """One allocation that was alive at an incident."""

    kind: str  # "buffer", "circular_buffer", ...
    memory: str
    id: str
    address: Count | None
    reserved_bytes: Count  # in all banks, or on all its cores
    requested_bytes: Count
    per_bank_bytes: Count | None  # of one bank, or core
    program: Count | None = None
    operation: str | None = None
    cores: str | None = None  # None: every bank
    core_count: Count | None = None
    is_per_core: bool = False
    is_view: bool = False
    layout: str | None = None
    page_bytes: Count | None = None
    thread: Count | None = None
    time_ns: TimeNs
    sequence: Count  # which of two is newer
    device_ids: tuple[str, ...] = ()  # its chips, if they are not those of the incident: a mesh of it, or one of a mesh
    phase: str | None = None  # of the incident, if it was made since that began; else "before" it
    site: Site | None = None


class IncidentCopy(Answer, frozen=True, kw_only=True):
    """What was alive on an incident's target, of the pools that matter to it."""

    incident: Incident
    pid: Count
    entries: tuple[HeldEntry, ...]
    sequence_before: Count
    sequence_after: Count  # larger by what other threads did while it was copied


def incident_name(pid: int, incident: Incident) -> str:
    """How an incident is called where several processes are shown."""
    return f"{pid}-{incident.number}"


def without_copy(pid: int, incident: Incident) -> IncidentCopy:
    """An incident by its own figures, where there is no copy of what was alive."""
    return IncidentCopy(
        incident=replace(incident, entry_count=None), pid=pid, entries=(), sequence_before=0, sequence_after=0
    )


def no_copy_text(pid: int, number: int) -> str:
    """What to say of an incident whose copy cannot be had."""
    return f"what was alive at incident {pid}-{number} is not recorded: no such incident, or there was no room for it"
