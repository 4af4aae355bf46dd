"""Everything at a glance: each chip with one headline for DRAM and one for L1, who uses them, and what happened.

Up to 8 chips are cards, or two lines each where there is less room; more are one row each, equal ones folded, the
fullest first. Arrows move from chip to chip; `selected` is the chip under the cursor, whose map the app opens.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ttmem.devices import Pool
from ttmem.monitor.parts.chips.cards import CARD_LINES, GUTTER, card_lines, figure_rows
from ttmem.monitor.parts.chips.figures import ChipView, chip_views, launches_together, of_text
from ttmem.monitor.parts.chips.rows import ChipGroup, alone, fullest_first, grouped, row_plan
from ttmem.monitor.parts.drawing import (
    RECORDED,
    ChipSpot,
    DrawArea,
    Drawing,
    MonitorFrame,
    Wanted,
    framed,
    placed,
    shown_name,
)
from ttmem.monitor.parts.news import incident_blocks, incident_lines
from ttmem.monitor.parts.process_entries import entries_of
from ttmem.monitor.parts.process_list import ListedEntry, in_order, table_for
from ttmem.monitor.screens import empty
from ttmem.snapshot.usage import DeviceUsage, Snapshot
from ttmem.view.bars import graph
from ttmem.view.table import Line, Role, Span, clipped, fitted, width_of
from ttmem.view.texts import device_word, plural, share_text, tight_count_text

__all__ = ["INITIAL", "OverviewState", "acted", "draw", "form_of", "pointed", "selected", "wanted"]

HISTORY_SECONDS = 60
_MANY = 8  # chips, from which on there is one row for each
_CARD_LEAST = 50  # columns of a card
_CARD_GOOD = 58
_FRAMED = 100  # columns from which on there are frames
_PROCESSES = 5  # lines that cards leave to processes
_ENTRIES_MOST = 8
_GRAPH_LEAST, _GRAPH_MOST = 2, 14  # rows
_BLOCK_ROWS = 4  # an incident in words: when and where, how much, who asked
_INCIDENTS_LEAST = 2  # lines of incidents that processes leave room for
_LAST = "last 60 s"
Form = Literal["cards", "pairs", "rows"]
Order = Literal["", "number", "fullest"]


class OverviewState(NamedTuple):
    """What the user chose; empty where it depends on how many chips there are."""

    chip: int | None = None  # under the cursor, by its number; None before it was moved
    order: Order = ""
    is_grouped: bool | None = None


INITIAL = OverviewState()


class _Shape(NamedTuple):
    """How chips are drawn, and which of them together."""

    form: Form
    across: int
    height: int  # of one
    groups: Sequence[ChipGroup]

    @property
    def rows(self) -> int:
        return -(-len(self.groups) // self.across)

    @property
    def above(self) -> int:
        """Titles."""
        return 0 if self.form == "cards" else 1


def draw(frame: MonitorFrame, area: DrawArea, state: OverviewState) -> Drawing:
    overview = frame.overview
    if overview is None:
        return Drawing(((), (Span(" Waiting for figures ...", Role.DIM),)))
    if not overview.devices and not overview.live:
        return empty.draw(frame, area)
    legend = _legend_lines(area)
    lines: list[Line] = [_heading(frame, area)]
    chips = chip_views(frame, state.chip, is_ascii=area.is_ascii)
    shape = _shape(chips, area, state, len(overview.live))
    room = area.height - len(lines) - len(legend)
    drawn, spots, hidden = _chip_lines(shape, chips, area, state, room, len(lines))
    lines += drawn
    lines += _panels(frame, chips, area, area.height - len(lines) - len(legend))
    lines += [()] * (area.height - len(lines) - len(legend))
    lines = [fitted(line, area.width) for line in (*lines[: max(1, area.height - len(legend))], *legend)]
    hits = {spot.row: spot.number for spot in reversed(spots)}
    return Drawing(tuple(lines[: area.height]), hits, tuple(spots), hidden)


def form_of(chip_count: int, area: DrawArea, process_count: int) -> Form:
    """How so many chips are drawn in that much room."""
    if area.layout == "full":
        return "cards"
    if area.layout == "compact" or chip_count > _MANY:
        return "rows"
    processes = min(process_count, 2) and _PROCESSES
    card_rows = -(-chip_count // _across(chip_count, area.width))
    if area.width >= _FRAMED and 1 + card_rows * CARD_LINES + processes + 2 <= area.height:
        return "cards"
    return "pairs" if 2 + 2 * chip_count + processes + 1 <= area.height else "rows"


def _across(chip_count: int, width: int) -> int:
    least = _CARD_GOOD if width >= _FRAMED else _CARD_LEAST
    return max(1, min(chip_count, (width + GUTTER) // (least + GUTTER)))


def _shape(chips: Sequence[ChipView], area: DrawArea, state: OverviewState, process_count: int) -> _Shape:
    form = form_of(len(chips), area, process_count)
    is_many = len(chips) > _MANY
    is_grouped = is_many and form == "rows" if state.is_grouped is None else state.is_grouped and form == "rows"
    groups = grouped(chips) if is_grouped else alone(chips)
    if state.order == "fullest" or (not state.order and is_many):
        groups = fullest_first(groups)
    if form != "cards":
        return _Shape(form, 1, 2 if form == "pairs" else 1, groups)
    across = _across(len(chips), area.width)
    extra = 0
    if area.layout == "full" and chips:
        inner = _card_width(area.width, across) - 2
        extra = max(len(figure_rows(chip, inner, area)) for chip in chips)
    return _Shape(form, across, CARD_LINES + extra, groups)


def _card_width(width: int, across: int) -> int:
    return (width - GUTTER * (across - 1)) // across


def _chip_lines(
    shape: _Shape, chips: Sequence[ChipView], area: DrawArea, state: OverviewState, room: int, top: int
) -> tuple[list[Line], list[ChipSpot], int]:
    """The lines of all chips that fit, where each of them is, and how many do not fit."""
    if not shape.groups:
        return [], [], 0
    has_total = shape.form == "rows" and len(chips) > 1
    fitting = max(1, (room - shape.above - has_total) // shape.height)
    if fitting < shape.rows:
        fitting = max(1, (room - shape.above - has_total - 1) // shape.height)  # one line says how many are hidden
    first = _window(shape, fitting, state)
    shown = range(first, min(shape.rows, first + fitting))
    drawn, spots = _cards(shape, shown, area) if shape.form == "cards" else _rows(shape, chips, shown, area)
    spots = [spot._replace(row=spot.row + top) for spot in spots]
    count = sum(len(group.chips) for group in shape.groups)
    visible = [group for row in shown for group in shape.groups[row * shape.across : (row + 1) * shape.across]]
    hidden = count - sum(len(group.chips) for group in visible)
    if hidden:
        drawn = drawn[: max(1, room - 1)]
        drawn.append((Span(f" {plural(hidden, 'more chip', 's')}, PgDn and PgUp", Role.DIM),))
    return drawn, spots, hidden


def _window(shape: _Shape, fitting: int, state: OverviewState) -> int:
    """The first row that is shown, so that the cursor is among them."""
    cursor = _cursor(shape.groups, state) or 0
    return max(0, min(cursor // shape.across - fitting + 1, shape.rows - fitting))


def _cursor(groups: Sequence[ChipGroup], state: OverviewState) -> int | None:
    found = (at for at, group in enumerate(groups) if any(chip.number == state.chip for chip in group.chips))
    return next(found, None)


def _cards(shape: _Shape, shown: range, area: DrawArea) -> tuple[list[Line], list[ChipSpot]]:
    width = _card_width(area.width, shape.across)
    lines: list[Line] = []
    spots: list[ChipSpot] = []
    for row in shown:
        groups = shape.groups[row * shape.across : (row + 1) * shape.across]
        cards = [card_lines(group.first, width, area, has_figures=area.layout == "full") for group in groups]
        height = max(map(len, cards))
        for at, group in enumerate(groups):
            left = at * (width + GUTTER)
            spots += [
                ChipSpot(len(lines) + line, left, left + width, group.first.number) for line in range(len(cards[at]))
            ]
        blank = (Span(" " * width),)
        for line in range(height):
            parts = [card[line] if line < len(card) else blank for card in cards]
            joined = [span for part in parts for span in (*part, Span(" " * GUTTER))]
            lines.append(tuple(joined[:-1]))
    return lines, spots


def _rows(shape: _Shape, chips: Sequence[ChipView], shown: range, area: DrawArea) -> tuple[list[Line], list[ChipSpot]]:
    plan = row_plan(shape.groups, chips, area, is_paired=shape.form == "pairs")
    lines: list[Line] = [plan.titles()]
    spots: list[ChipSpot] = []
    for at in shown:
        group = shape.groups[at]
        drawn = [plan.line(group)]
        if shape.form == "pairs":
            drawn.append(plan.below(group.first))
        spots += [ChipSpot(len(lines) + line, 0, area.width, group.first.number) for line in range(len(drawn))]
        lines += drawn
    if shape.form == "rows" and len(chips) > 1:
        lines.append(plan.total(chips))
    return lines, spots


def acted(action: str, state: OverviewState, frame: MonitorFrame, area: DrawArea) -> OverviewState:
    """Arrows go from chip to chip; close takes the cursor away; order and groups are changed."""
    if frame.overview is None or not frame.overview.devices:
        return state
    chips = chip_views(frame, state.chip, is_ascii=area.is_ascii)
    shape = _shape(chips, area, state, len(frame.overview.live))
    if action == "order":
        is_fullest = state.order == "fullest" or (not state.order and len(chips) > _MANY)
        return state._replace(order="number" if is_fullest else "fullest")
    if action == "group":
        is_grouped = len(shape.groups) < len(chips) if state.is_grouped is None else state.is_grouped
        return state._replace(is_grouped=not is_grouped)
    if action == "close" and state.chip is not None:
        return state._replace(chip=None)
    page = shape.across * max(1, (area.height - 4) // shape.height)
    count = len(shape.groups)
    steps = {"left": -1, "right": 1, "up": -shape.across, "down": shape.across, "page_up": -page, "page_down": page}
    steps |= {"home": -count, "end": count}
    if action not in steps:
        return state
    cursor = _cursor(shape.groups, state)
    if cursor is None:
        at = 0 if steps[action] > 0 or action == "home" else count - 1
    else:
        at = cursor + steps[action]
        if action in ("home", "end", "page_up", "page_down"):
            at = max(0, min(at, count - 1))
    return state._replace(chip=shape.groups[at].first.number) if 0 <= at < count else state


def pointed(hit: int, state: OverviewState) -> OverviewState:
    """A click on a chip; `hit` is its number."""
    return state._replace(chip=hit)


def wanted(frame: MonitorFrame, state: OverviewState) -> Wanted:
    return Wanted(history_seconds=HISTORY_SECONDS, has_telemetry=True)


def selected(state: OverviewState, frame: MonitorFrame) -> DeviceUsage | None:
    """The chip under the cursor."""
    devices = frame.overview.devices if frame.overview else ()
    return next((usage for usage in devices if usage.device.number == state.chip), None)


# ---- Around the chips: the heading above them; processes, graphs and incidents below; the legend.


def _heading(frame: MonitorFrame, area: DrawArea) -> Line:
    """How many chips and processes on which host, whether all is known; at the right limits and incidents."""
    overview = frame.overview
    assert overview is not None
    processes = len(overview.live)
    counts = f"{plural(len(overview.devices), 'chip', 's')}, {plural(processes, 'process', 'es')}"
    left = [Span(f" {counts} on {shown_name(overview.host.hostname, area.is_ascii)}", Role.TITLE)]
    right = [*_limits(frame, area), *_incidents(frame, area)]
    room = area.width - sum(span.width for span in (*left, *right)) - 2
    for text, role in _doubts(overview, area):
        shown = f"  {clipped(text, 60, is_ascii=area.is_ascii)}"
        if width_of(shown) <= room:
            left.append(Span(shown, role))
            room -= width_of(shown)
    return placed(tuple(left), area.width - 1, tuple(right))


def _doubts(overview: Snapshot, area: DrawArea) -> Iterator[tuple[str, Role]]:
    """What is not known, or does not add up."""
    if overview.reason:
        yield f"figures incomplete: {overview.reason}", Role.NOTICE
    else:
        yield "all figures complete", Role.DIM
    findings = sum(row.finding_count for row in overview.processes)
    known = {row.pid or None for row in overview.processes if row.finding_count}  # theirs are among those of all
    findings += sum(finding.count for finding in overview.findings if finding.pid not in known)
    if findings:
        yield f"{plural(findings, 'finding', 's')} (7)", Role.NOTICE
    if overview.foreign:
        yield f"{plural(len(overview.foreign), 'place', 's')} of others not readable", Role.NOTICE
    ended = len(overview.ended)
    if ended:
        yield f"{ended:,} ended", Role.DIM
    is_own = not overview.source.startswith("daemon")
    if overview.source.startswith(RECORDED):
        yield "as it was recorded", Role.DIM
        return
    yield "read directly from the programs" if is_own else shown_name(overview.source, area.is_ascii), Role.DIM


def _limits(frame: MonitorFrame, area: DrawArea) -> list[Span]:
    """Chips beyond the user's limit."""
    if area.limit is None or frame.overview is None:
        return []
    over = []
    for usage in frame.overview.devices:
        dram = next((pool.share for pool in usage.pools if pool.pool is Pool.DRAM), None)
        if max(dram or 0, usage.fullest_core_share or 0) >= area.limit:
            over.append(device_word(usage.device))
    if not over:
        return []
    who = f"chip {over[0]}" if len(over) == 1 else f"{len(over)} chips"
    mark = "^" if area.is_ascii else "▲"
    return [Span(f"{mark} {who} over your {share_text(area.limit)} limit  ", Role.HIGH)]


def _incidents(frame: MonitorFrame, area: DrawArea) -> list[Span]:
    fresh, count = frame.fresh_count, frame.incident_count
    if fresh:
        mark = "!" if area.is_ascii else "✖"
        return [Span(f"{mark} {plural(fresh, 'incident', 's')}", Role.FULL)]
    return [Span(plural(count, "incident", "s") if count else "no incidents", Role.DIM)]


def _legend_lines(area: DrawArea) -> list[Line]:
    """What colours and words mean: two lines, or one where there is little room."""
    if area.height < 12:
        return []
    block = "#" if area.is_ascii else "█"
    letters = ("#", "K", "C", "B") if area.is_ascii or area.is_colourless else (block,) * 4
    is_wide = area.width >= _FRAMED
    planned, peak = (":", "|") if area.is_ascii else ("┊", "│")
    parts = [
        (letters[0] if area.is_ascii else block, Role.BAR_DRAM, "DRAM"),
        (letters[1], Role.BAR_RING, "kernel code" if is_wide else "code"),
        (letters[2], Role.BAR_CB, "circular buffers"),
        (letters[3], Role.BAR_BUFFER, "L1 buffers"),
        (planned, Role.PLAIN, "planned: all loaded programs" if is_wide else "planned"),
        (peak, Role.PLAIN, "peak"),
    ]
    if is_wide:
        parts += [("^" if area.is_ascii else "▲", Role.HIGH, "over your limit")]
        parts += [("#" if area.is_ascii else "≠", Role.TITLE, "differs")] if area.width >= 130 else []
    spans: list[Span] = [Span(" ")]
    for mark, role, word in parts:
        spans += [Span(mark, role), Span(f" {word}  ", Role.DIM)]
    if not is_wide:
        return [fitted(tuple(spans), area.width)]
    words = [
        ("L1", ": fullest core, now.  "),
        ("Largest block", ": biggest buffer that would still fit.  "),
        ("Launches", ": programs started."),
    ]
    second = [Span(" ")]
    for word, text in words:
        second += [Span(word), Span(text, Role.DIM)]
    return [fitted(tuple(spans), area.width), fitted(tuple(second), area.width)]


def _panels(frame: MonitorFrame, chips: Sequence[ChipView], area: DrawArea, height: int) -> list[Line]:
    """Processes, and below them what there is room for: incidents before graphs, and never without a line of each."""
    is_framed = area.width >= _FRAMED
    around = 2 if is_framed else 1
    told = frame.incidents
    lines = _processes(frame, area, height - min(len(told), _INCIDENTS_LEAST), around, is_framed=is_framed)
    left = height - len(lines)
    if told and left < around + (_BLOCK_ROWS if is_framed else _GRAPH_LEAST):
        return [*lines, *incident_lines(told, frame, area, left)]
    if left < around + _GRAPH_LEAST:
        return lines
    rows = min(_GRAPH_MOST, left - around)
    if not is_framed:
        latest = _latest(frame, area, area.width, rows) if told else []
        left -= len(latest)
        graphs = _launches(chips, area, area.width, min(rows, left - around)) if left >= around + _GRAPH_LEAST else []
        return [*lines, *latest, *graphs]
    width = (area.width - GUTTER) // 2
    halves = [
        _dram(frame, chips, area, width, rows),
        _latest(frame, area, area.width - GUTTER - width, rows)
        if told
        else _launches(chips, area, area.width - GUTTER - width, rows),
    ]
    return [*lines, *((*one, Span(" " * GUTTER), *other) for one, other in zip(*halves, strict=True))]


def _panel(
    lines: Sequence[Line], width: int, title: str, right: str, area: DrawArea, *, role: Role = Role.FRAME
) -> list[Line]:
    """Under a rule on narrow screens, else inside a frame."""
    ending = (Span(right, Role.DIM),) if right else ()
    if area.width >= _FRAMED:
        return framed(lines, width, (Span(title, Role.TITLE),), ending, role=role, is_ascii=area.is_ascii)
    rule = "-" if area.is_ascii else "─"
    fill = width - width_of(title) - width_of(right) - (8 if right else 4)
    head = (Span(f"{rule * 2} ", role), Span(title, Role.TITLE), Span(f" {rule * max(0, fill)}", role))
    return [(*head, Span(" "), *ending, Span(f" {rule}", role)) if right else head, *lines]


def _processes(frame: MonitorFrame, area: DrawArea, height: int, around: int, *, is_framed: bool) -> list[Line]:
    """Who holds most; the sums below them."""
    entries = in_order([entry for entry in entries_of(frame) if not entry.is_dead], "dram", is_inverted=False)
    room = height - around - 2
    if not entries or room < 1:
        return []
    shown = entries[: min(room, _ENTRIES_MOST)]
    inner = area.width - 2 if is_framed else area.width
    table = table_for(shown, "dram", inner, is_ascii=area.is_ascii, is_full=area.layout == "full")
    lines = [table.titles(), *(table.line(ListedEntry(entry)) for entry in shown), table.total(entries)]
    hidden = len(entries) - len(shown)
    right = f"{hidden:,} more, press 2" if hidden else "sorted by DRAM"
    return _panel([placed(line, inner) for line in lines], area.width, "Processes", right, area)


def _dram(frame: MonitorFrame, chips: Sequence[ChipView], area: DrawArea, width: int, rows: int) -> list[Line]:
    """DRAM of all chips over the last minute; all of it fills the height."""
    series = [one for one in frame.history.series if one.pool is Pool.DRAM] if frame.history else []
    columns = zip(*(one.samples[-60:] for one in series), strict=False)
    samples = [
        sum(value or 0 for value in column) if any(v is not None for v in column) else None for column in columns
    ]
    used = sum(chip.dram.used_bytes or 0 for chip in chips)
    total = sum(chip.dram.total_bytes or 0 for chip in chips)
    lines = graph(
        _stretched(samples, width - 4), width - 4, rows, total or 1, is_ascii=area.is_ascii, role=Role.COURSE_DRAM
    )
    body = [(Span(" "), *line) for line in lines]
    return _panel(body, width, "DRAM of all chips", f"{of_text(used, total)}, {_LAST}", area)


def _launches(chips: Sequence[ChipView], area: DrawArea, width: int, rows: int) -> list[Line]:
    """Launches of all chips over the last minute; the highest fills the height."""
    samples = launches_together(chips)[-60:]
    top = max((value for value in samples if value), default=0)
    known = [chip.launches for chip in chips if chip.launches is not None]
    now = f"now {tight_count_text(sum(known))}" if known else ""
    scale = f", top {tight_count_text(top)}" if top else ""
    lines = graph(_stretched(samples, width - 4), width - 4, rows, top or 1, is_ascii=area.is_ascii)
    body = [(Span(" "), *line) for line in lines]
    title = (
        "Launches per second" if area.width >= _FRAMED and width < _FRAMED - 20 else "Launches per second, all chips"
    )
    return _panel(body, width, title, f"{now}{scale}, {_LAST}" if now else _LAST, area)


def _stretched(samples: Sequence[int | None], width: int) -> Sequence[int | None]:
    """As many as there are columns, where there are fewer: some stand several times."""
    count = len(samples)
    return [samples[at * count // width] for at in range(width)] if 0 < count < width else samples


def _latest(frame: MonitorFrame, area: DrawArea, width: int, rows: int) -> list[Line]:
    """The newest incidents in words, as many as fit whole."""
    lines = incident_blocks(frame, area, width - 4, rows)
    if area.width >= _FRAMED:  # beside another panel of that height
        lines += [()] * (rows - len(lines))
    role = Role.FULL if frame.fresh_count else Role.FRAME
    return _panel(lines, width, "Latest incidents", "press 7 for all", area, role=role)
