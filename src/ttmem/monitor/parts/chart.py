"""One chart: the history of one pool of one chip, in as much detail as its size allows; and where charts go.

8 lines or more     title, plot with axis, marks on the axis of time, phases, how long ago
6 and 7             title, plot with axis, marks on the axis of time, phases
4 and 5             title, plot with axis, marks and phases on the axis of time
2 and 3             title, and one line of blocks
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ttmem.devices import PLANNED_POOLS, Pool
from ttmem.monitor.parts.chart_marks import TimeSpan, axis, phase_lane, time_labels
from ttmem.monitor.parts.drawing import DrawArea, Pen
from ttmem.snapshot.history import History, Mark, Series
from ttmem.view.table import Line, Role, Span, fitted
from ttmem.view.texts import share_text, size_text, sparkline, tight_size_text

__all__ = ["GAP", "GUTTER", "PLOTTED", "Chart", "Tiling", "chart_lines", "plot", "scale_top", "stretched", "tiled"]

GAP = 2  # columns between two panels
_LEAST_WIDTH = 18
_GOOD_WIDTH = 36
_HEIGHTS = (8, 6, 4, 3, 2)  # what a panel would like to have, down to what it needs
_LEAST_HEIGHT = _HEIGHTS[-1]


class Tiling(NamedTuple):
    """So many panels in a row, each of one size; `shown` of them at once."""

    columns: int
    width: int
    height: int
    shown: int


def tiled(count: int, *, width: int, height: int, multiple: int = 1) -> Tiling:
    """The tiling for so many panels. `multiple`: they belong together by that many, and stay in one row or column."""
    if not count or height < 1:
        return Tiling(1, width, max(0, height), 0)
    choices = [columns for columns in range(1, count + 1) if columns == 1 or columns % multiple == 0]
    for least_width in (_GOOD_WIDTH, _LEAST_WIDTH):
        for least_height in _HEIGHTS:
            for columns in choices:
                found = _tiling(columns, count, width, height)
                if (columns == 1 or found.width >= least_width) and found.height >= least_height:
                    return found
    fitting = [columns for columns in choices if _tiling(columns, count, width, height).width >= _LEAST_WIDTH]
    columns = max(fitting, default=1)
    panel_height = min(_LEAST_HEIGHT, height)
    shown = min(count, columns * (height // panel_height))
    return _tiling(columns, count, width, height)._replace(height=panel_height, shown=shown)


def _tiling(columns: int, count: int, width: int, height: int) -> Tiling:
    rows = -(-count // columns)
    return Tiling(columns, (width - GAP * (columns - 1)) // columns, height // rows, count)


GUTTER = 10  # columns of the axis: a size, a blank, the line
_STEPS = " ▁▂▃▄▅▆▇█"
_ASCII_STEPS = "  ...:::#"
_EIGHTHS = 8
_ZOOMS = (1, 2, 4, 10, 20, 40, 100, 200, 400, 1000)  # parts of a capacity that may fill a plot


def scale_top(highest_bytes: int | None, capacity_bytes: int | None) -> int:
    """What the top of a plot stands for: a capacity, or a round part of it if that is enough."""
    highest = highest_bytes or 0
    if not capacity_bytes:
        return 1 << max(10, highest.bit_length())
    if not highest or highest > capacity_bytes:
        return highest or capacity_bytes
    parts = (capacity_bytes // zoom for zoom in reversed(_ZOOMS) if highest <= capacity_bytes // zoom)
    return max(1, next(parts, capacity_bytes))


def stretched(samples: Sequence[int | None], width: int) -> list[int | None]:
    """One value for each of `width` columns; where several samples share one, the highest."""
    count = len(samples)
    if not count:
        return [None] * width
    if count <= width:
        return [samples[column * count // width] for column in range(width)]
    found: list[int | None] = []
    for column in range(width):
        inside = samples[column * count // width : (column + 1) * count // width]
        found.append(max((sample for sample in inside if sample is not None), default=None))
    return found


def plot(
    samples: Sequence[int | None],
    *,
    width: int,
    height: int,
    top_bytes: int,
    is_ascii: bool = False,
) -> list[Line]:
    """Exactly `height` lines of exactly `width` columns, the axis of bytes on their left."""
    columns = stretched(samples, max(0, width - GUTTER))
    heights = [_eighths(value, top_bytes, height) for value in columns]
    runs = _runs([Role.COURSE_DRAM if value else Role.DIM for value in columns])
    steps = _ASCII_STEPS if is_ascii else _STEPS
    labels = {0: size_text(top_bytes), height - 1: "0"}
    if height >= 5:
        labels[height // 2] = size_text(top_bytes * (height - height // 2) // height)  # of a line's upper edge
    lines = []
    for row in range(height):
        base = (height - 1 - row) * _EIGHTHS
        text = "".join([steps[0 if high <= base else min(_EIGHTHS, high - base)] for high in heights])
        label = labels.get(row, "")
        tick = ("|" if is_ascii else "┤") if label else ("|" if is_ascii else "│")
        axis = Span(f"{label:>{GUTTER - 2}} {tick}"[:width], Role.DIM)
        lines.append((axis, *(Span(text[begin:end], role) for begin, end, role in runs)))
    return lines


def _eighths(value: int | None, top_bytes: int, height: int) -> int:
    """How high a column is: nothing at all for unknown, one for nothing, two at least for whatever is there."""
    if value is None:
        return 0
    if value <= 0:
        return 1
    return min(height * _EIGHTHS, max(2, value * height * _EIGHTHS // top_bytes))


def _runs(roles: Sequence[Role]) -> list[tuple[int, int, Role]]:
    """Neighbours of one role as one stretch: from, up to, role."""
    runs: list[tuple[int, int, Role]] = []
    for at, role in enumerate(roles):
        if runs and runs[-1][2] is role:
            runs[-1] = (runs[-1][0], at + 1, role)
        else:
            runs.append((at, at + 1, role))
    return runs


_DETAILED, _PHASED = 8, 6
PLOTTED = 4  # lines, from which on a panel has an axis
_ROOMY = 24  # columns, from which on a title has room for sizes in full


class Chart(NamedTuple):
    """What a chart shows."""

    number: int  # of the device
    chip: str  # what it is called
    board: str
    series: Series
    used_bytes: int | None  # now
    core: tuple[int, int] | None  # of L1: what the fullest core holds now, of how much
    top_bytes: int  # what a full plot stands for
    marks: tuple[Mark, ...]  # that concern this chip


def chart_lines(chart: Chart, history: History, area: DrawArea) -> list[Line]:
    """Exactly `area.height` lines, of at most `area.width` columns."""
    lines = [_chart_title(chart, area)]
    if area.height < PLOTTED:
        series = chart.series
        blocks = sparkline(stretched(series.samples, area.width), area.width, area.is_ascii, top=chart.top_bytes)
        lines.append((Span(blocks, Role.COURSE_DRAM),))
        lines += [()] * (area.height - 2)
        return lines[: area.height]
    return [*lines, *_plotted(chart, history, area)]


def _plotted(chart: Chart, history: History, area: DrawArea) -> list[Line]:
    span = TimeSpan(history.begin_ns, history.end_ns, max(0, area.width - GUTTER))
    below = [axis(chart.marks, span, has_phases=area.height < _PHASED, is_ascii=area.is_ascii)]
    phases = phase_lane(chart.marks, span, is_ascii=area.is_ascii) if area.height >= _PHASED else ()
    below += [line for line in (phases, time_labels(span) if area.height >= _DETAILED else ()) if line]
    rows = plot(
        chart.series.samples,
        width=area.width,
        height=area.height - 1 - len(below),
        top_bytes=chart.top_bytes,
        is_ascii=area.is_ascii,
    )
    corner = " " * (GUTTER - 1) + ("+" if area.is_ascii else "└")
    corners = [corner] + [" " * GUTTER] * (len(below) - 1)
    return rows + [fitted((Span(left, Role.DIM), *line), area.width) for left, line in zip(corners, below, strict=True)]


def _chart_title(chart: Chart, area: DrawArea) -> Line:
    """What it is, what is used of how much, and the highest; what does not fit is left out from the right."""
    series = chart.series
    pen = Pen().put(chart.chip, Role.INDEX).put(" ")
    if chart.board and area.width >= 60:
        pen.name(f"{chart.board} ", min(12, len(chart.board) + 1), is_ascii=area.is_ascii)
    is_buffers = series.pool is Pool.L1 and chart.core is None
    pen.put("L1 buffers " if is_buffers else f"{series.pool.name} ", Role.TITLE)
    pen.put("planned " if series.pool in PLANNED_POOLS else "", Role.DIM)
    parts = list(_headline(chart, size_text if area.width >= _ROOMY else tight_size_text))
    if series.origin != "counted":
        parts.append((f" {series.origin}", Role.NOTICE))
    refused = sum(mark.count for mark in chart.marks if mark.what in ("out_of_memory", "clash"))
    if refused:
        parts.append((f" !{refused}", Role.FULL))
    if chart.core:
        parts.append((f"  buffers {size_text(chart.used_bytes)}", Role.PLAIN))
    parts.append((f"  highest {size_text(series.highest_bytes)}", Role.DIM))
    for text, role in parts:
        if pen.at + len(text) > area.width:
            break
        pen.put(text, role)
    return fitted(pen.done(), area.width)


def _headline(chart: Chart, size: Callable[[int | None], str]) -> Iterator[tuple[str, Role]]:
    """What is used now, of how much: of L1 the fullest core, where that is known."""
    used, total = _used_of(chart)
    fraction = _share(chart)
    yield size(used), Role.TITLE
    if fraction is not None:
        yield f" {share_text(fraction)}", Role.TITLE
        yield f" of {size_text(total)}", Role.DIM


def _used_of(chart: Chart) -> tuple[int | None, int | None]:
    return chart.core or (chart.used_bytes, chart.series.capacity_bytes)


def _share(chart: Chart) -> float | None:
    used, total = _used_of(chart)
    return used / total if used is not None and total else None
