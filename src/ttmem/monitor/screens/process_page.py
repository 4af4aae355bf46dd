"""One process close up: what it holds by line and on each chip, its phases and peaks, what was refused, what does not
add up, and its single allocations, largest or oldest first.

The first lines stay; the rest scrolls. Only lines that are to be seen are laid out.
"""

import dataclasses
import textwrap
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from ttmem.monitor.parts import process_sections as sections
from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame, Pen, shown_name
from ttmem.monitor.parts.process_sections import NOWHERE, Sheet, phase_groups
from ttmem.snapshot.process_detail import Holding, ProcessDetail
from ttmem.snapshot.usage import ProcessDevice
from ttmem.snapshot.values import replace
from ttmem.view.incidents.lines import Told, told_incidents
from ttmem.view.pages.summary import grouped
from ttmem.view.table import Line, Role, width_of
from ttmem.view.texts import age_text, count_text, finding_text, no_lines_text, pid_text, plural, reason_text, size_text

__all__ = ["ProcessPageState", "acted", "draw"]

_ROOM_FOR_ADDRESSES = 100  # columns, where lines and tensors are known
_LINES_FIRST = 8  # lines of Python above everything else
_HEAD = 3  # lines that stay: who it is, its command, a blank
_TURNS = frozenset({"left", "right", "sort_next", "sort_previous", "sort_invert", "zoom", "next_pool"})
Order = Literal["size", "age"]
Drawer = Callable[[], Line]


@dataclass(frozen=True, slots=True)
class ProcessPageState:
    top: int = 0
    order: Order = "size"


def draw(frame: MonitorFrame, area: DrawArea, state: ProcessPageState) -> Drawing:
    detail = frame.detail
    if detail is None:
        return Drawing(((), Pen().put(" Waiting for figures ...", Role.DIM).done()))
    drawers = _body(detail, area, state.order)
    rows = _rows(area)
    first = max(0, min(state.top, len(drawers) - rows))
    lines = [*_head(detail, area), *(drawer() for drawer in drawers[first : first + rows])]
    return Drawing(tuple(lines[: area.height]), hidden_count=max(0, len(drawers) - rows))


def acted(action: str, state: ProcessPageState, frame: MonitorFrame, area: DrawArea) -> ProcessPageState:
    """Scrolls, or turns the order of the list."""
    if action in _TURNS:
        return dataclasses.replace(state, order="age" if state.order == "size" else "size")
    if frame.detail is None:
        return state
    rows = _rows(area)
    most = max(0, len(_body(frame.detail, area, state.order)) - rows)
    here = min(state.top, most)
    steps = {"up": -1, "down": 1, "page_up": -rows, "page_down": rows, "home": -here, "end": most}
    top = max(0, min(here + steps.get(action, 0), most))
    return state if top == state.top else dataclasses.replace(state, top=top)


def _rows(area: DrawArea) -> int:
    return max(1, area.height - _HEAD)


def _head(detail: ProcessDetail, area: DrawArea) -> list[Line]:
    row = detail.process
    pen = Pen().put(f" {pid_text(row.pid, is_visible=row.is_visible)} ", Role.INDEX)
    label = shown_name(row.label or row.command, area.is_ascii)
    parts = [
        (row.user, Role.PLAIN),
        (row.state, Role.GOOD if row.state == "live" else Role.HIGH),
        ("read" if row.source == "runtime" else row.source, Role.DIM),
        (_age(detail), Role.DIM),
        (f"{count_text(row.live_count)} alive", Role.DIM),
        (f"{count_text(row.launch_count)} launches", Role.DIM),
    ]
    rest = sum(len(text) + 3 for text, _ in parts)
    pen.name(label, min(width_of(label), max(8, area.width - pen.at - rest)), Role.TITLE, is_ascii=area.is_ascii)
    dot = " | " if area.is_ascii else " · "
    for text, role in parts:
        text = shown_name(text, area.is_ascii)
        if text and pen.at + 3 + width_of(text) <= area.width:
            pen.put(dot, Role.DIM).name(text, width_of(text), role, is_ascii=area.is_ascii)
    command = Pen().put(" ").name(row.command, area.width - 1, Role.DIM, is_ascii=area.is_ascii)
    return [pen.done(), command.done(), ()]


def _age(detail: ProcessDetail) -> str:
    began = detail.process.start_time_ns
    return age_text(detail.time_ns - began) if began is not None else ""


def _body(detail: ProcessDetail, area: DrawArea, order: Order) -> list[Drawer]:
    holdings = detail.largest if order == "size" else detail.oldest
    has_addresses = area.width >= _ROOM_FOR_ADDRESSES or not any(holding.allocation.tensor for holding in holdings)
    chips = {chip.number: chip for chip in detail.process.named_chips}
    sheet = Sheet(area.width, area.is_ascii, detail.time_ns, chips, has_addresses)
    held = grouped(detail.process.devices, _held)
    refusals = grouped(detail.process.out_of_memory, lambda refused: replace(refused, device=NOWHERE))
    clashes = grouped(detail.process.clashes, lambda clash: replace(clash, device=NOWHERE))
    lines = _section("HELD BY LINE", [], sections.site_line, detail.sites[:_LINES_FIRST], sheet)
    more_lines = _section("MORE LINES", [], sections.site_line, detail.sites[_LINES_FIRST:], sheet)
    incidents = _incidents(detail)
    parts = [
        _section("INCIDENTS", [], sections.incident_line, incidents, sheet),
        lines + _after_lines(detail, sheet),
        _section("ON EACH CHIP", [sections.device_titles], sections.device_line, held, sheet),
        _section("SINCE IT BEGAN", [], sections.sentence_line, list(sections.total_texts(held)), sheet),
        _section("PHASES", [sections.phase_titles], sections.phase_line, phase_groups(detail), sheet),
        _section("MEMORY REFUSED", [], sections.refusal_line, [] if incidents else refusals, sheet),
        _section("CIRCULAR BUFFERS REFUSED", [], sections.clash_line, [] if incidents else clashes, sheet),
        _section("DOES NOT ADD UP", [], sections.sentence_line, list(_doubts(detail, area.width - 3)), sheet),
        more_lines + _unlisted_lines(detail, sheet),
        _section(_listed_as(order), [sections.holding_titles], sections.holding_line, holdings, sheet),
    ]
    drawers: list[Drawer] = []
    for part in filter(None, parts):
        drawers += [*([tuple] if drawers else []), *part]
    return drawers + _left_out(detail, holdings, sheet)


def _incidents(detail: ProcessDetail) -> "list[Told]":
    """The newest first."""
    if not detail.process.incidents:
        return []
    return told_incidents([(detail.process, detail.process.state == "ended")], detail.time_ns)


def _section(
    title: str,
    above: Sequence[Callable[[Sheet], Line]],
    line: Callable[..., Line],
    things: Sequence[object],
    sheet: Sheet,
) -> list[Drawer]:
    """A title, the titles of its columns, and a line for each thing; nothing if there is none."""
    if not things:
        return []
    head = [partial(sections.title_line, title, sheet), *(partial(titles, sheet) for titles in above)]
    return [*head, *(partial(line, thing, sheet) for thing in things)]


def _doubts(detail: ProcessDetail, width: int) -> Iterator[str]:
    """Sentences, broken where the line ends."""
    reasons = [reason_text(detail.process.reason)] if detail.process.reason else []
    for text in (*reasons, *map(finding_text, detail.process.findings)):
        yield from textwrap.wrap(text, width, subsequent_indent="  ")


def _held(one: ProcessDevice) -> Hashable:
    """What a process holds on a chip, but for when its peaks were."""
    pools = tuple(replace(pool, peak_time_ns=None, since_ns=None) for pool in one.pools)
    return pools, one.kinds, one.launch_count, one.activity.footprint


def _listed_as(order: Order) -> str:
    return "ALLOCATIONS, LARGEST FIRST" if order == "size" else "ALLOCATIONS, OLDEST FIRST"


def _after_lines(detail: ProcessDetail, sheet: Sheet) -> list[Drawer]:
    """How many lines are not among the first; or why there are none."""
    more = len(detail.sites) - _LINES_FIRST + detail.more_site_count
    if detail.process.sites_off:
        text = no_lines_text(detail.process.sites_off)
    elif more > 0:
        text = f"and {plural(more, 'more line', 's')}, below"
    else:
        return []
    return [partial(sections.sentence_line, text, sheet)]


def _unlisted_lines(detail: ProcessDetail, sheet: Sheet) -> list[Drawer]:
    count = detail.more_site_count
    return [partial(sections.sentence_line, plural(count, "more line", "s"), sheet)] if count else []


def _left_out(detail: ProcessDetail, holdings: Sequence[Holding], sheet: Sheet) -> list[Drawer]:
    """What the lists do not show."""
    if not detail.more_count:
        return []
    listed = sum(holding.allocation.size_bytes for holding in holdings)
    text = f"{count_text(detail.more_count)} more are alive; {size_text(listed)} are listed"
    return [partial(sections.sentence_line, text, sheet)]
