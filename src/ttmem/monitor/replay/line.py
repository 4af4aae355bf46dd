"""Where a replay stands, in one line above the keys:

> 2x  14:03:07.250  +12.500 s of 54.0 s  ━━━━━━●───┊──✖──┊─  decode
"""

from ttmem.figures.replay_clock import ReplayTime
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame, Pen, shown_name
from ttmem.view.table import Line, Role, Span, fitted
from ttmem.view.texts import clock_text

__all__ = ["replay_line"]

_LEAST_BAR = 10
_TEXT_MOST = 28
_WIDE = 100  # columns from which on there is room for words


def replay_line(time: ReplayTime, frame: MonitorFrame, area: DrawArea) -> Line:
    """The moment, how fast it goes, the whole recording with what happened in it, and what happened last."""
    pen = Pen().put(f" {_state_text(time, area)} ", Role.TITLE).put(" ")
    if frame.overview is not None:
        pen.put(f"{_wall_text(frame.overview.time_ns)}  ", Role.PLAIN)
    pen.put(f"+{(time.at_ns - time.first_ns) / 1e9:.3f} s", Role.TITLE)
    pen.put(f" of {(time.last_ns - time.first_ns) / 1e9:.1f} s  ", Role.DIM)
    mark = time.mark
    text = shown_name(mark.text, area.is_ascii) if mark is not None else ""
    words = f"  {mark.what} {text}" if mark is not None and area.width >= _WIDE else ""
    room = min(len(words), _TEXT_MOST)
    width = max(0, area.width - pen.at - room - 1)
    if width >= _LEAST_BAR:
        pen.line(_bar(time, width, is_ascii=area.is_ascii))
    if mark is not None and room:
        pen.name(words, room, Role.BADGE if mark.what == "incident" else Role.DIM, is_ascii=area.is_ascii)
    return fitted(pen.done(), area.width)


def _state_text(time: ReplayTime, area: DrawArea) -> str:
    if time.is_followed:
        return "following"
    playing, standing = (">", "=") if area.is_ascii else ("▶", "❚")
    return f"{playing if time.is_playing else standing} {time.speed:g}x"


def _wall_text(time_ns: int) -> str:
    return f"{clock_text(time_ns)}.{time_ns // 1_000_000 % 1000:03}"


def _bar(time: ReplayTime, width: int, *, is_ascii: bool) -> Line:
    done, rest, here, phase, incident = ("=", "-", "O", ":", "!") if is_ascii else ("━", "─", "●", "┊", "✖")
    at = _place(time, time.at_ns, width)
    cells = [(done if column < at else rest, Role.DIM) for column in range(width)]
    for mark in time.marks:
        if mark.what == "phase":
            cells[_place(time, mark.time_ns, width)] = (phase, Role.COURSE)
    for mark in time.marks:
        if mark.what == "incident":
            cells[_place(time, mark.time_ns, width)] = (incident, Role.FULL)
    if cells[at][0] != incident:
        cells[at] = (here, Role.TITLE)
    return tuple(Span(text, role) for text, role in cells)


def _place(time: ReplayTime, at_ns: int, width: int) -> int:
    length = max(1, time.last_ns - time.first_ns)
    return min(width - 1, max(0, (at_ns - time.first_ns) * width // length))
