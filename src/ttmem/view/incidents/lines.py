"""One line per incident, for tables and the monitor's first screen: kind, chips, pid, how much was asked, the line."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from ttmem.analysis.address_lines import is_of_sub_device
from ttmem.snapshot.incidents import Incident, incident_name
from ttmem.snapshot.values import ChipName
from ttmem.view.incidents.words import (
    chips_text,
    incident_title,
    is_per_core_memory,
    memory_word,
    site_text,
)
from ttmem.view.page import PageOptions
from ttmem.view.table import Line, Role, Span, clean, clipped, width_of
from ttmem.view.texts import clock_text, count_text, plural, process_text, size_text

__all__ = [
    "Told",
    "incident_list",
    "is_fresh",
    "line_of",
    "lines_of",
    "marked_chips",
    "next_step",
    "told_incidents",
    "unkept_texts",
]

_FRESH_NS = 60 * 10**9
_NEWEST = 5  # on a page; all that are kept are in JSON
_TITLES = {"clash": "CLASH"}  # shorter than elsewhere: a line has little room


class Reporting(Protocol):
    """A process, as far as its incidents go: a row of the overview or of a snapshot."""

    @property
    def pid(self) -> int: ...
    @property
    def label(self) -> str: ...
    @property
    def incidents(self) -> tuple[Incident, ...]: ...
    @property
    def unlisted_incident_count(self) -> int: ...
    @property
    def incident_count(self) -> int: ...
    @property
    def refusal_count(self) -> int: ...
    @property
    def clash_count(self) -> int: ...


class Told(NamedTuple):
    """An incident and whose it is."""

    incident: Incident
    pid: int
    label: str
    is_fresh: bool

    @property
    def time_ns(self) -> int:
        return self.incident.last_time_ns or self.incident.time_ns


def is_fresh(incident: Incident, time_ns: int, *, is_ended: bool) -> bool:
    """Whether it is shown in red: it is newer than a minute, or the program ended with it: no launch followed, though
    what it held may have been freed on the way out."""
    age_ns = time_ns - (incident.last_time_ns or incident.time_ns)
    return age_ns < _FRESH_NS or (is_ended and 0 in (incident.operations_since, incident.launches_since))


def told_incidents(processes: Iterable[tuple[Reporting, bool]], time_ns: int) -> list[Told]:
    """The incidents of processes, the newest first; beside each process whether it has ended."""
    told = [
        Told(incident, process.pid, process.label, is_fresh(incident, time_ns, is_ended=is_ended))
        for process, is_ended in processes
        for incident in process.incidents
    ]
    return sorted(told, key=lambda one: one.time_ns, reverse=True)


def marked_chips(told: Iterable[Told]) -> dict[str, Role]:
    """The chips of incidents by their ids: in red where one of them is."""
    marks: dict[str, Role] = {}
    for one in told:
        for chip in one.incident.device_ids:
            if one.is_fresh or chip not in marks:
                marks[chip] = Role.FULL if one.is_fresh else Role.DIM
    return marks


def lines_of(told: Sequence[Told], devices: Sequence[ChipName], width: int | None, *, is_ascii: bool) -> list[Line]:
    return [line_of(one, devices, width, is_ascii=is_ascii) for one in told]


def incident_list(
    refused: Sequence[tuple[Reporting, bool]],
    devices: Sequence[ChipName],
    time_ns: int,
    options: PageOptions,
) -> tuple[list[Line], list[str]]:
    """A title and a line for each of the newest incidents; and what is to be said of the others."""
    told = told_incidents(refused, time_ns)
    count = sum(max(process.incident_count, 1) for process, _ in refused)
    title = Role.FULL if any(one.is_fresh for one in told) else Role.HEAD
    lines: list[Line] = [(Span(f" INCIDENTS {count:,}", title),)] if refused else []
    lines += lines_of(told[:_NEWEST], devices, options.width, is_ascii=options.is_ascii)
    notes = [next_step(told[0], options.explaining)] if told else []
    notes += [f"and {len(told) - _NEWEST:,} earlier (--json lists them)."] if len(told) > _NEWEST else []
    return lines, [*notes, *unkept_texts(process for process, _ in refused)]


def next_step(newest: Told, explaining: str) -> str:
    """What to do about it."""
    words = explaining.format(incident_name(newest.pid, newest.incident) if newest.pid else "").rstrip()
    return f"{words} says why and what to free."


def line_of(one: Told, devices: Sequence[ChipName], width: int | None, *, is_ascii: bool) -> Line:
    """What matters most first; free memory, the time and the label only where there is room."""
    incident = one.incident
    more = f" x{count_text(incident.repeat_count + 1)}" if incident.repeat_count else ""
    title = f" {_TITLES.get(incident.kind, incident_title(incident))}{more}"
    chips = chips_text(incident, devices).removesuffix(" (one mesh)")
    body = f"  {chips}  {_name(one)}  {_asked(incident)}  "
    room = None if width is None else width - width_of(title) - width_of(body)
    body += _site_in(site_text(incident.site, 1), room, is_ascii=is_ascii)
    extras = [f"  {_free(incident)}", f"  {clock_text(one.time_ns)}", f"  {clean(one.label)}"]
    taken = width_of(title) + width_of(body)
    rest = ""
    for text in extras:
        if not text.strip():
            continue
        if width is None or taken + width_of(rest) + width_of(text) <= width:
            rest += text
    if width is not None:
        body = clipped(body, max(0, width - width_of(title)), is_ascii=is_ascii)
    return Span(title, Role.FULL if one.is_fresh else Role.DIM), Span(body), Span(rest, Role.DIM)


def _site_in(text: str, room: int | None, *, is_ascii: bool) -> str:
    """file.py:12 function, where there is less room the end of the file's name and its line: those lead to it."""
    place = text.partition(" ")[0]
    excess = 0 if room is None else width_of(place) - room
    name, _, number = place.rpartition(":")
    if excess <= 0 or not number.isdecimal() or len(name) <= excess:
        return text
    return ("~" if is_ascii else "…") + place[excess + 1 :]


def _name(one: Told) -> str:
    return f"pid {incident_name(one.pid, one.incident)}" if one.pid else f"incident {one.incident.number}"


def _asked(incident: Incident) -> str:
    if incident.kind == "clash":
        end = incident.cb_end_address
        program = "a program" if incident.program is None else f"program {incident.program}"
        return f"{program} asked more than there is" if end is None else f"{program} asked CBs up to {hex(end)}"
    if incident.kind == "unsafe_replay":
        trace = "a trace" if incident.trace is None else f"trace {incident.trace}"
        return f"{trace} over {size_text(incident.requested_bytes)}"
    memory = f"{'sub-device ' if is_of_sub_device(incident) else ''}{memory_word(incident.memory)}"
    if is_per_core_memory(incident) and incident.requested_per_bank_bytes is not None:
        return f"asked {size_text(incident.requested_per_bank_bytes)}/core of {memory}"
    return f"asked {size_text(incident.requested_bytes)} of {memory}"


def _free(incident: Incident) -> str:
    """What there was instead; empty if that is not known."""
    if incident.kind == "unsafe_replay":
        return ""
    if incident.kind == "clash" and incident.cb_end_address is not None and incident.lowest_buffer_address is not None:
        return f"{size_text(incident.cb_end_address - incident.lowest_buffer_address)} too far"
    is_per_core = is_per_core_memory(incident) and incident.requested_per_bank_bytes is not None
    free = incident.free_per_bank_bytes if is_per_core else incident.free_bytes
    largest = incident.largest_free_per_bank_bytes if is_per_core else incident.largest_free_bytes
    if free is None or largest is None:
        return ""
    return f"free {size_text(free)}, largest block {size_text(largest)}"


def unkept_texts(processes: Iterable[Reporting]) -> Iterator[str]:
    """What is known of incidents whose details are not: nothing is never said when something was."""
    for process in processes:
        name = process_text(process.pid, clean(process.label)) if process.pid else clean(process.label)
        if process.unlisted_incident_count and process.incidents:
            yield f"{name}: {plural(process.unlisted_incident_count, 'earlier incident', 's')}, details not kept."
        elif process.unlisted_incident_count:
            yield f"{name}: {plural(process.unlisted_incident_count, 'incident', 's')}, details not kept."
        elif not process.incident_count and (process.refusal_count or process.clash_count):
            refused = plural(process.refusal_count, "allocation", "s")
            clashes = plural(process.clash_count, "launch", "es")
            texts = [f"{refused} refused"] * bool(process.refusal_count)
            texts += [f"{clashes} refused for circular buffers"] * bool(process.clash_count)
            yield f"{name}: {', '.join(texts)}; details not kept."
