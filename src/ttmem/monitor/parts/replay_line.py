"""Where a replay stands, in one line above the keys:

> 2x  14:03:07.250  +12.500 s of 54.0 s  ━━━━━━●───┊──✖──┊─  decode
"""

from bisect import bisect_right

from ttmem.figures.replay_clock import ReplayTime
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame, Pen, shown_name
from ttmem.view.table import Line, Role, Span, fitted
from ttmem.view.texts import clock_text

__all__ = ["moment_at", "replay_line"]

_LEAST_BAR = 10
_TEXT_MOST = 28
_WIDE = 100  # columns from which on there is room for words


def replay_line(time: ReplayTime, frame: MonitorFrame, area: DrawArea) -> Line:
    """The moment, how fast it goes, the whole recording with what happened in it, and what happened last."""
    pen, width, words = _laid_out(time, frame, area)
    if width >= _LEAST_BAR:
        pen.line(_bar(time, width, is_ascii=area.is_ascii))
    if time.mark is not None and words:
        role = Role.BADGE if time.mark.what == "incident" else Role.DIM
        pen.name(words, min(len(words), _TEXT_MOST), role, is_ascii=area.is_ascii)
    return fitted(pen.done(), area.width)


def moment_at(time: ReplayTime, frame: MonitorFrame, area: DrawArea, column: int) -> int | None:
    """The moment for which a column of the bar stands; None beside it."""
    pen, width, _ = _laid_out(time, frame, area)
    if width < _LEAST_BAR or not pen.at <= column < pen.at + width:
        return None
    return time.first_ns + (time.last_ns - time.first_ns) * (column - pen.at) // (width - 1)


def _laid_out(time: ReplayTime, frame: MonitorFrame, area: DrawArea) -> tuple[Pen, int, str]:
    """What stands before the bar, the width of that, and what stands behind it."""
    pen = Pen().put(f" {_state_text(time, area)} ", Role.TITLE).put(" ")
    if frame.overview is not None:
        pen.put(f"{_wall_text(frame.overview.time_ns)}  ", Role.PLAIN)
    pen.put(f"+{(time.at_ns - time.first_ns) / 1e9:.3f} s", Role.TITLE)
    pen.put(f" of {(time.last_ns - time.first_ns) / 1e9:.1f} s  ", Role.DIM)
    mark = time.mark
    text = shown_name(mark.text, area.is_ascii) if mark is not None else ""
    words = f"  {mark.what} {text}" if mark is not None and area.width >= _WIDE else ""
    return pen, max(0, area.width - pen.at - min(len(words), _TEXT_MOST) - 1), words


def _state_text(time: ReplayTime, area: DrawArea) -> str:
    if time.is_followed:
        return "following"
    playing, standing = (">", "=") if area.is_ascii else ("▶", "❚")
    return f"{playing if time.is_playing else standing} {time.speed:g}x"


def _wall_text(time_ns: int) -> str:
    return f"{clock_text(time_ns)}.{time_ns // 1_000_000 % 1000:03}"


def _bar(time: ReplayTime, width: int, *, is_ascii: bool) -> Line:
    done, rest, here, phase, incident = ("=", "-", "O", ":", "!") if is_ascii else ("━", "─", "●", "┊", "✖")
    length = max(1, time.last_ns - time.first_ns)
    begins = [time.first_ns + length * column // width for column in range(width)]
    begins.append(time.last_ns + 1)
    at = max(0, bisect_right(begins, time.at_ns, hi=width) - 1)
    spans = []
    for column in range(width):
        if time.has(time.incidents, begins[column], begins[column + 1]):
            spans.append(Span(incident, Role.FULL))
        elif column == at:
            spans.append(Span(here, Role.TITLE))
        elif time.has(time.marks, begins[column], begins[column + 1]):
            spans.append(Span(phase, Role.COURSE))
        else:
            spans.append(Span(done if column < at else rest, Role.DIM))
    return tuple(spans)
