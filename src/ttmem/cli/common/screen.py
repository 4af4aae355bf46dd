"""Frames on a stream: drawn over each other on a terminal, one after the other in a file or pipe."""

import os
import sys
from collections.abc import Mapping
from typing import TextIO

from ttmem.errors import TtmemError
from ttmem.view import Colours, Line, Role, Span, depth_for
from ttmem.view.spans import fitted

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
