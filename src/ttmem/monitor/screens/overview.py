"""Everything at a glance: each chip with one headline for DRAM and one for L1, who uses them, and what happened.

Up to 8 chips are cards, or two lines each where there is less room; more are one row each, equal ones folded, the
fullest first. Arrows move from chip to chip; `selected` is the chip under the cursor, whose map the app opens.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ttmem.monitor.parts.chips.cards import CARD_LINES, GUTTER, card_lines, figure_rows
from ttmem.monitor.parts.chips.figures import ChipView, chip_views
from ttmem.monitor.parts.chips.rows import ChipGroup, alone, fullest_first, grouped, row_plan
from ttmem.monitor.parts.drawing import ChipSpot, DrawArea, Drawing, MonitorFrame, Wanted
from ttmem.monitor.screens import empty
from ttmem.monitor.screens.overview_panels import heading, legend_lines, panels
from ttmem.snapshot.usage import DeviceUsage
from ttmem.view.table import Line, Role, Span, fitted
from ttmem.view.texts import plural

__all__ = ["INITIAL", "OverviewState", "acted", "draw", "form_of", "pointed", "selected", "wanted"]

HISTORY_SECONDS = 60
_MANY = 8  # chips, from which on there is one row for each
_CARD_LEAST = 50  # columns of a card
_CARD_GOOD = 58
_FRAMED = 100  # columns from which on there are frames
_PROCESSES = 5  # lines that cards leave to processes
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
    legend = legend_lines(area)
    lines: list[Line] = [heading(frame, area)]
    chips = chip_views(frame, state.chip, is_ascii=area.is_ascii)
    shape = _shape(chips, area, state, len(overview.live))
    room = area.height - len(lines) - len(legend)
    drawn, spots, hidden = _chip_lines(shape, chips, area, state, room, len(lines))
    lines += drawn
    lines += panels(frame, chips, area, area.height - len(lines) - len(legend))
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
