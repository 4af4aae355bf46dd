"""Incidents as the screens need them: which are news, on which chips and of which processes, in how few words.

An incident is news, and red, while it is newer than a minute or the program ended with it, until the user has marked it
as seen. Afterwards it is counted in grey.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ttmem.monitor.parts.drawing import MonitorFrame
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.usage import DeviceUsage
from ttmem.view.incidents.lines import Told, told_incidents
from ttmem.view.incidents.words import is_per_core_memory, memory_word
from ttmem.view.texts import age_text, size_text

__all__ = [
    "KIND_WORDS",
    "ChipNews",
    "ago_text",
    "chip_news",
    "fresh_count",
    "incident_count",
    "news_of",
    "seen_name",
    "short_text",
    "unlisted_count",
    "whole_age_text",
]

KIND_WORDS = {
    "out_of_memory": "out of memory",
    "clash": "circular buffers clash",
    "unsafe_replay": "unsafe replay",
}


def seen_name(one: Told) -> tuple[int, int, int]:
    """What marks it as seen; one that happens again is news again."""
    return one.pid, one.incident.number, one.time_ns


def news_of(frame: MonitorFrame) -> list[Told]:
    """All incidents whose details are kept, the newest first."""
    if frame.overview is None or not any(row.incidents for row in frame.overview.processes):
        return []
    refused = ((row, row.state == "ended") for row in frame.overview.processes if row.was_refused)
    told = told_incidents(refused, frame.overview.time_ns)
    if not frame.seen:
        return told
    return [one._replace(is_fresh=False) if seen_name(one) in frame.seen else one for one in told]


def fresh_count(frame: MonitorFrame) -> int:
    """How many incidents are news."""
    return sum(one.is_fresh for one in news_of(frame))


def incident_count(frame: MonitorFrame) -> int:
    """How many there were, also those whose details are lost."""
    if frame.overview is None:
        return 0
    rows = frame.overview.processes
    return sum(row.incident_count or row.refusal_count + row.clash_count for row in rows)


def unlisted_count(frame: MonitorFrame) -> int:
    """Those of which nothing but the count is left."""
    return max(0, incident_count(frame) - len(news_of(frame)))


class ChipNews(NamedTuple):
    """The incidents of one chip: the newest of them, and how many there are."""

    newest: Told
    incident_count: int
    age_ns: int

    @property
    def words(self) -> str:
        return KIND_WORDS[self.newest.incident.kind]

    @property
    def is_fresh(self) -> bool:
        return self.newest.is_fresh


def chip_news(told: Sequence[Told], usage: DeviceUsage, time_ns: int) -> ChipNews | None:
    """Those on a chip; news goes before what is newer and was seen."""
    known_by = usage.device.uuid or usage.device.name
    own = [one for one in told if known_by in one.incident.device_ids]
    if not own:
        return None
    newest = next((one for one in own if one.is_fresh), own[0])
    return ChipNews(newest, len(own), max(0, time_ns - newest.time_ns))


def ago_text(age_ns: int) -> str:
    """`14 s ago`; below a second, `now`."""
    return "now" if age_ns < 10**9 else f"{whole_age_text(age_ns)} ago"


def whole_age_text(age_ns: int) -> str:
    """An age in whole units: `2 s`, not `2.31 s`."""
    return age_text(age_ns) if age_ns >= 60 * 10**9 else f"{max(0, age_ns) // 10**9} s"


def short_text(incident: Incident) -> str:
    """What was asked for and what there was, in few words."""
    if incident.kind == "clash":
        end, lowest = incident.cb_end_address, incident.lowest_buffer_address
        if end is None or lowest is None or end <= lowest:
            return ""
        return f"L1: {size_text(end - lowest)} per core do not fit"
    if incident.kind == "unsafe_replay":
        return f"over a buffer of {size_text(incident.requested_bytes)}" if incident.requested_bytes else ""
    is_per_core = is_per_core_memory(incident) and incident.requested_per_bank_bytes is not None
    asked = incident.requested_per_bank_bytes if is_per_core else incident.requested_bytes
    largest = incident.largest_free_per_bank_bytes if is_per_core else incident.largest_free_bytes
    text = f"{memory_word(incident.memory)}: asked {size_text(asked)}{' per core' if is_per_core else ''}"
    return text if largest is None else f"{text}, largest block {size_text(largest)}"
