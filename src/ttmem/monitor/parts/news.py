"""Incidents of a chip, and any of them in few words or lines."""

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame, shown_name
from ttmem.snapshot.incidents import Incident, incident_name
from ttmem.snapshot.usage import DeviceUsage
from ttmem.view.incidents.lines import Told, lines_of
from ttmem.view.incidents.words import chips_text, headline, is_per_core_memory, memory_word, site_text
from ttmem.view.table import Line, Role, Span, clipped, fitted, width_of
from ttmem.view.texts import clock_text, label_text, plural, size_text, whole_age_text

__all__ = [
    "KIND_WORDS",
    "ChipNews",
    "ago_text",
    "chip_news",
    "incident_blocks",
    "incident_lines",
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


def incident_blocks(frame: MonitorFrame, area: DrawArea, width: int, rows: int) -> list[Line]:
    """The newest incidents in words, as many as fit whole."""
    lines: list[Line] = []
    for one in frame.incidents:
        block = _incident_block(one, frame, area, width)
        if lines and len(lines) + len(block) > rows:
            break
        if len(block) > rows:  # in fewer words; who asked is never left out
            brief = short_text(one.incident)
            block = [block[0], *([(Span(f"   {brief}"),)] if brief and rows > 2 else []), block[-1]]
        lines += block
    return lines[:rows]


def incident_lines(told: Sequence[Told], frame: MonitorFrame, area: DrawArea, rows: int) -> list[Line]:
    """A line for each of the newest incidents, and how many more there are."""
    assert frame.overview is not None
    shown = told if len(told) <= rows else told[: max(1, rows - 1)]
    devices = [usage.device for usage in frame.overview.devices]
    lines = lines_of(shown, devices, area.width, is_ascii=area.is_ascii)
    if len(shown) < len(told):
        lines.append((Span(f" and {plural(len(told) - len(shown), 'more incident', 's')}, press 7", Role.DIM),))
    return lines[:rows]


def _incident_block(one: Told, frame: MonitorFrame, area: DrawArea, width: int) -> list[Line]:
    assert frame.overview is not None
    incident = one.incident
    devices = [usage.device for usage in frame.overview.devices]
    where = chips_text(incident, devices)
    mark = ("!" if area.is_ascii else "✖") if one.is_fresh else " "
    role = Role.FULL if one.is_fresh else Role.TITLE
    who = shown_name(label_text(one.label), area.is_ascii)
    what = f" {mark} {clock_text(one.time_ns)}  {KIND_WORDS[incident.kind]}"
    number = f"  {where}  incident {incident_name(one.pid, incident)}"
    forms = (f"{number}  {who}", number, f"  {where.removesuffix(' (one mesh)')}  {incident_name(one.pid, incident)}")
    head = Span(what, role), Span(next((text for text in forms if width_of(what + text) <= width), forms[-1]))
    text = shown_name(headline(incident, devices).partition(", ")[2], area.is_ascii)
    lines = [fitted(head, width)]
    lines += [(Span(f"   {part}"),) for part in textwrap.wrap(text, max(10, width - 4))[:3]]
    asked = shown_name(f"asked by {site_text(incident.site, 1)}", area.is_ascii)
    return [*lines, (Span(f"   {clipped(asked, width - 4, is_ascii=area.is_ascii)}", Role.DIM),)]
