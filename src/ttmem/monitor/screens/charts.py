"""Charts: the history of chips and pools over the last minute, five minutes or hour, and what happened meanwhile.

All chips at once, DRAM beside L1 where there is room for both; or one chip with all its pools. Panels of one pool share
one scale, so that they can be compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ttmem.devices import Pool
from ttmem.monitor.parts.chart import GAP, PLOTTED, Chart, Tiling, chart_lines, scale_top, tiled
from ttmem.monitor.parts.chart_marks import legend, words_of
from ttmem.monitor.parts.drawing import ChipSpot, DrawArea, Drawing, MonitorFrame, Pen, Wanted
from ttmem.snapshot.history import SPANS_SECONDS, History, Mark, Series
from ttmem.snapshot.values import Device
from ttmem.view.table import Line, Role, Span, fitted
from ttmem.view.texts import clock_text, device_word, size_text

__all__ = ["INITIAL", "ChartsState", "acted", "draw", "pointed", "wanted"]

_PAIR = (Pool.DRAM, Pool.L1)
_POOLS = ("", *(pool.word for pool in Pool if pool not in (Pool.HOST, Pool.UNKNOWN)))
_EVENTS_MOST = 8  # of what happened, in words
_SPANS = {60: "60 s", 300: "5 min", 3600: "1 h"}


@dataclass(frozen=True, slots=True)
class ChartsState:
    """What the user chose."""

    device: str = ""  # one chip, by its word or as #number; empty: all of them
    pool: str = ""  # one pool; empty: DRAM and L1, or all pools of one chip
    seconds: int = SPANS_SECONDS[0]
    first: int = 0  # row of panels at the top, where not all fit


INITIAL = ChartsState()


def draw(frame: MonitorFrame, area: DrawArea, state: ChartsState) -> Drawing:
    history = frame.history
    if history is None or not history.series:
        return Drawing(tuple(fitted(line, area.width) for line in _nothing(frame))[: max(0, area.height)])
    charts = _charts(frame, history, state)
    events = _event_lines(frame, history, area)
    rows_left = area.height - 1 - len(events)
    multiple = len(_PAIR) if _is_paired(frame, state) else 1
    tiling = tiled(len(charts), width=area.width, height=rows_left, multiple=multiple)
    if multiple > 1 and tiling.shown < len(charts):  # rather all chips with one pool
        charts = [chart for chart in charts if chart.series.pool is _PAIR[0]]
        tiling = tiled(len(charts), width=area.width, height=rows_left)
    first = min(state.first, _last_row(len(charts), tiling)) * tiling.columns
    shown = charts[first : first + tiling.shown]
    body, spots = _tiles(shown, history, tiling, area)
    events = _event_lines(frame, history, area, spare=rows_left - len(body) - 1)
    lines = [_header(history, charts, area, state, tiling), *body[: max(0, rows_left)]]
    lines += [()] * (area.height - len(events) - len(lines))
    drawn = tuple((*lines, *events)[: max(0, area.height)])
    return Drawing(drawn, _rows_of(spots), spots, hidden_count=len(charts) - len(shown))


def acted(action: str, state: ChartsState, frame: MonitorFrame, area: DrawArea) -> ChartsState:
    at = SPANS_SECONDS.index(state.seconds) if state.seconds in SPANS_SECONDS else 0
    match action:
        case "zoom_out" if at + 1 < len(SPANS_SECONDS):
            return replace(state, seconds=SPANS_SECONDS[at + 1])
        case "zoom_in" if at > 0:
            return replace(state, seconds=SPANS_SECONDS[at - 1])
        case "next_pool":
            return replace(state, pool=_next_pool(frame, state), first=0)
        case "left" | "right":
            return _beside(state, frame, -1 if action == "left" else 1)
        case "close" if state.device:
            return replace(state, device="", first=0)
        case "up" | "down" | "page_up" | "page_down" | "home" | "end":
            return _scrolled(action, state, frame, area)
        case _:
            return state


def pointed(hit: int, state: ChartsState) -> ChartsState:
    """A click on a chip shows it alone; another one shows all again."""
    device = "" if state.device else f"#{hit}"
    return replace(state, device=device, first=0)


def wanted(frame: MonitorFrame, state: ChartsState) -> Wanted:
    return Wanted(history_seconds=state.seconds)


def _charts(frame: MonitorFrame, history: History, state: ChartsState) -> list[Chart]:
    chosen = _chosen(frame, state)
    devices = [chosen] if chosen else _devices(frame)
    pools = [Pool[state.pool.upper()]] if state.pool else list(Pool if chosen or len(devices) == 1 else _PAIR)
    found = [(device, series) for device in devices for pool in pools if (series := history.of(device, pool))]
    chips = {row.pid: row.chips for row in frame.overview.processes} if frame.overview else {}
    tops: dict[tuple[Pool, int | None], int] = {}
    for _, series in found:
        scale = series.pool, series.capacity_bytes
        tops[scale] = max(tops.get(scale, 0), series.highest_bytes or 0)
    return [
        Chart(
            device.number,
            device_word(device),
            device.board or device.arch,
            series,
            _used_bytes(frame, device, series),
            _fullest_core(frame, device) if series.pool is Pool.L1 else None,
            scale_top(tops[series.pool, series.capacity_bytes], series.capacity_bytes),
            tuple(mark for mark in history.marks if _concerns(mark, device, series.pool, chips)),
        )
        for device, series in found
    ]


def _used_bytes(frame: MonitorFrame, device: Device, series: Series) -> int | None:
    """What is used now, as on the other views; the newest sample is the highest of its second."""
    usages = frame.overview.devices if frame.overview else ()
    pools = (pool for usage in usages if usage.device.number == device.number for pool in usage.pools)
    return next((pool.used_bytes for pool in pools if pool.pool is series.pool), series.latest_bytes)


def _fullest_core(frame: MonitorFrame, device: Device) -> tuple[int, int] | None:
    """What the fullest core holds now, and what a core has; None where that is not known."""
    usages = frame.overview.devices if frame.overview else ()
    for usage in usages:
        if usage.device.number == device.number and usage.fullest_core_bytes is not None and usage.core_bytes:
            return usage.fullest_core_bytes, usage.core_bytes
    return None


def _concerns(mark: Mark, device: Device, pool: Pool, chips: Mapping[int, Sequence[int]]) -> bool:
    """Phases of a process, its beginning and end concern its chips, or all where they are not known. Circular buffers
    clash with buffers in L1; what was refused concerns the pool it was refused in."""
    its_own = chips.get(mark.pid or 0, ()) if mark.device is None else (mark.device,)
    if its_own and device.number not in its_own:
        return False
    return mark.pool in (None, pool) or (mark.what == "clash" and pool is Pool.L1)


def _is_paired(frame: MonitorFrame, state: ChartsState) -> bool:
    return not state.pool and _chosen(frame, state) is None and len(_devices(frame)) > 1


def _devices(frame: MonitorFrame) -> list[Device]:
    """Chips that have a history, in the order of the overview."""
    if frame.overview is None or frame.history is None:
        return []
    known = [usage.device for usage in frame.overview.devices]
    return [device for device in known if any(frame.history.of(device, pool) for pool in Pool)]


def _chosen(frame: MonitorFrame, state: ChartsState) -> Device | None:
    for device in _devices(frame):
        if state.device and state.device in (f"#{device.number}", device_word(device), device.uuid):
            return device
    return None


def _beside(state: ChartsState, frame: MonitorFrame, step: int) -> ChartsState:
    """The chip to the left or right; before the first and after the last come all of them."""
    words = ["", *(f"#{device.number}" for device in _devices(frame))]
    chosen = _chosen(frame, state)
    at = words.index(f"#{chosen.number}") if chosen else 0
    return replace(state, device=words[(at + step) % len(words)], first=0)


def _next_pool(frame: MonitorFrame, state: ChartsState) -> str:
    """The next pool in which anything ever lay."""
    series = frame.history.series if frame.history else ()
    there = {one.pool.word for one in series if one.highest_bytes or one.pool in _PAIR}
    words = [word for word in _POOLS if not word or word in there]
    at = words.index(state.pool) if state.pool in words else 0
    return words[(at + 1) % len(words)]


def _scrolled(action: str, state: ChartsState, frame: MonitorFrame, area: DrawArea) -> ChartsState:
    drawing = draw(frame, area, state)
    if not drawing.hidden_count:
        return state
    page = len({spot.row for spot in drawing.spots}) // 2 or 1
    steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "home": -len(Pool) * 64, "end": len(Pool) * 64}
    last = -(-drawing.hidden_count // max(1, _columns_of(drawing)))
    return replace(state, first=max(0, min(last, min(state.first, last) + steps[action])))


def _columns_of(drawing: Drawing) -> int:
    return len({spot.begin for spot in drawing.spots})


def _last_row(count: int, tiling: Tiling) -> int:
    hidden = count - tiling.shown
    return -(-hidden // tiling.columns)


def _tiles(
    charts: Sequence[Chart], history: History, tiling: Tiling, area: DrawArea
) -> tuple[list[Line], tuple[ChipSpot, ...]]:
    """Panels side by side and below each other, and where each lies below the header."""
    lines: list[Line] = []
    spots: list[ChipSpot] = []
    inside = area._replace(width=tiling.width, height=tiling.height)
    for begin in range(0, len(charts), tiling.columns):
        row = charts[begin : begin + tiling.columns]
        drawn = [chart_lines(chart, history, inside) for chart in row]
        for at, chart in enumerate(row):
            left = at * (tiling.width + GAP)
            spots += [
                ChipSpot(1 + len(lines) + y, left, left + tiling.width, chart.number) for y in range(tiling.height)
            ]
        lines += [_beside_each_other(parts, tiling.width) for parts in zip(*drawn, strict=True)]
    return lines, tuple(spots)


def _beside_each_other(parts: Sequence[Line], width: int) -> Line:
    spans: list[Span] = []
    for at, part in enumerate(parts):
        spans += part
        if at + 1 < len(parts):
            spans.append(Span(" " * (width - sum(span.width for span in part) + GAP)))
    return tuple(spans)


def _rows_of(spots: Sequence[ChipSpot]) -> dict[int, int]:
    """Rows that belong to one chip alone."""
    owners: dict[int, set[int]] = {}
    for spot in spots:
        owners.setdefault(spot.row, set()).add(spot.number)
    return {row: next(iter(numbers)) for row, numbers in owners.items() if len(numbers) == 1}


def _header(history: History, charts: Sequence[Chart], area: DrawArea, state: ChartsState, tiling: Tiling) -> Line:
    pools = " and ".join(dict.fromkeys(chart.series.pool.name for chart in charts)) or state.pool.upper()
    if pools.count(" and ") > 1:
        pools = "all pools"
    seconds = history.interval_ns / 1e9
    parts = (
        Span(f" {pools}", Role.TITLE),
        Span(_scales(charts) if tiling.height < PLOTTED else "", Role.DIM),
        Span(f"  last {_SPANS.get(state.seconds, f'{state.seconds} s')}"),
        Span(f"  {clock_text(history.begin_ns)} to {clock_text(history.end_ns)}", Role.DIM),
        Span(f"  highest of every {seconds:g} s", Role.DIM),
    )
    pen = Pen()
    for text, role in parts:  # what does not fit is left out, not cut
        if pen.at + len(text) <= area.width:
            pen.put(text, role)
    return pen.done()


def _scales(charts: Sequence[Chart]) -> str:
    """What a full line of blocks stands for, where no axis says it."""
    tops = {chart.series.pool: size_text(chart.top_bytes) for chart in charts}
    return f" up to {' and '.join(tops.values())}"


def _event_lines(frame: MonitorFrame, history: History, area: DrawArea, *, spare: int = 0) -> list[Line]:
    """What happened last, in words, and what the signs mean: as much as a third of the screen, on small ones less;
    and more in lines to spare."""
    listed = [mark for mark in history.marks if mark.what != "phase_ended" and mark.time_ns >= history.begin_ns]
    if not listed or area.height < 12:
        return []
    most = min(_EVENTS_MOST, max(1, area.height // 8) + max(0, spare), len(listed))
    chips = {device.number: device_word(device) for device in _devices(frame)}
    lines: list[Line] = [fitted((Span(" WHAT HAPPENED", Role.HEAD), *legend(listed)), area.width)]
    for mark in reversed(_weightiest(listed, most)):
        chip = chips.get(mark.device, "") if mark.device is not None else ""
        lines.append(words_of(mark, chip, width=area.width, is_ascii=area.is_ascii))
    return lines


def _weightiest(marks: Sequence[Mark], most: int) -> list[Mark]:
    """The newest; what was refused before who came and went, and that before phases."""
    chosen: list[Mark] = []
    for kinds in (("out_of_memory", "clash"), ("process_began", "process_ended"), ("phase_began",)):
        newest = [mark for mark in reversed(marks) if mark.what in kinds]
        chosen += newest[: most - len(chosen)]
    return sorted(chosen, key=lambda mark: mark.time_ns)


def _nothing(frame: MonitorFrame) -> list[Line]:
    if frame.history is None:
        return [(Span(" waiting for the first samples", Role.DIM),)]
    if frame.is_recorded:
        return [(Span(" At this moment of the recording no chip has a history yet.", Role.TITLE),)]
    return [
        (Span(" No chip has a history yet.", Role.TITLE),),
        (),
        (Span(" Samples are taken once a second from when a program first reports,"),),
        (Span(" by `ttmem serve` if it runs, else by this monitor as long as it is open."),),
    ]
