"""Text with meaning: a line is a row of spans, and a span says what it is, not which colour it has.

Names and commands come from other people's processes: what is not printable is replaced before it reaches a terminal.
"""

import re
import sys
import textwrap
import unicodedata
from collections.abc import Iterable
from enum import Enum
from functools import lru_cache
from typing import NamedTuple


class Role(Enum):
    """What a piece of text is."""

    PLAIN = "plain"
    TITLE = "title"
    HEAD = "head"  # of a column
    DIM = "dim"  # units of no interest, unknowns
    INDEX = "index"
    NOTICE = "notice"
    GOOD = "good"
    BUSY = "busy"
    HIGH = "high"
    FULL = "full"
    BAR_GOOD = "bar_good"
    BAR_BUSY = "bar_busy"
    BAR_HIGH = "bar_high"
    BAR_FULL = "bar_full"
    BAR_PEAK = "bar_peak"  # above what is used, up to the peak
    BAR_REST = "bar_rest"
    BAR_BUFFER = "bar_buffer"  # what lies in L1 or DRAM, where that is told apart
    BAR_CB = "bar_cb"
    BAR_PLANNED = "bar_planned"  # circular buffers that are laid out and not in use now
    BAR_RING = "bar_ring"
    BAR_RETIRED = "bar_retired"
    BAR_SMALL = "bar_small"
    BAR_TRACE = "bar_trace"
    BAR_RESERVED = "bar_reserved"
    SELECTED = "selected"  # the row the cursor is on
    TAGGED = "tagged"
    KEY = "key"  # one that can be pressed
    COURSE = "course"  # what a figure was over time
    LOST = "lost"  # figures that are no longer renewed

    @property
    def is_bar(self) -> bool:
        return self.value.startswith("bar_")


class Span(NamedTuple):
    """A piece of text and what it is."""

    text: str
    role: Role = Role.PLAIN

    @property
    def width(self) -> int:
        return width_of(self.text)


Line = tuple[Span, ...]

# Selectors of variants, keycaps, skin colours, parts of Hangul syllables: terminals do not agree on their width.
_UNSTEADY = "[\u115f-\u11ff\u20e3\u3164\ud7b0-\ud7ff\ufe00-\ufe0f\U0001f3fb-\U0001f3ff\U000e0100-\U000e01ef]"


def width_of(text: str) -> int:
    """How many columns a terminal gives the text."""
    return len(text) if text.isascii() else _width_of(text)


@lru_cache(maxsize=1 << 14)  # bars and curves are drawn again and again, and come in few shapes
def _width_of(text: str) -> int:
    return sum(map(_columns, text))


@lru_cache(maxsize=1 << 12)
def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clean(text: str) -> str:
    """The text with everything replaced that a terminal would obey, or that would change how wide its neighbour is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one.isprintable() and not _is_unsteady(one) else "?" for one in text)


@lru_cache(maxsize=1 << 12)
def _is_unsteady(character: str) -> bool:
    return re.match(_UNSTEADY, character) is not None


def clipped(text: str, width: int, *, is_ascii: bool = False) -> str:
    """The text, cut to a width; a cut shows."""
    if width_of(text) <= width:
        return text
    mark = "~" if is_ascii else "…"
    kept = ""
    for character in text:
        if width_of(kept + character) > width - 1:
            break
        kept += character
    return kept + mark if width > 0 else ""


def broken(text: str, width: int | None) -> list[str]:
    """A sentence in lines of a width; None: in one."""
    if text.isprintable() and (width is None or len(text) <= width):
        return [text.rstrip()] if text.strip() else []
    return textwrap.wrap(text, width or sys.maxsize)


def wrapped(texts: Iterable[str], role: Role, mark: str, width: int | None) -> list[Line]:
    """Sentences below a table, each behind a mark, broken where the line ends."""
    lines: list[Line] = []
    for text in texts:
        first = True
        for part in broken(text, max(1, width - len(mark) - 2) if width else None):
            lines.append((Span(f" {mark if first else ' ' * len(mark)}", role), Span(part, Role.DIM)))
            first = False
    return lines


def fitted(line: Line, width: int) -> Line:
    """The line, cut to a width; a cut shows."""
    if sum(span.width for span in line) <= width:
        return line
    mark = "..."[: max(0, width)]
    left = width - len(mark)
    kept: list[Span] = []
    for span in line:
        text = ""
        for character in span.text:
            if width_of(text + character) > left:
                return (*kept, Span(text + mark, span.role))
            text += character
        kept.append(span)
        left -= span.width
    return tuple(kept)


def plain(lines: list[Line]) -> str:
    """The lines as bare text, without blanks at their ends."""
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)
