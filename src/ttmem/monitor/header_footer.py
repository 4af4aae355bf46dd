"""The header with the views to choose from, and the footer with keys and notes."""

from typing import TYPE_CHECKING, NamedTuple

from ttmem.monitor.panels.keys import key_word
from ttmem.monitor.panels.panel import Panel
from ttmem.monitor.parts.drawing import DrawArea
from ttmem.monitor.screens.overview import fresh_count
from ttmem.monitor.settings import VIEWS
from ttmem.view.table import Line, Role, Span, clean, clipped, fitted
from ttmem.view.texts import clock_text

if TYPE_CHECKING:
    from ttmem.monitor.state import MonitorState

__all__ = ["KeySpot", "footer", "greyed", "header", "typed"]

TITLES = ("Overview", "Processes", "L1 map", "Kernels", "Charts", "Telemetry")
_TYPING_LEAST = 30  # columns

_HINTS = tuple(
    (key, key_word(key), text)
    for key, text in (
        ("f1", "Help"),
        ("f2", "Setup"),
        ("f3", "Search"),
        ("f4", "Filter"),
        ("f5", "Tree"),
        ("f6", "Sort"),
        ("f9", "Kill"),
        ("A", "Alerts"),
        ("q", "Quit"),
    )
)


class KeySpot(NamedTuple):
    """Columns of a line that can be clicked, from `first` up to `last`."""

    first: int
    last: int
    key: str


def header(state: "MonitorState", width: int) -> tuple[Line, list[KeySpot]]:
    """The views by number and name; on the right the status and the time."""
    status = _status(state)
    right = (*status, Span(f" {_clock(state)} ", Role.DIM))
    room = width - sum(span.width for span in right)
    titles = _titles(state.view, room) or _titles(state.view, width - sum(span.width for span in status))
    tabs, spots = _tabs(state.view, titles or TITLES)
    at = spots[-1].last
    shown = right if at <= room else status
    gap = width - at - sum(span.width for span in shown)
    return fitted((*tabs, Span(" " * max(0, gap)), *shown), width), spots


def _tabs(view: str, titles: tuple[str, ...]) -> tuple[Line, list[KeySpot]]:
    spans: list[Span] = []
    spots: list[KeySpot] = []
    at = 0
    for number, (name, title) in enumerate(zip(VIEWS, titles, strict=True), 1):
        text = f" {number} {title}" if title else f" {number}"
        is_chosen = name == view
        spans += [Span(text[:2], Role.SELECTED if is_chosen else Role.KEY)]
        spans += [Span(text[2:], Role.SELECTED if is_chosen else Role.PLAIN)] if title else []
        spots.append(KeySpot(at, at + len(text), str(number)))
        at += len(text)
    return tuple(spans), spots


def _titles(view: str, room: int) -> tuple[str, ...] | None:
    """The views as far as there is room: all with their names, or only the one that is open; None if not even that."""
    wide = tuple(f"{title} " for title in TITLES)
    open_only = tuple(title if name == view else "" for name, title in zip(VIEWS, TITLES, strict=True))
    for titles in (wide, TITLES, open_only):
        if sum(len(title) + 3 if title else 2 for title in titles) <= room:
            return titles
    return None


def _status(state: "MonitorState") -> tuple[Span, ...]:
    if state.frame.trouble:
        return (Span(" lost ", Role.FULL),)
    return (Span(" paused ", Role.HIGH),) if state.is_paused else ()


def _clock(state: "MonitorState") -> str:
    overview = state.frame.overview
    return f"{clock_text(overview.time_ns)}  {state.settings.interval:g} s" if overview else ""


def footer(state: "MonitorState", width: int, banner: str) -> tuple[Line, list[KeySpot]]:
    """The banner; then what went wrong, what was just done, or how many rows do not fit, and the keys."""
    news = fresh_count(state.frame)
    return _foot(
        banner, state.frame.trouble, state.note, state.hidden_count, news, width, is_ascii=state.settings.ascii
    )


def _foot(
    banner: str, trouble: str, note: str, hidden_count: int, incident_count: int, width: int, *, is_ascii: bool
) -> tuple[Line, list[KeySpot]]:
    spans = [Span(f" {banner} ", Role.NOTICE)] if banner else []
    at = sum(span.width for span in spans)
    if trouble:
        said = Span(f" no new figures, trying again: {clean(trouble)}", Role.FULL)
    else:
        said = Span(f" {clean(note)}", Role.TITLE)
    if trouble or note:
        text = clipped(said.text, width - at, is_ascii=is_ascii)
        return fitted((*spans, said._replace(text=text)), width), []
    spots: list[KeySpot] = []
    hidden = f" {hidden_count:,} more"
    if hidden_count and at + len(hidden) < width:
        spans.append(Span(hidden, Role.HIGH))
        spots.append(KeySpot(at, at + len(hidden), "down"))
        at += len(hidden)
    news = (("A", "A", f"Alerts ({incident_count:,})"),) if incident_count else ()
    for key, word, text in (*news, *(hint for hint in _HINTS if not news or hint[0] != "A")):
        columns = len(word) + len(text) + 2
        if at + columns > width:
            break
        spans += [Span(f" {word}", Role.KEY), Span(f" {text}", Role.FULL if (key, word, text) in news else Role.DIM)]
        spots.append(KeySpot(at, at + columns, key))
        at += columns
    return fitted(tuple(spans), width), spots


def typed(panel: Panel, area: DrawArea, width: int, banner: str) -> Line:
    """The last line while something is typed there: behind the banner, unless that leaves no room."""
    before = (Span(f" {banner} ", Role.NOTICE),) if banner and width - len(banner) - 2 >= _TYPING_LEAST else ()
    room = width - sum(span.width for span in before)
    return fitted((*before, *panel.draw(area._replace(width=room))[0]), width)


def greyed(line: Line) -> Line:
    """The same words, in grey: these figures are no longer updated."""
    return tuple(span._replace(role=Role.LOST) for span in line)
