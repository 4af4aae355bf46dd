"""Everything at a glance: every chip with its bars and figures, and below them, where there is room, who holds most.

Arrows move from chip to chip; `selected` is the chip under the cursor, whose map the app opens. Every chip has a place
from 80 x 20 on up to 32 chips; where even single lines are too many, the chips scroll with the cursor.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.monitor.parts.cards import (
    BESIDE,
    HISTORY_SECONDS,
    INDENT,
    PAIR_INDENT,
    Arrangement,
    cell_lines,
    figures_across,
    name_width,
)
from ttmem.monitor.parts.chip_figures import MOST_BESIDE, ChipCard, chip_of, figure_count
from ttmem.monitor.parts.drawing import ChipSpot, DrawArea, Drawing, Layout, MonitorFrame, Pen, Wanted, shown_name
from ttmem.monitor.parts.process_list import ListedEntry, entries_of, in_order, table_for
from ttmem.monitor.parts.single_lines import LinePlan, line_plan, single_line, titles_line
from ttmem.snapshot.identity import chip_of as driver_chip_of
from ttmem.snapshot.usage import DeviceUsage, ProcessUsage, Snapshot
from ttmem.view.device_tables import device_word
from ttmem.view.incidents.lines import lines_of, marked_chips, next_step, told_incidents, unkept_texts
from ttmem.view.table import Line, Role, Span, clipped, width_of
from ttmem.view.texts import Sample, plural

__all__ = [
    "INITIAL",
    "OverviewState",
    "acted",
    "arranged",
    "chip_marks",
    "draw",
    "fresh_count",
    "incident_lines",
    "pointed",
    "selected",
    "wanted",
]

_PROCESSES_LEAST = 2  # rows of processes that chips leave room for, if there are as many
_PROCESSES_WANTED = 8  # rows that the history leaves to them before it grows tall
_ABOVE_PROCESSES = 2  # a blank and the titles
SamplesOfChips = dict[tuple[str | int, Pool], Sequence[Sample]]
GUTTER = 2  # blanks between two columns of chips
_BETWEEN = Span(" " * GUTTER)
_LEAST = {"card": 50, "pair": 39, "line": 39}  # columns a chip needs
_FIGURES_LEAST = 46  # columns from which on figures stand below a pair of bars
_LINE_INFORMATIVE = 112  # columns from which on a single line shows more than a pair of bars without figures
_INDEX = 2  # columns of an index
_BAR_AND_NUMBERS = 34  # of a short bar, used of total and the share, beside the name
_HISTORY_LEAST, _HISTORY_MOST = 3, 10  # rows of a history
_INCIDENTS_MOST = 3  # lines of incidents above the chips
_INCIDENTS_HEIGHT = 8  # of a screen that has room for more than one of them


class OverviewState(NamedTuple):
    """Which chip the cursor is on, by its number; None before it was moved."""

    chip: int | None = None


INITIAL = OverviewState()


def draw(frame: MonitorFrame, area: DrawArea, state: OverviewState) -> Drawing:
    overview = frame.overview
    if overview is None:
        return Drawing(((), (Span(" Waiting for figures ...", Role.DIM),)))
    incidents = incident_lines(frame, area)
    lines: list[Line] = [_heading(frame, overview, area), *incidents]
    if not overview.devices:
        lines += [(), (Span(" No chip is open, and no process reports.", Role.DIM),)]
        return Drawing(tuple([*lines, *_processes(frame, area, area.height - len(lines))][: area.height]))
    how = _arrangement(frame, area, len(incidents))
    chips, spots = _chips(frame, area, state, how, len(lines))
    lines += chips
    lines += _processes(frame, area, area.height - len(lines))
    hits = {spot.row: spot.number for spot in reversed(spots)}
    hidden = len(overview.devices) - len({spot.number for spot in spots})
    return Drawing(tuple(lines[: area.height]), hits, tuple(spots), hidden)


def acted(action: str, state: OverviewState, frame: MonitorFrame, area: DrawArea) -> OverviewState:
    """Arrows go from chip to chip; close takes the cursor away."""
    if frame.overview is None or not frame.overview.devices:
        return state
    numbers = [usage.device.number for usage in frame.overview.devices]
    how = _arrangement(frame, area, len(incident_lines(frame, area)))
    page = how.columns * max(1, (area.height - 2) // (how.height + how.gap))
    steps = {"left": -1, "right": 1, "up": -how.columns, "down": how.columns, "page_up": -page, "page_down": page}
    steps |= {"home": -len(numbers), "end": len(numbers)}
    if action == "close" and state.chip is not None:
        return OverviewState()
    if action not in steps:
        return state
    if state.chip not in numbers:
        return OverviewState(numbers[0] if steps[action] > 0 or action == "home" else numbers[-1])
    at = numbers.index(state.chip) + steps[action]
    if action in ("home", "end", "page_up", "page_down"):
        at = max(0, min(at, len(numbers) - 1))
    return state._replace(chip=numbers[at]) if 0 <= at < len(numbers) else state


def pointed(hit: int, state: OverviewState) -> OverviewState:
    """A click on a chip; `hit` is its number."""
    return OverviewState(hit)


def wanted(frame: MonitorFrame, state: OverviewState) -> Wanted:
    return Wanted(history_seconds=HISTORY_SECONDS, has_telemetry=frame.telemetry is None)  # nodes stay what they are


def selected(state: OverviewState, frame: MonitorFrame) -> DeviceUsage | None:
    """The chip under the cursor."""
    devices = frame.overview.devices if frame.overview else ()
    return next((usage for usage in devices if usage.device.number == state.chip), None)


def _heading(frame: MonitorFrame, overview: Snapshot, area: DrawArea) -> Line:
    """Host, who counted, how many of everything, and whether all is well; the app shows the time."""
    dead = sum(row.state == "ended" for row in overview.processes)
    incidents = sum(max(row.incident_count, 1) for row in overview.processes if row.was_refused)
    findings = sum(row.finding_count for row in overview.processes)
    known = {row.pid or None for row in overview.processes if row.finding_count}  # theirs are among those of all
    findings += sum(finding.count for finding in overview.findings if finding.pid not in known)
    parts = [
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
    for text, role in parts:
        text = shown_name(text, area.is_ascii)
        taken = width_of(text)
        if text and pen.at + 3 + taken <= area.width:
            pen.put(" " if not pen.at else " | " if area.is_ascii else " · ", Role.DIM)
            pen.name(text, taken, role, is_ascii=area.is_ascii)
    return pen.done()


def _arrangement(frame: MonitorFrame, area: DrawArea, above: int) -> Arrangement:
    """The fullest that leaves room for some processes, if any does; else the fullest that fits below so many lines."""
    assert frame.overview is not None
    chip_count, height = len(frame.overview.devices), area.height - 1 - above
    processes = min(_PROCESSES_LEAST, len(frame.overview.processes))
    figures = max(map(figure_count, frame.overview.devices))
    names = max(len(device_word(usage.device)) for usage in frame.overview.devices)
    for reserve in (processes + _ABOVE_PROCESSES if processes else 0, 0):
        how = arranged(
            chip_count,
            figures,
            area.width,
            height - reserve,
            layout=area.layout,
            has_history=frame.history is not None,
            aside=min(_PROCESSES_WANTED, len(frame.overview.processes)) - processes,
            names=names,
        )
        if how.lines(chip_count) <= height - reserve:
            return how
    return how


def _chips(
    frame: MonitorFrame, area: DrawArea, state: OverviewState, how: Arrangement, above: int
) -> tuple[list[Line], list[ChipSpot]]:
    """The lines of all chips, and where each of them is."""
    assert frame.overview is not None
    samples, marks = _samples(frame), chip_marks(frame)
    chips = [
        _chip(
            usage,
            samples,
            marks.get(usage.device.uuid or usage.device.name),
            is_selected=usage.device.number == state.chip,
            is_ascii=area.is_ascii,
        )
        for usage in frame.overview.devices
    ]
    names = name_width(chips, how.width)
    lines: list[Line] = []
    plan = line_plan(chips, names, how.width) if how.form == "line" else None
    if plan:
        lines.append(_side_by_side([[titles_line(plan, chips, how.width)]] * min(how.columns, len(chips)), 0))
    spots: list[ChipSpot] = []
    first, count = _window(chips, how, area.height - above - len(lines), state)
    for row in range(first, first + count):
        shown = chips[row * how.columns : (row + 1) * how.columns]
        cells = [_cell(chip, _dev_node(frame, chip), how, plan or names, is_ascii=area.is_ascii) for chip in shown]
        lines += [()] * how.gap
        begin = len(lines)
        spots += _spots([chip.usage.device.number for chip in shown], how, above + begin)
        lines += [_side_by_side(cells, at) for at in range(how.height)]
    return lines, spots


def _chip(
    usage: DeviceUsage, samples: SamplesOfChips, refused: Role | None, *, is_selected: bool, is_ascii: bool
) -> ChipCard:
    known_by = usage.device.uuid or usage.device.number
    found = samples.get((known_by, Pool.DRAM), ()), samples.get((known_by, Pool.L1), ())
    chip = chip_of(usage, found, is_selected=is_selected, is_ascii=is_ascii)
    return chip._replace(refused=refused)


def _cell(chip: ChipCard, dev_node: str, how: Arrangement, plan: LinePlan | int, *, is_ascii: bool) -> Sequence[Line]:
    """The lines of a chip: one by a plan, or a card or a pair of bars behind a name of so many columns."""
    if isinstance(plan, LinePlan):
        return [single_line(chip, plan, how.width, is_ascii=is_ascii)]
    return cell_lines(chip, dev_node, how, plan, is_ascii=is_ascii)


def _window(chips: Sequence[ChipCard], how: Arrangement, height: int, state: OverviewState) -> tuple[int, int]:
    """First row of cells and how many, so that the cursor is among them."""
    rows = how.rows(len(chips))
    fitting = min(rows, max(1, height // (how.height + how.gap)))
    cursor = next((at for at, chip in enumerate(chips) if chip.is_selected), 0) // how.columns
    return max(0, min(cursor - fitting + 1, rows - fitting)), fitting


def _spots(shown: Sequence[int], how: Arrangement, first: int) -> list[ChipSpot]:
    """Of a row of cells that begins in that row of the screen."""
    step = how.width + GUTTER
    return [
        ChipSpot(row, at * step, at * step + how.width, number)
        for row in range(first, first + how.height)
        for at, number in enumerate(shown)
    ]


def _side_by_side(cells: Sequence[Sequence[Line]], at: int) -> Line:
    """One line of all cells of a row."""
    spans: list[Span] = []
    for cell in cells:
        spans += [*cell[at], _BETWEEN]
    return tuple(spans[:-1])


def _samples(frame: MonitorFrame) -> SamplesOfChips:
    """What chips held over the last minute, by their unique id, or by their number if they have none."""
    if frame.history is None:
        return {}
    count = max(1, HISTORY_SECONDS * 10**9 // frame.history.interval_ns)
    wanted = [one for one in frame.history.series if one.pool in (Pool.DRAM, Pool.L1)]
    return {
        (one.uuid or one.device, one.pool): one.samples if len(one.samples) <= count + 1 else one.samples[-count:]
        for one in wanted  # a longer stretch is there as long as that of another view is the last one that came
    }


def _dev_node(frame: MonitorFrame, chip: ChipCard) -> str:
    """Which node of the driver it is, where that is known."""
    found = driver_chip_of(chip.usage.device, frame.telemetry) if frame.telemetry else None
    return found.dev_node if found else ""


def _processes(frame: MonitorFrame, area: DrawArea, height: int) -> list[Line]:
    """Who holds most, in what is left of the screen."""
    if height <= _ABOVE_PROCESSES:
        return []
    entries = in_order([entry for entry in entries_of(frame) if not entry.is_dead], "total", is_inverted=False)
    rows = min(len(entries), height - _ABOVE_PROCESSES)
    if not rows:
        return []
    table = table_for(entries[:rows], "total", area.width, is_ascii=area.is_ascii)
    return [(), table.titles(is_inverted=False), *(table.line(ListedEntry(entry)) for entry in entries[:rows])]


# ---- how chips are arranged: the fullest way of drawing them that fits, in as few columns as it takes


def arranged(
    chip_count: int,
    figure_count: int,
    width: int,
    height: int,
    *,
    layout: Layout,
    has_history: bool,
    aside: int = 0,
    names: int = _INDEX,
) -> Arrangement:
    """The fullest that fits; if none does, the barest of those asked for, which has to be scrolled.

    So many rows are left `aside` before the history grows tall; `names` of chips are so many columns wide.
    """
    chosen: Arrangement | None = None
    for chosen in _choices(chip_count, figure_count, width, layout, names):
        if chosen.lines(chip_count) <= height:
            return _with_history(chosen, chip_count, height, aside) if has_history else chosen
    assert chosen is not None
    return chosen


def _choices(chip_count: int, figure_count: int, width: int, layout: Layout, names: int) -> Iterator[Arrangement]:
    if layout != "compact":
        yield from _cards(chip_count, figure_count, width)
    if layout == "auto":
        yield from _pairs(chip_count, figure_count, width, names)
        if width >= _LINE_INFORMATIVE:
            yield Arrangement("line", 1, width)
        yield from _bare_pairs(chip_count, width, names)
    if layout != "full":
        for columns in range(1, _across(_LEAST["line"], width, chip_count) + 1):
            yield Arrangement("line", columns, _cell_width(width, columns))


def _cards(chip_count: int, figure_count: int, width: int) -> Iterator[Arrangement]:
    """With all figures: first with room between the chips, then without."""
    columns = _across(max(_LEAST["card"], _FIGURES_LEAST), width, chip_count)
    cell = _cell_width(width, columns)
    rows = _figure_rows(figure_count, figures_across(cell - INDENT, is_dense=False))
    for gap in (1, 0):
        yield Arrangement("card", columns, cell, rows, gap=gap)


def _pairs(chip_count: int, figure_count: int, width: int, names: int) -> Iterator[Arrangement]:
    """With all figures below the bars; then with some beside them, and ever fewer below."""
    columns = _across(max(_LEAST["pair"], _FIGURES_LEAST), width, chip_count)
    cell = _cell_width(width, columns)
    across = figures_across(cell - PAIR_INDENT, is_dense=True)
    rows = _figure_rows(figure_count, across)
    yield Arrangement("pair", columns, cell, rows, gap=1)
    yield Arrangement("pair", columns, cell, rows)
    beside = _beside(cell, names)
    for figure_rows in range(_figure_rows(figure_count - 2 * beside, across), 0, -1):
        for gap in (1, 0):
            yield Arrangement("pair", columns, cell, figure_rows, gap=gap, beside=beside)


def _figure_rows(figure_count: int, across: int) -> int:
    """For all of them; but for one figure, there is no row."""
    return max(1, (figure_count - 1) // across if figure_count % across == 1 else -(-figure_count // across))


def _bare_pairs(chip_count: int, width: int, names: int) -> Iterator[Arrangement]:
    """Two bars each, in as few columns as will do."""
    for columns in range(1, _across(_LEAST["pair"], width, chip_count) + 1):
        cell = _cell_width(width, columns)
        for gap in (1, 0):
            yield Arrangement("pair", columns, cell, gap=gap, beside=_beside(cell, names))


def _beside(cell: int, names: int) -> int:
    """How many figures there is room for beside each bar."""
    return max(0, min(MOST_BESIDE, (cell - max(_INDEX, names) - _BAR_AND_NUMBERS) // BESIDE))


def _across(least: int, width: int, chip_count: int) -> int:
    """As many columns of at least so many characters as there is room for, of equal height."""
    most = max(1, min(chip_count, (width + GUTTER) // (least + GUTTER)))
    return -(-chip_count // -(-chip_count // most)) if chip_count else 1


def _cell_width(width: int, columns: int) -> int:
    return (width - GUTTER * (columns - 1)) // columns


def _with_history(chosen: Arrangement, chip_count: int, height: int, aside: int) -> Arrangement:
    """What is left over goes to the history, in cards."""
    if chosen.form != "card":
        return chosen
    spare, taken = height - chosen.lines(chip_count), 2 * max(1, chosen.rows(chip_count))
    rows = min(_HISTORY_MOST, (spare - aside) // taken)
    return chosen._replace(history_rows=rows if rows >= _HISTORY_LEAST else min(1, spare // taken))


# ---- incidents: lines for the newest, and the chips they were on


def incident_lines(frame: MonitorFrame, area: DrawArea) -> tuple[Line, ...]:
    """The fresh ones, the newest first, or only the newest; and how many more there are."""
    if frame.overview is None or not any(row.was_refused for row in frame.overview.processes):
        return ()
    return _incident_lines(frame.overview, area.width, area.height, is_ascii=area.is_ascii)


def _incident_lines(overview: Snapshot, width: int, height: int, *, is_ascii: bool) -> tuple[Line, ...]:
    incidents = told_incidents(_refused_processes(overview), overview.time_ns)
    fresh = sum(one.is_fresh for one in incidents)
    most = max(1, min(_INCIDENTS_MOST, fresh)) if height >= _INCIDENTS_HEIGHT else 1
    devices = [usage.device for usage in overview.devices]
    lines = lines_of(incidents[:most], devices, width, is_ascii=is_ascii)
    rest = len(incidents) - len(lines)
    notes = [f"{plural(rest, 'more incident', 's')}: A lists them."] if rest > 0 else []
    notes = [next_step(incidents[0]), *notes] if incidents else notes
    notes += unkept_texts(row for row, _ in _refused_processes(overview))
    if notes and (height >= _INCIDENTS_HEIGHT or not lines):
        lines.append((Span(clipped(f" {' '.join(notes)}", width, is_ascii=is_ascii), Role.DIM),))
    return tuple(lines)


def chip_marks(frame: MonitorFrame) -> dict[str, Role]:
    """The ids of chips that had incidents; red where one is fresh."""
    if frame.overview is None or not any(row.incidents for row in frame.overview.processes):
        return {}
    return marked_chips(told_incidents(_refused_processes(frame.overview), frame.overview.time_ns))


def fresh_count(frame: MonitorFrame) -> int:
    """How many incidents are fresh."""
    if frame.overview is None or not any(row.incidents for row in frame.overview.processes):
        return 0
    return sum(one.is_fresh for one in told_incidents(_refused_processes(frame.overview), frame.overview.time_ns))


def _refused_processes(overview: Snapshot) -> Sequence[tuple[ProcessUsage, bool]]:
    return [(row, row.state == "ended") for row in overview.processes if row.was_refused]
