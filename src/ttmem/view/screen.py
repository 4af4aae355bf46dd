"""Pages on a stream, in the colours of Tenstorrent's tools as deep as a terminal can show them.

Never colour alone: words and numbers say the same. On a terminal pages are drawn over each other, in a file or pipe
they follow each other.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, TextIO

from ttmem.errors import TtmemError
from ttmem.view.table import Line, Role, Span, fitted

USUAL_LEVELS = (60, 80, 95)  # percent of a capacity from which on it counts as taken, high and full
_LEVEL_WORDS = ("taken", "high", "full")


class Depth(IntEnum):
    """How many colours are shown."""

    NONE = 0
    SIXTEEN = 16
    INDEXED = 256
    TRUE = 1 << 24


class Colour(NamedTuple):
    """One colour at every depth; `code` is the one among sixteen, `light` the one on a bright background."""

    rgb: str
    indexed: int
    code: int
    is_bold: bool = False
    light: str = ""


PLAIN = Colour("#e6edf3", 254, 39, light="#18212b")
GREEN = Colour("#7be0c3", 115, 32, light="#0f7a53")
YELLOW = Colour("#fad100", 220, 33, light="#9a6700")
ORANGE = Colour("#ffa657", 215, 93, light="#a84a05")
RED = Colour("#ff7b72", 210, 31, light="#b42318")
PURPLE = Colour("#b9a7f0", 147, 35, light="#5b4bb0")
GREY = Colour("#9dabb9", 248, 90, light="#55616d")
BLUE = Colour("#5c9af4", 69, 34, light="#3359ca")
ACCENT = Colour("#7cc7ff", 117, 36, light="#0b5cad")
LINE = Colour("#5b6675", 241, 90, light="#87929e")
_L1 = Colour("#8cd6c0", 115, 36, light="#539880")
_CIRCULAR = Colour("#fad100", 220, 33, light="#be7e15")
_CODE = Colour("#9ca9bb", 248, 37, light="#4d5466")
_TRACE = Colour("#b46ba6", 133, 35, light="#a85099")
_LAUNCHES = Colour("#5bbce9", 74, 94, light="#0080a8")

PALETTE = {
    Role.PLAIN: PLAIN,
    Role.TITLE: PLAIN._replace(is_bold=True),
    Role.HEAD: GREY,
    Role.DIM: GREY,
    Role.INDEX: PLAIN._replace(is_bold=True),
    Role.NOTICE: PURPLE,
    Role.GOOD: GREEN,
    Role.BUSY: YELLOW,
    Role.HIGH: ORANGE,
    Role.FULL: RED._replace(is_bold=True),
    Role.BAR_GOOD: BLUE,
    Role.BAR_BUSY: _CIRCULAR,
    Role.BAR_HIGH: ORANGE,
    Role.BAR_FULL: RED,
    Role.BAR_PEAK: LINE,
    Role.BAR_REST: LINE,
    Role.BAR_DRAM: BLUE,
    Role.BAR_BUFFER: _L1,
    Role.BAR_CB: _CIRCULAR,
    Role.BAR_PLANNED: Colour("#8d7a1e", 100, 33, light="#d9b36c"),
    Role.BAR_RING: _CODE,
    Role.BAR_RETIRED: Colour("#6b7788", 243, 37, light="#8b93a3"),
    Role.BAR_SMALL: Colour("#5bbce9", 74, 36, light="#009fcf"),
    Role.BAR_TRACE: _TRACE,
    Role.BAR_RESERVED: LINE,
    Role.SELECTED: PLAIN._replace(is_bold=True),
    Role.TAGGED: YELLOW._replace(is_bold=True),
    Role.KEY: ACCENT._replace(is_bold=True),
    Role.COURSE: _LAUNCHES,
    Role.COURSE_DRAM: BLUE,
    Role.LOST: GREY,
    Role.MARK_PEAK: PLAIN,
    Role.MARK_PLANNED: PLAIN,
    Role.MARK_LIMIT: ORANGE,
    Role.FRAME: Colour("#6b7788", 243, 90, light="#87929e"),
    Role.TAB: PLAIN,
    Role.TAB_KEY: ACCENT._replace(is_bold=True),
    Role.TAB_OPEN: Colour("#ffffff", 231, 97, is_bold=True, light="#ffffff"),
    Role.BADGE: Colour("#ffdcd7", 224, 97, is_bold=True, light="#ffffff"),
}

# Of a picture that has its own: everything, and the row under the cursor.
BACKGROUNDS = (Colour("#0e1116", 233, 49, light="#ffffff"), Colour("#1f3a5f", 24, 49, light="#d9e8f8"))
_TRACK = Colour("#262e39", 236, 49, light="#e6eaef")
_TAB_BAR = Colour("#1c2530", 235, 49, light="#eceff3")
SURFACES: Mapping[Role, Colour] = {  # roles that do not stand on the page itself
    Role.SELECTED: BACKGROUNDS[True],
    Role.TAB: _TAB_BAR,
    Role.TAB_KEY: _TAB_BAR,
    Role.TAB_OPEN: Colour("#1f3a5f", 24, 44, light="#0b5cad"),
    Role.BADGE: Colour("#5a1319", 52, 41, light="#b42318"),
    **{role: _TRACK for role in Role if role.is_bar or role.value.startswith("mark_")},
}


def levels_from(value: object) -> tuple[int, int, int]:
    """Three percentages, from a list or a text such as 60,80,95; a ValueError says what they should be."""
    words = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
    try:
        found = tuple(int(word) for word in words)
    except (TypeError, ValueError):
        found = ()
    if len(found) != len(_LEVEL_WORDS) or not 0 < found[0] < found[1] < found[2] <= 100:
        raise ValueError(f"expected three rising percentages of at most 100, such as 60,80,95; found {value!r}")
    return found[0], found[1], found[2]


def use_levels(percents: Sequence[int]) -> None:
    """From now on, and for the whole program: what counts as full is one question with one answer."""
    global _levels
    _levels = tuple(
        (percent / 100, word) for percent, word in zip(reversed(percents), reversed(_LEVEL_WORDS), strict=True)
    )


_levels: tuple[tuple[float, str], ...] = ()
use_levels(USUAL_LEVELS)


def level_of(fraction: float | None) -> str:
    """A word for how full something is; empty while there is room."""
    if fraction is None:
        return ""
    return next((word for least, word in _levels if fraction >= least), "")


def level_role(fraction: float | None, *, is_bar: bool = False) -> Role:
    """The role in which a share of a capacity is shown."""
    level = level_of(fraction)
    word = "busy" if level == _LEVEL_WORDS[0] else level or "good"
    return Role("bar_" + word) if is_bar else Role(word)


def colour_depth(environ: Mapping[str, str], *, is_terminal: bool) -> Depth:
    """What a terminal with this environment can show. NO_COLOR turns colours off, whatever its value."""
    terminal = environ.get("TERM", "")
    if not is_terminal or environ.get("NO_COLOR") or terminal in ("", "dumb"):
        return Depth.NONE
    # tmux passes true colour on only if it was set up to, and garbles it otherwise.
    if environ.get("COLORTERM") in ("truecolor", "24bit") and "TMUX" not in environ:
        return Depth.TRUE
    return Depth.INDEXED if "256" in terminal or "TMUX" in environ else Depth.SIXTEEN


def depth_for(environ: Mapping[str, str], colours: str, *, is_terminal: bool) -> Depth:
    """What is shown if colours are wanted always, whatever it is written to and whatever NO_COLOR says; never; or
    auto."""
    if colours == "never":
        return Depth.NONE
    depth = colour_depth(environ, is_terminal=is_terminal)
    if colours == "always" and depth is Depth.NONE:
        return colour_depth({"TERM": "ansi", **environ, "NO_COLOR": ""}, is_terminal=True) or Depth.SIXTEEN
    return depth


class Colours:
    """Turns lines into text with the colour codes of one depth."""

    def __init__(self, depth: Depth, *, is_light: bool = False) -> None:
        shown = PALETTE if depth is not Depth.NONE else {}
        self._codes = {role: _code(_on_bright(colour) if is_light else colour, depth) for role, colour in shown.items()}

    def painted(self, lines: list[Line]) -> str:
        return "".join(self._line(line) + "\n" for line in lines)

    def _line(self, line: Line) -> str:
        if not self._codes:
            return "".join(span.text for span in line).rstrip()
        parts = []
        for span in line:
            code = self._codes[span.role]
            parts.append(f"\x1b[{code}m{span.text}\x1b[0m" if code and span.text.strip() else span.text)
        return "".join(parts).rstrip()


def _on_bright(colour: Colour) -> Colour:
    """The same for a bright background, at every depth."""
    red, green, blue = (round(int(colour.light[at : at + 2], 16) / 51) for at in (1, 3, 5))
    return colour._replace(rgb=colour.light, indexed=16 + 36 * red + 6 * green + blue)  # the cube of 6 x 6 x 6


def _code(colour: Colour, depth: Depth) -> str:
    bold = "1;" if colour.is_bold else ""
    if colour.code == PLAIN.code:  # the terminal's own foreground suits its background best
        return "1" if colour.is_bold else ""
    if depth is Depth.TRUE:
        red, green, blue = (int(colour.rgb[at : at + 2], 16) for at in (1, 3, 5))
        return f"{bold}38;2;{red};{green};{blue}"
    if depth is Depth.INDEXED:
        return f"{bold}38;5;{colour.indexed}"
    return f"{bold}{colour.code}"


_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"  # a line that is too long must not push the others down
_CLEAR, _HOME, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[2J", "\x1b[H", "\x1b[K", "\x1b[J"
_USUAL = (80, 24)


class Screen:
    """Where pages go, and how they have to look there."""

    def __init__(
        self,
        stream: TextIO | None,
        environ: Mapping[str, str],
        *,
        has_colour: bool = True,
        is_coloured: bool = False,  # whatever the stream is
        is_light: bool = False,  # on a bright background
    ) -> None:
        if stream is None:  # so Python says that it was closed before we began
            raise TtmemError("expected somewhere to write to, found standard output closed")
        self._stream, self._environ = stream, environ
        self.is_terminal = stream.isatty()
        self.is_live = self.is_terminal and environ.get("TERM", "") not in ("", "dumb")  # can be painted over
        colours = "always" if is_coloured else "auto" if has_colour else "never"
        depth = depth_for(environ, colours, is_terminal=self.is_terminal)
        self._colours = Colours(depth, is_light=is_light)
        self._frame_count = 0

    @property
    def width(self) -> int | None:
        """None for a file or pipe: its reader can scroll."""
        return self._size().columns if self.is_terminal else None

    def _size(self) -> os.terminal_size:
        """As `shutil` finds it, which brings compressors along: $COLUMNS and $LINES, else what the terminal says."""
        asked = [self._environ.get(name, "") for name in ("COLUMNS", "LINES")]
        try:
            found = tuple(os.get_terminal_size(self._stream.fileno()))
        except (OSError, ValueError):  # not a terminal after all
            found = (0, 0)
        sizes = (int(word) if word.isdecimal() else 0 for word in asked)
        columns, lines = (first or second or usual for first, second, usual in zip(sizes, found, _USUAL, strict=True))
        return os.terminal_size((columns, lines))

    def show(self, lines: list[Line]) -> None:
        """Writes one page."""
        self._stream.write(self._colours.painted(lines))
        self._stream.flush()

    def frame(self, lines: list[Line]) -> None:
        """Writes one of many pages; on a terminal over the one before, cut to its size."""
        if not self.is_live:
            self.show([*([()] if self._frame_count else []), *lines])
        else:
            size = self._size()
            text = self._colours.painted([fitted(line, size.columns) for line in _cut(lines, size.lines - 1)])
            text = text.replace("\n", f"{_CLEAR_LINE}\n")
            begin = "" if self._frame_count else _HIDE_CURSOR + _NO_WRAP + _CLEAR
            self._stream.write(begin + _HOME + text + _CLEAR_BELOW)
            self._stream.flush()
        self._frame_count += 1

    def close(self) -> None:
        """Gives the terminal back as it was."""
        if self.is_live and self._frame_count:
            self._frame_count = 0
            self._stream.write(_WRAP + _SHOW_CURSOR)
            self._stream.flush()

    @property
    def is_unicode(self) -> bool:
        """Whether bars may be drawn with block characters."""
        return "utf" in (self._stream.encoding or "").lower()


def has_keys() -> bool:
    """Whether keys can be pressed: standard input is a terminal, too."""
    return sys.stdin is not None and sys.stdin.isatty()


def _cut(lines: list[Line], height: int) -> list[Line]:
    """As many lines as fit; a cut shows."""
    if len(lines) <= height:
        return lines
    shown = lines[: max(0, height - 1)]
    return [*shown, (Span(f" ... {len(lines) - len(shown)} more lines", Role.DIM),)]
