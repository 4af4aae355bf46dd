"""One panel: the course of one pool of one chip, in as much detail as its size allows.

8 lines or more     title, plot with axis, marks on the axis of time, phases, how long ago
6 and 7             title, plot with axis, marks on the axis of time, phases
4 and 5             title, plot with axis, marks and phases on the axis of time
2 and 3             title, and one line of blocks
"""

from typing import NamedTuple

from ttmem.devices import PLANNED_POOLS
from ttmem.monitor.screens.courses.moments import TimeSpan, axis, phase_lane, time_labels
from ttmem.monitor.screens.courses.plot import GUTTER, plot, stretched
from ttmem.monitor.screens.frame import Look
from ttmem.monitor.screens.pen import Pen
from ttmem.snapshot.history import History, Mark, Series
from ttmem.view.colours import level_of, level_role
from ttmem.view.spans import Line, Role, Span, fitted
from ttmem.view.sparkline import sparkline
from ttmem.view.units import share_text, size_text, tight_size_text

__all__ = ["PLOTTED", "Panel", "panel_lines"]

_DETAILED, _PHASED = 8, 6
PLOTTED = 4  # lines, from which on a panel has an axis
_ROOMY = 24  # columns, from which on a title has room for sizes in full


class Panel(NamedTuple):
    """What a panel is about."""

    number: int  # of the device
    chip: str  # what it is called
    board: str
    series: Series
    used_bytes: int | None  # now
    top_bytes: int  # what a full plot stands for
    marks: tuple[Mark, ...]  # that concern this chip


def panel_lines(panel: Panel, history: History, look: Look) -> list[Line]:
    """Exactly `look.height` lines, of at most `look.width` columns."""
    lines = [_title(panel, look)]
    if look.height < PLOTTED:
        series = panel.series
        course = sparkline(stretched(series.samples, look.width), look.width, look.is_ascii, top=panel.top_bytes)
        lines.append((Span(course, level_role(_share(panel.used_bytes, series))),))
        lines += [()] * (look.height - 2)
        return lines[: look.height]
    return [*lines, *_plotted(panel, history, look)]


def _plotted(panel: Panel, history: History, look: Look) -> list[Line]:
    span = TimeSpan(history.begin_ns, history.end_ns, max(0, look.width - GUTTER))
    below = [axis(panel.marks, span, has_phases=look.height < _PHASED, is_ascii=look.is_ascii)]
    phases = phase_lane(panel.marks, span, is_ascii=look.is_ascii) if look.height >= _PHASED else ()
    below += [line for line in (phases, time_labels(span) if look.height >= _DETAILED else ()) if line]
    rows = plot(
        panel.series.samples,
        width=look.width,
        height=look.height - 1 - len(below),
        top_bytes=panel.top_bytes,
        capacity_bytes=panel.series.capacity_bytes,
        is_ascii=look.is_ascii,
    )
    corner = " " * (GUTTER - 1) + ("+" if look.is_ascii else "└")
    corners = [corner] + [" " * GUTTER] * (len(below) - 1)
    return rows + [fitted((Span(left, Role.DIM), *line), look.width) for left, line in zip(corners, below, strict=True)]


def _title(panel: Panel, look: Look) -> Line:
    """What it is, what is used of how much, and the highest; whatever does not fit is left out from the right."""
    series = panel.series
    fraction = _share(panel.used_bytes, series)
    pen = Pen().put(panel.chip, Role.INDEX).put(" ")
    if panel.board and look.width >= 60:
        pen.name(f"{panel.board} ", min(12, len(panel.board) + 1), is_ascii=look.is_ascii)
    pen.put(f"{series.pool.name} ", Role.TITLE)
    pen.put("planned " if series.pool in PLANNED_POOLS else "", Role.DIM)
    size = size_text if look.width >= _ROOMY else tight_size_text
    parts: list[tuple[str, Role]] = [(size(panel.used_bytes), level_role(fraction))]
    if fraction is not None:
        level = level_of(fraction)
        parts += [
            (f" {share_text(fraction)}", level_role(fraction)),
            (f" {level}" if level else "", level_role(fraction)),
        ]
        parts.append((f" of {size_text(series.capacity_bytes)}", Role.DIM))
    if series.origin != "counted":
        parts.append((f" {series.origin}", Role.NOTICE))
    refused = sum(mark.count for mark in panel.marks if mark.what in ("out_of_memory", "clash"))
    if refused:
        parts.append((f" !{refused}", Role.FULL))
    parts.append((f"  highest {size_text(series.highest_bytes)}", Role.DIM))
    for text, role in parts:
        if pen.at + len(text) > look.width:
            break
        pen.put(text, role)
    return fitted(pen.done(), look.width)


def _share(value: int | None, series: Series) -> float | None:
    return value / series.capacity_bytes if value is not None and series.capacity_bytes else None
