"""Incidents, the newest first: a sentence, who asked for what, how much was free and where, who held it, what to do.

Below them what does not add up in what programs report. Incidents are kept by each program, so they are here also if
the monitor was started later; where only a count survived, that is said.
"""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ttmem.analysis import Explanation
from ttmem.monitor.panels.page import finding_lines
from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame, Wanted, framed, shown_name
from ttmem.monitor.parts.news import KIND_WORDS, ago_text
from ttmem.snapshot.usage import DeviceUsage
from ttmem.snapshot.values import ChipName
from ttmem.view.incidents.address_map import address_map, legend
from ttmem.view.incidents.block import floor_text, freeing_text, holder_rows, replay_rows
from ttmem.view.incidents.explained import asked_by, entry_line, why_text
from ttmem.view.incidents.lines import Told, unkept_texts
from ttmem.view.incidents.rows import Row, labelled
from ttmem.view.incidents.story import incident_story
from ttmem.view.incidents.words import chips_text, headline, memory_word, sized
from ttmem.view.page import PageOptions
from ttmem.view.table import Line, Role, Span, clean, fitted, plain
from ttmem.view.texts import clock_text, label_text, plural, size_text

__all__ = ["INITIAL", "IncidentsState", "acted", "copied", "draw", "holders", "pointed", "selected", "story", "wanted"]

_FRAMED = 100  # columns from which on there are frames
_SHOWN = 3  # incidents that are explained at once
_HOLDERS_MOST = 3
_ALL = 50
_WAY_MOST = 2
_TITLES = {"out_of_memory": "Out of memory", "clash": "Circular buffers clash with L1 buffers"}


@dataclass(frozen=True, slots=True)
class IncidentsState:
    """Which incident the cursor is on: 0 is the newest."""

    at: int = 0


INITIAL = IncidentsState()


def draw(frame: MonitorFrame, area: DrawArea, state: IncidentsState) -> Drawing:
    told = frame.incidents
    at = _at(told, state)
    lines: list[Line] = [_heading(frame, area)]
    hits: dict[int, int] = {}
    shown = 0
    for number, one in enumerate(told[at:], at):
        block = _block(one, frame, area, is_chosen=number == at and len(told) > 1)
        if shown and len(lines) + len(block) > area.height:
            break
        hits |= dict.fromkeys(range(len(lines), len(lines) + len(block)), number)
        lines += block
        shown += 1
    hidden = len(told) - shown
    rest = _below(frame, area)
    if not hidden or not told:
        lines += rest if told else [(), *rest]
    lines += [()] * (area.height - 2 - len(lines)) if not hidden else []
    if len(lines) + 2 <= area.height and area.height >= 20:
        lines += _legend(area)
    fitting = [fitted(line, area.width) for line in lines[: area.height]]
    return Drawing(tuple(fitting), hits, hidden_count=max(hidden, len(lines) - area.height if not hidden else 0))


def _at(told: Sequence[Told], state: IncidentsState) -> int:
    return max(0, min(state.at, len(told) - 1))


def acted(action: str, state: IncidentsState, frame: MonitorFrame, area: DrawArea) -> IncidentsState:
    told = frame.incidents
    steps = {"up": -1, "down": 1, "page_up": -2, "page_down": 2, "home": -len(told), "end": len(told)}
    if action not in steps or not told:
        return state
    at = max(0, min(_at(told, state) + steps[action], len(told) - 1))
    return state if at == state.at else replace(state, at=at)


def pointed(hit: int, state: IncidentsState) -> IncidentsState:
    return replace(state, at=hit)


def wanted(frame: MonitorFrame, state: IncidentsState) -> Wanted:
    """The incidents on screen, with what was alive at each."""
    told = frame.incidents
    at = _at(told, state)
    return Wanted(incidents=tuple((one.pid, one.incident.number) for one in told[at : at + _SHOWN]))


def selected(state: IncidentsState, frame: MonitorFrame) -> DeviceUsage | None:
    """The chip of the incident under the cursor."""
    told = frame.incidents
    if not told or frame.overview is None:
        return None
    ids = told[_at(told, state)].incident.device_ids
    return next((one for one in frame.overview.devices if (one.device.uuid or one.device.name) in ids), None)


def copied(state: IncidentsState, frame: MonitorFrame) -> str:
    """The incident under the cursor as text; empty if there is none."""
    told = frame.incidents
    if not told:
        return ""
    one = told[_at(told, state)]
    lines = [_title(one, frame), *_inside(one, frame, DrawArea(_FRAMED, 200, True))]
    return plain(list(lines))


def story(state: IncidentsState, frame: MonitorFrame, area: DrawArea) -> list[Line]:
    """All that is known of the incident under the cursor, with the memory map of that moment."""
    told = frame.incidents
    explanation = _explained(told[_at(told, state)], frame) if told else None
    if explanation is None:
        return [(Span(" Nothing more is known of it yet.", Role.DIM),)]
    return incident_story(explanation, _devices(frame), PageOptions(area.width - 1, area.is_ascii))


def holders(state: IncidentsState, frame: MonitorFrame, area: DrawArea) -> list[Line]:
    """Who held the memory, the largest first."""
    told = frame.incidents
    explanation = _explained(told[_at(told, state)], frame) if told else None
    if explanation is None or not explanation.holders:
        return [(Span(" Who held it is not known.", Role.DIM),)]
    return labelled(holder_rows(explanation, _ALL, PageOptions(area.width - 1, area.is_ascii)), area.width - 1)


def _explained(one: Told, frame: MonitorFrame) -> Explanation | None:
    return frame.explanations.get((one.pid, one.incident.number))


def _devices(frame: MonitorFrame) -> list[ChipName]:
    return [usage.device for usage in frame.overview.devices] if frame.overview else []


def _heading(frame: MonitorFrame, area: DrawArea) -> Line:
    count = frame.incident_count
    fresh = any(one.is_fresh for one in frame.incidents)
    title = plural(count, "incident", "s") if count else "No incidents"
    words = "newest first; kept by each program, so they are here even if ttmem was started later"
    text = f"  {words}" if count and area.width >= 110 else "  newest first" if count else ""
    return (Span(f" {title}", Role.FULL if fresh else Role.TITLE), Span(text, Role.DIM))


def _title(one: Told, frame: MonitorFrame) -> Line:
    incident = one.incident
    words = _TITLES.get(incident.kind, KIND_WORDS[incident.kind].capitalize())
    if incident.kind == "out_of_memory":
        words += f" in {memory_word(incident.memory)}"
    time_ns = frame.overview.time_ns if frame.overview else one.time_ns
    again = f", {incident.repeat_count + 1:,} times" if incident.repeat_count else ""
    when = f"{clock_text(one.time_ns)}, {ago_text(max(0, time_ns - one.time_ns))}{again}"
    return (Span(words, Role.FULL if one.is_fresh else Role.TITLE), Span(f"  {when}", Role.DIM))


def _block(one: Told, frame: MonitorFrame, area: DrawArea, *, is_chosen: bool) -> list[Line]:
    """An incident in a frame, or under a rule on a narrow screen."""
    mark = ("! " if area.is_ascii else "✖ ") if one.is_fresh else ""
    pointer = "> " if is_chosen else ""
    title = (Span(f"{pointer}{mark}", Role.FULL if one.is_fresh else Role.TITLE), *_title(one, frame))
    user = next((row.user for row in frame.overview.processes if row.pid == one.pid), "") if frame.overview else ""
    where = chips_text(one.incident, _devices(frame))
    who = shown_name(f"{where}, pid {one.pid} {label_text(one.label)}, user {user or 'unknown'}", area.is_ascii)
    role = Role.FULL if one.is_fresh else Role.FRAME
    if area.width >= _FRAMED:
        inside = _inside(one, frame, area._replace(width=area.width - 2))
        return framed(inside, area.width, title, (Span(who),), role=role, is_ascii=area.is_ascii)
    rule = "-" if area.is_ascii else "─"
    head = fitted((Span(f"{rule} ", role), *title), area.width)
    return [head, (Span(f"   {clean(who)}", Role.DIM),), *_inside(one, frame, area), ()]


def _inside(one: Told, frame: MonitorFrame, area: DrawArea) -> list[Line]:
    explanation = _explained(one, frame)
    lines: list[Line] = []
    for text in _sentences(one, explanation, frame):
        wrapped = textwrap.wrap(shown_name(text, area.is_ascii), max(20, area.width - 4))
        lines += [(Span(f"  {part}", Role.TITLE),) for part in wrapped]
    if area.height >= 30:
        lines.append(())
    if explanation is None:
        return [*lines, (Span("  reading what was alive then ...", Role.DIM),)]
    options = PageOptions(area.width - 2, area.is_ascii)
    lines += labelled(_rows(one, explanation), area.width - 2)
    if explanation.lines:
        shown = explanation.lines[0]
        is_refusal = explanation.clash is None
        asked = explanation.incident.requested_per_bank_bytes if is_refusal else None
        each = f"on cores {shown.cores}" if shown.cores else "one bank; each of them looks like this"
        if explanation.clash is not None:
            each = "one core; crossed: both want it"
        lines += labelled([("to scale", each, Role.DIM)], area.width - 2)
        lines += address_map(shown, asked, f"asked {size_text(asked)}", width=area.width - 2, is_ascii=area.is_ascii)
        if area.height >= 30:
            lines.append(legend(shown, is_ascii=area.is_ascii))
    rows = [] if explanation.replay else list(holder_rows(explanation, _HOLDERS_MOST, options))
    rows += [("what to do", text, Role.GOOD) for text in _advice(one, explanation)]
    lines += labelled(rows, area.width - 2)
    return [_ascii(line) if area.is_ascii else line for line in lines]


def _ascii(line: Line) -> Line:
    return tuple(span._replace(text=shown_name(span.text, True)) for span in line)


def _sentences(one: Told, explanation: Explanation | None, frame: MonitorFrame) -> Iterator[str]:
    """What happened, in one sentence with its figures."""
    incident = one.incident
    if incident.kind != "out_of_memory":
        text = headline(incident, _devices(frame)).partition(": ")[2] if incident.kind != "clash" else ""
        text = text or headline(incident, _devices(frame)).partition(", L1: ")[2]
        yield f"{text[:1].upper()}{text[1:]}."
        return
    why = next(why_text(explanation), "") if explanation else ""
    yield f"A buffer of {sized(incident.requested_bytes)} was refused{f': {why}' if why else ''}."


def _rows(one: Told, explanation: Explanation) -> Iterator[Row]:
    incident = explanation.incident
    if explanation.replay is not None:
        yield from replay_rows(explanation.replay)
        return
    if incident.kind == "out_of_memory":
        banks = plural(incident.bank_count, "bank", "s") if incident.bank_count else ""
        each = f" ({sized(incident.requested_per_bank_bytes)} in each of {banks})" if banks else ""
        yield "asked", f"{sized(incident.requested_bytes)}{each}", Role.PLAIN
    yield "asked by", asked_by(explanation), Role.PLAIN
    if incident.free_bytes is not None:
        block = sized(incident.largest_free_bytes)
        yield "free", f"{size_text(incident.free_bytes)}, largest block {block}", Role.PLAIN
    if explanation.clash is not None:
        for number, entry in enumerate(explanation.clash.in_the_way[:_WAY_MOST]):
            place = "" if entry.address is None else f"{hex(entry.address)}  "
            size = f"{size_text(entry.per_bank_bytes)} per core" if entry.per_bank_bytes is not None else ""
            yield "in the way" if not number else "", f"{place}{size}  {entry_line(entry)}", Role.PLAIN
        more = len(explanation.clash.in_the_way) - _WAY_MOST
        if more > 0:
            yield "", f"and {more:,} more", Role.DIM


def _advice(one: Told, explanation: Explanation) -> Iterator[str]:
    """What would have helped, as far as that was worked out."""
    found = [f"{text[:1].upper()}{text[1:]}." for text in freeing_text(explanation)]
    if explanation.clash is not None and explanation.clash.missing_bytes:
        found.append(
            f"Free or move the buffers in the way, or give the program {size_text(explanation.clash.missing_bytes)} "
            "less of circular buffers per core."
        )
        found += [f"{text[:1].upper()}{text[1:]}." for text in floor_text(explanation)]
    yield from found[:2]
    if not found and explanation.replay is None:
        yield f"ttmem explain {one.pid}-{one.incident.number} shows everything that was alive then."


def _below(frame: MonitorFrame, area: DrawArea) -> list[Line]:
    """Incidents of which only a count is left; then what does not add up."""
    rows = frame.overview.processes if frame.overview else ()
    lost = list(unkept_texts(row for row in rows if row.was_refused))
    rule = ("-" if area.is_ascii else "─") * max(0, area.width - 12)
    lines: list[Line] = []
    if lost:
        lines.append((Span(" Earlier ", Role.DIM), Span(rule, Role.FRAME)))
        lines += [(Span(f"   {shown_name(text, area.is_ascii)}"),) for text in lost]
    findings = finding_lines(frame, area)
    lines.append((Span(" Findings ", Role.DIM), Span(rule[1:], Role.FRAME)))
    return [*lines, *(findings or [(Span("   none: everything that programs report adds up", Role.DIM),)])]


def _legend(area: DrawArea) -> list[Line]:
    texts = (
        ("Out of memory", ": no free block was large enough.  ", "Clash", ": circular and L1 buffers would overlap."),
        ("Red", ": an incident newer than a minute, or at a program's end; v marks as seen.", "", ""),
    )
    return [
        fitted((Span(f" {one}"), Span(two, Role.DIM), Span(three), Span(four, Role.DIM)), area.width)
        for one, two, three, four in texts
    ]
