"""Everything at a glance: every chip with its bars and figures, and below them, where there is room, who holds most.

Arrows move from chip to chip; `selected` is the chip under the cursor, whose map the app opens. Every chip has a place
from 80 x 20 on up to 32 chips; where even single lines are too many, the chips scroll with the cursor.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.monitor.screens.chips.arrangement import GUTTER, Arrangement, arranged
from ttmem.monitor.screens.chips.cards import Chip, chip_of
from ttmem.monitor.screens.chips.cells import cell_lines, name_width
from ttmem.monitor.screens.chips.courses import COURSE_SECONDS
from ttmem.monitor.screens.chips.figures import figure_count
from ttmem.monitor.screens.chips.kept import Kept
from ttmem.monitor.screens.chips.single_lines import LinePlan, line_plan, single_line, titles_line
from ttmem.monitor.screens.frame import Drawing, Frame, Look, Spot, Wanted
from ttmem.monitor.screens.incidents import chip_marks, fresh_count, incident_lines
from ttmem.monitor.screens.listing.entries import entries_of
from ttmem.monitor.screens.listing.order import in_order
from ttmem.monitor.screens.listing.table import Shown, table_for
from ttmem.monitor.screens.pen import Pen, shown_name
from ttmem.snapshot.identity import chip_of as driver_chip_of
from ttmem.snapshot.usage import DeviceUsage, Snapshot
from ttmem.view.device_tables import device_word
from ttmem.view.spans import Line, Role, Span, width_of
from ttmem.view.sparkline import Sample
from ttmem.view.words import plural

__all__ = ["State", "acted", "draw", "pointed", "selected", "wanted"]

_PROCESSES_LEAST = 2  # rows of processes that chips leave room for, if there are as many
_PROCESSES_WANTED = 8  # rows that courses leave to them before they grow tall
_ABOVE_PROCESSES = 2  # a blank and the titles
_BETWEEN = Span(" " * GUTTER)
_kept_chips: Kept[Chip] = Kept()
_kept_cells: Kept[Sequence[Line]] = Kept()
_kept_lines: Kept[Line] = Kept()
Courses = dict[tuple[str | int, Pool], Sequence[Sample]]


class State(NamedTuple):
    """Which chip the cursor is on, by its number; None before it was moved."""

    chip: int | None = None


def draw(frame: Frame, look: Look, state: State) -> Drawing:
    overview = frame.overview
    if overview is None:
        return Drawing(((), (Span(" Looking ...", Role.DIM),)))
    incidents = incident_lines(frame, look)
    lines: list[Line] = [_heading(frame, overview, look), *incidents]
    if not overview.devices:
        lines += [(), (Span(" No chip is open, and nobody reports.", Role.DIM),)]
        return Drawing(tuple([*lines, *_processes(frame, look, look.height - len(lines))][: look.height]))
    how = _arrangement(frame, look, len(incidents))
    chips, spots = _chips(frame, look, state, how, len(lines))
    lines += chips
    lines += _processes(frame, look, look.height - len(lines))
    hits = {spot.row: spot.number for spot in reversed(spots)}
    hidden = len(overview.devices) - len({spot.number for spot in spots})
    return Drawing(tuple(lines[: look.height]), hits, tuple(spots), hidden)


def acted(action: str, state: State, frame: Frame, look: Look) -> State:
    """Arrows go from chip to chip; close takes the cursor away."""
    if frame.overview is None or not frame.overview.devices:
        return state
    numbers = [usage.device.number for usage in frame.overview.devices]
    how = _arrangement(frame, look, len(incident_lines(frame, look)))
    page = how.columns * max(1, (look.height - 2) // (how.height + how.gap))
    steps = {"left": -1, "right": 1, "up": -how.columns, "down": how.columns, "page_up": -page, "page_down": page}
    steps |= {"home": -len(numbers), "end": len(numbers)}
    if action == "close" and state.chip is not None:
        return State()
    if action not in steps:
        return state
    if state.chip not in numbers:
        return State(numbers[0] if steps[action] > 0 or action == "home" else numbers[-1])
    at = numbers.index(state.chip) + steps[action]
    if action in ("home", "end", "page_up", "page_down"):
        at = max(0, min(at, len(numbers) - 1))
    return state._replace(chip=numbers[at]) if 0 <= at < len(numbers) else state


def pointed(hit: int, state: State) -> State:
    """A click on a chip; `hit` is its number."""
    return State(hit)


def wanted(frame: Frame, state: State) -> Wanted:
    return Wanted(history_seconds=COURSE_SECONDS, has_telemetry=frame.telemetry is None)  # nodes stay what they are


def selected(state: State, frame: Frame) -> DeviceUsage | None:
    """The chip under the cursor."""
    devices = frame.overview.devices if frame.overview else ()
    return next((usage for usage in devices if usage.device.number == state.chip), None)


def _heading(frame: Frame, overview: Snapshot, look: Look) -> Line:
    """Host, who counted, how many of everything, and whether all is well; the app shows the time."""
    dead = sum(row.state == "ended" for row in overview.processes)
    incidents = sum(max(row.incident_count, 1) for row in overview.processes if row.was_refused)
    findings = sum(row.finding_count for row in overview.processes)
    known = {row.pid or None for row in overview.processes if row.finding_count}  # theirs are among those of all
    findings += sum(finding.count for finding in overview.findings if finding.pid not in known)
    told = [
        (overview.host.hostname, Role.TITLE),
        (overview.source, Role.DIM),
        (plural(len(overview.devices), "chip", "s"), Role.PLAIN),
        (plural(len(overview.processes) - dead, "process", "es"), Role.PLAIN),
        (plural(incidents, "incident", "s") if incidents else "", Role.FULL if fresh_count(frame) else Role.PLAIN),
        (plural(findings, "finding", "s") if findings else "", Role.HIGH),
        (
            f"incomplete: {overview.reason}" if overview.reason else "complete",
            Role.HIGH if overview.reason else Role.GOOD,
        ),
        (f"{dead:,} ended" if dead else "", Role.DIM),
        (plural(len(overview.foreign), "foreign directory", "") if overview.foreign else "", Role.NOTICE),
    ]
    pen = Pen()
    for text, role in told:
        text = shown_name(text, look.is_ascii)
        taken = width_of(text)
        if text and pen.at + 3 + taken <= look.width:
            pen.put(" " if not pen.at else " | " if look.is_ascii else " · ", Role.DIM)
            pen.name(text, taken, role, is_ascii=look.is_ascii)
    return pen.done()


def _arrangement(frame: Frame, look: Look, above: int) -> Arrangement:
    """The fullest that leaves room for some processes, if any does; else the fullest that fits below so many lines."""
    assert frame.overview is not None
    chip_count, height = len(frame.overview.devices), look.height - 1 - above
    processes = min(_PROCESSES_LEAST, len(frame.overview.processes))
    figures = max(map(figure_count, frame.overview.devices))
    names = max(len(device_word(usage.device)) for usage in frame.overview.devices)
    for reserve in (processes + _ABOVE_PROCESSES if processes else 0, 0):
        how = arranged(
            chip_count,
            figures,
            look.width,
            height - reserve,
            layout=look.layout,
            has_courses=frame.history is not None,
            aside=min(_PROCESSES_WANTED, len(frame.overview.processes)) - processes,
            names=names,
        )
        if how.lines(chip_count) <= height - reserve:
            return how
    return how


def _chips(frame: Frame, look: Look, state: State, how: Arrangement, above: int) -> tuple[list[Line], list[Spot]]:
    """The lines of all chips, and where each of them is."""
    assert frame.overview is not None
    courses, marks = _courses(frame), chip_marks(frame)
    chips = [
        _chip(
            usage,
            courses,
            marks.get(usage.device.uuid or usage.device.name),
            is_selected=usage.device.number == state.chip,
            is_ascii=look.is_ascii,
        )
        for usage in frame.overview.devices
    ]
    names = name_width(chips, how.width)
    lines: list[Line] = []
    plan = line_plan(chips, names, how.width) if how.form == "line" else None
    if plan:
        lines.append(_side_by_side([[titles_line(plan, chips, how.width)]] * min(how.columns, len(chips)), 0, 0))
    spots: list[Spot] = []
    first, count = _window(chips, how, look.height - above - len(lines), state)
    for row in range(first, first + count):
        shown = chips[row * how.columns : (row + 1) * how.columns]
        cells = [_cell(chip, _dev_node(frame, chip), how, plan or names, is_ascii=look.is_ascii) for chip in shown]
        lines += [()] * how.gap
        begin = len(lines)
        spots += _spots(tuple(chip.usage.device.number for chip in shown), how, above + begin)
        lines += [_side_by_side(cells, at, begin + at) for at in range(how.height)]
    return lines, spots


def _chip(usage: DeviceUsage, courses: Courses, refused: Role | None, *, is_selected: bool, is_ascii: bool) -> Chip:
    known_by = usage.device.uuid or usage.device.number
    found = courses.get((known_by, Pool.DRAM), ()), courses.get((known_by, Pool.L1), ())
    return _kept_chips.of(
        usage.device.number,
        (usage, found, refused, is_selected, is_ascii),
        lambda: chip_of(usage, found, is_selected=is_selected, is_ascii=is_ascii)._replace(refused=refused),
    )


def _cell(chip: Chip, dev_node: str, how: Arrangement, plan: LinePlan | int, *, is_ascii: bool) -> Sequence[Line]:
    """The lines of a chip: one by a plan, or a card or a pair of bars behind a name of so many columns."""

    def drawn() -> Sequence[Line]:
        if isinstance(plan, LinePlan):
            return [single_line(chip, plan, how.width, is_ascii=is_ascii)]
        return cell_lines(chip, dev_node, how, plan, is_ascii=is_ascii)

    return _kept_cells.of(chip.usage.device.number, (chip, dev_node, how, plan, is_ascii), drawn)


def _window(chips: Sequence[Chip], how: Arrangement, height: int, state: State) -> tuple[int, int]:
    """First row of cells and how many, so that the cursor is among them."""
    rows = how.rows(len(chips))
    fitting = min(rows, max(1, height // (how.height + how.gap)))
    cursor = next((at for at, chip in enumerate(chips) if chip.is_selected), 0) // how.columns
    return max(0, min(cursor - fitting + 1, rows - fitting)), fitting


@lru_cache(maxsize=128)
def _spots(shown: tuple[int, ...], how: Arrangement, first: int) -> list[Spot]:
    """Of a row of cells that begins in that row of the screen."""
    step = how.width + GUTTER
    return [
        Spot(row, at * step, at * step + how.width, number)
        for row in range(first, first + how.height)
        for at, number in enumerate(shown)
    ]


def _side_by_side(cells: Sequence[Sequence[Line]], at: int, row: int) -> Line:
    """One line of all cells of a row, which is the same line as before if they are."""
    parts = tuple(cell[at] for cell in cells)
    return parts[0] if len(parts) == 1 else _kept_lines.of(row, parts, lambda: _joined(parts))


def _joined(parts: tuple[Line, ...]) -> Line:
    spans: list[Span] = []
    for part in parts:
        spans += [*part, _BETWEEN]
    return tuple(spans[:-1])


def _courses(frame: Frame) -> Courses:
    """What chips held over the last minute, by their unique id, or by their number if they have none."""
    if frame.history is None:
        return {}
    count = max(1, COURSE_SECONDS * 10**9 // frame.history.interval_ns)
    wanted = [one for one in frame.history.series if one.pool in (Pool.DRAM, Pool.L1)]
    return {
        (one.uuid or one.device, one.pool): one.samples if len(one.samples) <= count + 1 else one.samples[-count:]
        for one in wanted  # a longer stretch is there as long as that of another view is the last one that came
    }


def _dev_node(frame: Frame, chip: Chip) -> str:
    """Which node of the driver it is, where that is known."""
    found = driver_chip_of(chip.usage.device, frame.telemetry) if frame.telemetry else None
    return found.dev_node if found else ""


def _processes(frame: Frame, look: Look, height: int) -> list[Line]:
    """Who holds most, in what is left of the screen."""
    if height <= _ABOVE_PROCESSES:
        return []
    entries = in_order([entry for entry in entries_of(frame) if not entry.is_dead], "total", is_inverted=False)
    rows = min(len(entries), height - _ABOVE_PROCESSES)
    if not rows:
        return []
    table = table_for(entries[:rows], "total", look.width, is_ascii=look.is_ascii)
    return [(), table.titles(is_inverted=False), *(table.line(Shown(entry)) for entry in entries[:rows])]
