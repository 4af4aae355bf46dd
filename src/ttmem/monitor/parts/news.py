"""Incidents of a chip, and any of them in few words."""

from collections.abc import Sequence
from typing import NamedTuple

from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.usage import DeviceUsage
from ttmem.view.incidents.lines import Told
from ttmem.view.incidents.words import is_per_core_memory, memory_word
from ttmem.view.texts import size_text, whole_age_text

__all__ = [
    "KIND_WORDS",
    "ChipNews",
    "ago_text",
    "chip_news",
    "short_text",
]

KIND_WORDS = {
    "out_of_memory": "out of memory",
    "clash": "circular buffers clash",
    "unsafe_replay": "unsafe replay",
}


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
