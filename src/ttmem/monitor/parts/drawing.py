"""What a screen is given, and what it gives back.

A screen is a function `draw(frame, area, state) -> Drawing`: from the newest figures, the size and style to draw in,
and what the user chose on that screen. It stores nothing, queries nothing and is called again whenever one of the three
changes.

A screen's module has, besides, what the app needs to know of it:

    INITIAL                                               the frozen state it opens with
    draw(frame, area, state) -> Drawing
    acted(action, state, frame, area) -> state            what a key does; the same state if it does nothing here
    pointed(hit, state) -> state                          what a click on a row does: `hit` is a value of Drawing.hits
    wanted(frame, state) -> Wanted                        what has to be asked for
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from ttmem.snapshot.chip_map import ChipMap
from ttmem.snapshot.history import History
from ttmem.snapshot.kernel_table import KernelTable
from ttmem.snapshot.process_detail import ProcessDetail
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import Snapshot
from ttmem.view.incidents.lines import Told, told_incidents
from ttmem.view.table import Line, Role, Span, clean, clipped, width_of

if TYPE_CHECKING:
    from ttmem.analysis import Explanation

__all__ = [
    "RECORDED",
    "CardFrame",
    "ChipSpot",
    "DrawArea",
    "Drawing",
    "Layout",
    "MonitorFrame",
    "Pen",
    "Wanted",
    "frame_of",
]
__all__ += ["framed", "placed", "seen_name", "shown_name"]

Layout = Literal["auto", "full", "compact"]
RECORDED = "recording "  # how the source of its snapshots begins


class MonitorFrame(NamedTuple):
    """The newest of everything that was queried; what is not on screen is None."""

    overview: "Snapshot | None" = None
    chip: "ChipMap | None" = None
    kernels: "KernelTable | None" = None
    detail: "ProcessDetail | None" = None
    history: "History | None" = None
    telemetry: "tuple[ChipTelemetry, ...] | None" = None
    trouble: str = ""  # why the figures are old; empty while they come
    explanations: "Mapping[tuple[int, int], Explanation]" = MappingProxyType({})  # of incidents, by pid and number
    seen: frozenset[tuple[int, int, int]] = frozenset()  # incidents the user has marked as seen: pid, number, time

    @property
    def incidents(self) -> list[Told]:
        """Those whose details are known, the newest first. One is news, and red, while it is newer than a minute or the
        program ended with it, until the user has marked it as seen; afterwards it is counted in grey."""
        rows = self.overview.processes if self.overview is not None else ()
        if self.overview is None or not any(row.incidents for row in rows):
            return []
        told = told_incidents(((row, row.state == "ended") for row in rows if row.was_refused), self.overview.time_ns)
        if not self.seen:
            return told
        return [one._replace(is_fresh=False) if seen_name(one) in self.seen else one for one in told]

    @property
    def fresh_count(self) -> int:
        """How many incidents are news."""
        return sum(one.is_fresh for one in self.incidents)

    @property
    def incident_count(self) -> int:
        """How many incidents there were, also those whose details are lost."""
        rows = self.overview.processes if self.overview is not None else ()
        return sum(row.incident_count or row.refusal_count + row.clash_count for row in rows)

    @property
    def is_recorded(self) -> bool:
        """Whether figures are those of a recording, which holds neither sensors nor what is taken of the host."""
        return self.overview is not None and self.overview.source.startswith(RECORDED)


def seen_name(one: Told) -> tuple[int, int, int]:
    """What marks an incident as seen; one that happens again is news again."""
    return one.pid, one.incident.number, one.time_ns


class Wanted(NamedTuple):
    """What a screen needs to be asked for: exactly what is on it. Devices by a word as `ps -i` takes them."""

    has_overview: bool = True
    chip: str | None = None
    kernels: str | None = None
    kernel_most: int = 200
    detail: int | None = None  # key of a process
    history_seconds: int | None = None
    has_telemetry: bool = False
    incidents: tuple[tuple[int, int], ...] = ()  # pid and number


class DrawArea(NamedTuple):
    """How to draw: exactly so many columns, at most so many rows."""

    width: int
    height: int
    is_ascii: bool = False
    layout: Layout = "auto"
    is_colourless: bool = False  # then parts of bars differ by letters
    limit: float | None = None  # share of a memory from which on the user wants to be told


class ChipSpot(NamedTuple):
    """A part of a row that stands for a chip, where several share one: columns from `begin` up to `end`."""

    row: int
    begin: int
    end: int
    number: int  # of the device


class Drawing(NamedTuple):
    """Lines from top to bottom, and what lies where: row of the drawing -> key of a process, number of a device."""

    lines: tuple[Line, ...]
    hits: Mapping[int, int] = MappingProxyType({})
    spots: tuple[ChipSpot, ...] = ()  # chips, on a screen that shows several in a row
    hidden_count: int = 0  # rows that are there and do not fit, below or above


_made = tuple.__new__  # a screen has thousands of spans, and this makes one in half the time


class Pen:
    """One line in the making. What is handed in as `text` takes one column per character; names from outside, which
    may be wider or too long, go through `name`."""

    __slots__ = ("at", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.at = 0

    def put(self, text: str, role: Role = Role.PLAIN) -> "Pen":
        if text:
            self.spans.append(_made(Span, (text, role)))
            self.at += len(text)
        return self

    def right(self, text: str, width: int, role: Role = Role.PLAIN) -> "Pen":
        """Ends `width` columns from here; a number that is wider is left out, never cut."""
        self.spans.append(_made(Span, (text.rjust(width) if len(text) <= width else " " * width, role)))
        self.at += width
        return self

    def left(self, text: str, width: int, role: Role = Role.PLAIN) -> "Pen":
        self.spans.append(_made(Span, (text.ljust(width) if len(text) <= width else " " * width, role)))
        self.at += width
        return self

    def name(self, text: str, width: int, role: Role = Role.PLAIN, *, is_ascii: bool = False) -> "Pen":
        """A word, cut to a width if it must be, and a cut shows."""
        if width <= 0:
            return self
        shown = shown_name(text, is_ascii)
        if len(shown) > width or not shown.isascii():
            shown = clipped(shown, width, is_ascii=is_ascii)
            self.spans.append(Span(shown + " " * (width - width_of(shown)), role))
        else:
            self.spans.append(_made(Span, (shown.ljust(width), role)))
        self.at += width
        return self

    def line(self, spans: Line) -> "Pen":
        """Spans whose characters take one column each."""
        for span in spans:
            self.spans.append(span)
            self.at += len(span.text)
        return self

    def to(self, column: int) -> "Pen":
        """Blanks up to a column."""
        return self.put(" " * (column - self.at)) if column > self.at else self

    def done(self) -> Line:
        return tuple(self.spans)


def shown_name(text: str, is_ascii: bool) -> str:
    """A name from outside, made safe for the terminal."""
    shown = clean(text)
    return "".join(one if one.isascii() else "?" for one in shown) if is_ascii and not shown.isascii() else shown


class CardFrame(NamedTuple):
    """The characters of a frame."""

    top: tuple[str, str]
    bottom: tuple[str, str]
    side: str
    rule: str


def frame_of(*, is_ascii: bool) -> CardFrame:
    return CardFrame(("+", "+"), ("+", "+"), "|", "-") if is_ascii else CardFrame(("╭", "╮"), ("╰", "╯"), "│", "─")


def framed(
    lines: Sequence[Line], width: int, title: Line, right: Line = (), *, role: Role = Role.FRAME, is_ascii: bool
) -> list[Line]:
    """Lines inside a frame of exactly `width` columns, a title at its left and words at its right."""
    frame = frame_of(is_ascii=is_ascii)
    room = width - 6
    shown = _words(title, room)
    left = sum(span.width for span in shown)
    ending = right if right and left + 3 + sum(span.width for span in right) <= room else ()
    taken = left + sum(span.width for span in ending)
    rule = width - 4 - taken - 2 * bool(shown) - 2 * bool(ending)
    top = (
        Span(frame.top[0] + frame.rule, role),
        *((Span(" "), *shown, Span(" ")) if shown else ()),
        Span(frame.rule * rule, role),
        *((Span(" "), *ending, Span(" ")) if ending else ()),
        Span(frame.rule + frame.top[1], role),
    )
    side = Span(frame.side, role)
    body = [(side, *placed(line, width - 2), side) for line in lines]
    bottom = Span(frame.bottom[0] + frame.rule * (width - 2) + frame.bottom[1], role)
    return [top, *body, (bottom,)]


def _words(line: Line, room: int) -> Line:
    """As many spans as there is room for."""
    kept: list[Span] = []
    for span in line:
        room -= span.width
        if room < 0:
            break
        kept.append(span)
    return tuple(kept)


def placed(left: Line, width: int, right: Line = ()) -> Line:
    """Exactly so wide: words at the left, and at the right as far as there is room between."""
    taken = sum(span.width for span in left)
    ending = sum(span.width for span in right)
    if right and taken + 1 + ending <= width:
        return (*left, Span(" " * (width - taken - ending)), *right)
    if taken > width:
        kept = _words(left, width)
        return (*kept, Span(" " * (width - sum(span.width for span in kept))))
    return (*left, Span(" " * (width - taken)))
