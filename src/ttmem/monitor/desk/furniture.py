"""The two lines that are always there: views to choose from above, keys and news below."""

from typing import TYPE_CHECKING, NamedTuple

from ttmem.monitor.desk.views import TITLES
from ttmem.monitor.keys import key_word
from ttmem.monitor.settings import VIEWS
from ttmem.view.spans import Line, Role, Span, clean, clipped
from ttmem.view.units import clock_text

if TYPE_CHECKING:
    from ttmem.monitor.desk.desk import Desk

__all__ = ["Spot", "footer", "greyed", "header"]

_HINTS = (
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


class Spot(NamedTuple):
    """Columns of a line that can be clicked, from `first` up to `last`."""

    first: int
    last: int
    key: str


def header(desk: "Desk", width: int) -> tuple[Line, list[Spot]]:
    """The views by number and name, and on the right how things stand."""
    state = _state(desk)
    right = (*state, Span(f" {_clock(desk)} ", Role.DIM))
    full = sum(len(title) + 4 for title in TITLES)
    is_wide = full + sum(span.width for span in right) <= width
    spans: list[Span] = []
    spots: list[Spot] = []
    at = 0
    for number, (name, title) in enumerate(zip(VIEWS, TITLES, strict=True), 1):
        text = f" {number} {title}" + (" " if is_wide or full <= width else "")
        role = Role.SELECTED if name == desk.view else Role.PLAIN
        spans += [Span(text[:2], Role.SELECTED if role is Role.SELECTED else Role.KEY), Span(text[2:], role)]
        spots.append(Spot(at, at + len(text), str(number)))
        at += len(text)
    left = width - at
    kept = right if is_wide else state if sum(span.width for span in state) <= left else ()
    gap = left - sum(span.width for span in kept)
    return (*spans, Span(" " * max(0, gap)), *kept), spots


def _state(desk: "Desk") -> tuple[Span, ...]:
    if desk.frame.trouble:
        return (Span(" lost ", Role.FULL),)
    return (Span(" paused ", Role.HIGH),) if desk.is_paused else ()


def _clock(desk: "Desk") -> str:
    overview = desk.frame.overview
    return f"{clock_text(overview.time_ns)}  {desk.settings.interval:g} s" if overview else ""


def footer(desk: "Desk", width: int, banner: str) -> tuple[Line, list[Spot]]:
    """What it is all about, if it is made up; then what went wrong, what was just done, or the keys."""
    spans = [Span(f" {banner} ", Role.NOTICE)] if banner else []
    at = sum(span.width for span in spans)
    if desk.frame.trouble:
        said = Span(f" no new figures: {clean(desk.frame.trouble)}; trying again", Role.FULL)
    else:
        said = Span(f" {clean(desk.note)}", Role.TITLE)
    if desk.frame.trouble or desk.note:
        return (*spans, said._replace(text=clipped(said.text, width - at, is_ascii=desk.settings.ascii))), []
    spots: list[Spot] = []
    for key, text in _HINTS:
        word = key_word(key)
        columns = len(word) + len(text) + 3
        if at + columns > width:
            break
        spans += [Span(f" {word}", Role.KEY), Span(f" {text} ", Role.DIM)]
        spots.append(Spot(at, at + columns, key))
        at += columns
    return tuple(spans), spots


def greyed(line: Line) -> Line:
    """The same words, as figures that are no longer renewed."""
    return tuple(span._replace(role=Role.LOST) for span in line)
