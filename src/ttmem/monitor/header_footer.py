"""The header with the views to choose from, and the footer with keys and notes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ttmem.monitor.panels.keys import key_word
from ttmem.monitor.panels.panel import Panel
from ttmem.monitor.parts.drawing import DrawArea
from ttmem.monitor.settings import VIEWS
from ttmem.view.table import Line, Role, Span, clean, clipped, fitted
from ttmem.view.texts import clock_text, plural

if TYPE_CHECKING:
    from ttmem.monitor.state import MonitorState

__all__ = ["KeySpot", "footer", "greyed", "header", "typed"]

TITLES = ("Overview", "Processes", "Memory map", "Programs", "History", "Sensors", "Incidents")
_SHORT_TITLES = tuple(title.removeprefix("Memory ").capitalize() for title in TITLES)
_WIDE_TITLES = tuple(f"{title} " for title in TITLES)
_TYPING_LEAST = 30  # columns
_NAMED = 100  # columns from which on the program's name has room

_HELP = (("?", "?", "Help"), ("q", "q", "Quit"))  # always on screen


def _worded(*hints: tuple[str, str]) -> tuple[tuple[str, str, str], ...]:
    """Keys, what is written on them, and what they do."""
    return tuple((key, key_word(key), text) for key, text in hints)


_HINTS = {
    "overview": _worded(
        ("enter", "Open"), ("/", "Find"), ("s", "Sort"), ("K", "Kill"), ("g", "Group"), ("f", "All figures")
    ),
    "processes": _worded(
        ("enter", "Open"), ("/", "Find"), ("s", "Sort"), ("K", "Kill"), ("t", "Tree"), ("f", "All columns")
    ),
    "incidents": _worded(("enter", "Memory map"), ("h", "Holders"), ("y", "Copy"), ("v", "Mark as seen")),
    "charts": _worded(("z", "Longer"), ("p", "Next memory"), ("right", "Next chip")),
    "l1_map": _worded(("right", "Next chip"), ("p", "Next memory")),
    "kernels": _worded(("right", "Next chip"), ("s", "Sort")),
}
_REPLAYED = _worded(
    ("space", "Play or stop"), ("right", "1 s forward"), ("n", "Next incident or phase"), ("+", "Faster")
)
_ELSEWHERE = {"left": "(", "right": ")", "p": "m"}  # keys that go through a recording, and what does their work there
_COMMON = _worded(("Z", "Pause"), ("u", "User"), ("d", "Dark or light"), ("f2", "Settings"))


class KeySpot(NamedTuple):
    """Columns of a line that can be clicked, from `first` up to `last`."""

    first: int
    last: int
    key: str


def header(state: "MonitorState", width: int) -> tuple[Line, list[KeySpot]]:
    """The views by number and name; on the right the status and the time."""
    status = _status(state)
    right = (*status, Span(f" {_clock(state)} ", Role.TAB))
    name = Span(" ttmem ", Role.TAB_KEY) if width >= _NAMED else Span("", Role.TAB)
    room = width - name.width
    incidents = state.frame.incident_count
    rooms = [room - sum(span.width for span in shown) for shown in (right, status)]
    found = (_titles(titles, rest, incidents) for rest in rooms for titles in (_WIDE_TITLES, TITLES, _SHORT_TITLES))
    titles = next((one for one in found if one), None) or _open_only(state.view)
    tabs, spots = _tabs(state, titles, incidents, name.width)
    at = spots[-1].last
    shown = next((one for one in (right, status) if at + sum(span.width for span in one) <= width), ())
    gap = width - at - sum(span.width for span in shown)
    return fitted((name, *tabs, Span(" " * max(0, gap), Role.TAB), *shown), width), spots


def _tabs(state: "MonitorState", titles: tuple[str, ...], incidents: int, at: int) -> tuple[Line, list[KeySpot]]:
    spans: list[Span] = []
    spots: list[KeySpot] = []
    is_fresh = bool(state.frame.fresh_count)
    for number, (name, title) in enumerate(zip(VIEWS, titles, strict=True), 1):
        text = f" {number} {title}" if title else f" {number}"
        if name == "incidents" and incidents:
            text = f"{text.rstrip()} {incidents:,}{' ' if title.endswith(' ') else ''}"
        role = Role.TAB_OPEN if name == state.view else Role.BADGE if name == "incidents" and is_fresh else Role.TAB
        spans += [Span(text[:2], Role.TAB_KEY if role is Role.TAB else role), Span(text[2:], role)]
        spots.append(KeySpot(at, at + len(text), str(number)))
        at += len(text)
    return tuple(span for span in spans if span.text), spots


def _titles(titles: tuple[str, ...], room: int, incidents: int) -> tuple[str, ...] | None:
    """These names of the views, if there is room for them."""
    count = len(f" {incidents:,}") if incidents else 0
    return titles if sum(len(title) + 3 for title in titles) + count <= room else None


def _open_only(view: str) -> tuple[str, ...]:
    """Only the name of the view that is open."""
    return tuple(title if name == view else "" for name, title in zip(VIEWS, _SHORT_TITLES, strict=True))


def _status(state: "MonitorState") -> tuple[Span, ...]:
    if state.frame.trouble:
        return (Span(" lost ", Role.BADGE),)
    if state.replay is not None:
        return (Span(" recording ", Role.TAB_OPEN),)
    return (Span(" paused ", Role.TAB_OPEN),) if state.is_paused else ()


def _clock(state: "MonitorState") -> str:
    overview = state.frame.overview
    if state.replay is not None:
        return "" if overview is None else clock_text(overview.time_ns)
    return f"{clock_text(overview.time_ns)}  every {state.settings.interval:g} s" if overview else ""


def footer(state: "MonitorState", width: int, banner: str) -> tuple[Line, list[KeySpot]]:
    """The banner; then what went wrong, what was just done, or keys; Help and Quit always."""
    spans = [Span(f" {banner} ", Role.TAB_OPEN)] if banner else []
    at = sum(span.width for span in spans)
    fixed = sum(len(word) + len(text) + 2 for _, word, text in _HELP)
    said = _said(state)
    spots: list[KeySpot] = []
    if said is not None:
        room = width - at - (fixed if width - at - fixed >= _TYPING_LEAST else 0)
        text = clipped(said.text, room, is_ascii=state.settings.ascii)
        spans.append(said._replace(text=text.ljust(room) if len(text) == sum(map(len, text)) else text))
        at += spans[-1].width
        hints: list[tuple[str, str, str]] = []
    else:
        hints = _hints(state)
    at = _write(spans, spots, hints, at, width - fixed)
    at = _write(spans, spots, _HELP, at, width)
    spans.append(Span(" " * max(0, width - at), Role.TAB))
    return fitted(tuple(span for span in spans if span.text), width), spots


def _said(state: "MonitorState") -> Span | None:
    if state.frame.trouble:
        return Span(f" no new figures, trying again: {clean(state.frame.trouble)}", Role.TAB_KEY)
    return Span(f" {clean(state.note)}", Role.TAB_KEY) if state.note else None


def _hints(state: "MonitorState") -> list[tuple[str, str, str]]:
    """What can be pressed here, most useful first."""
    hints = []
    fresh = state.frame.fresh_count
    if fresh:
        mark = "!" if state.settings.ascii else "✖"
        hints.append(("7", mark, plural(fresh, "incident", "s")))
    if state.replay is not None:
        hints += _REPLAYED
    if state.hidden_count:
        hints.append(("down", f"{state.hidden_count:,}", "more"))
    if state.replay is not None:
        own = ((_ELSEWHERE.get(key, key), text) for key, _, text in _HINTS.get(state.view, ()) if key != "K")
        return [*hints, *((key, key_word(key), text) for key, text in own)]
    if state.is_empty:
        return [
            *hints,
            ("d", "d", "Start the demo"),
            ("r", "r", "Look again"),
            ("6", "6", "Sensors"),
            ("7", "7", "Incidents"),
        ]
    return [*hints, *_HINTS.get(state.view, ()), *_COMMON]


def _write(
    spans: list[Span],
    spots: list[KeySpot],
    hints: Sequence[tuple[str, str, str]],
    at: int,
    width: int,
) -> int:
    """Keys side by side, as many as fit."""
    for key, word, text in hints:
        columns = len(word) + len(text) + 2
        if at + columns > width:
            break
        is_news = word in ("✖", "!")
        spans += [
            Span(f" {word}", Role.BADGE if is_news else Role.TAB_KEY),
            Span(f" {text}", Role.BADGE if is_news else Role.TAB),
        ]
        spots.append(KeySpot(at, at + columns, key))
        at += columns
    return at


def typed(panel: Panel, area: DrawArea, width: int, banner: str) -> Line:
    """The last line while something is typed there: behind the banner, unless that leaves no room."""
    before = (Span(f" {banner} ", Role.TAB_OPEN),) if banner and width - len(banner) - 2 >= _TYPING_LEAST else ()
    room = width - sum(span.width for span in before)
    return fitted((*before, *panel.draw(area._replace(width=room))[0]), width)


def greyed(line: Line) -> Line:
    """The same words, in grey: these figures are no longer updated."""
    return tuple(span._replace(role=Role.LOST) for span in line)
