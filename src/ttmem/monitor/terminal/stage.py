"""The terminal as we found it, and how it is given back: at the end, after a crash, at a signal.

The first picture is painted here, by plain escape codes: the toolkit that takes over takes twice as long to load as the
figures take to be had.
"""

import os
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from ttmem.view.colours import BACKGROUNDS, PALETTE, Colour, Depth
from ttmem.view.spans import Line, Role

__all__ = ["ENTER", "LEAVE", "STAGE", "first_picture", "staged"]

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
# Whatever the toolkit may have turned on: mouse, focus, paste, key reports; and lines wrap again.
_MODES = (1000, 1002, 1003, 1006, 1015, 1004, 2004, 2048)
_RESET = "".join(f"\x1b[?{mode}l" for mode in _MODES) + "\x1b[<u\x1b[?7h\x1b[0m"


class Stage:
    """Whether the terminal shows our picture, or what was there before."""

    def __init__(self) -> None:
        self.is_entered = False


STAGE = Stage()


@contextmanager
def staged() -> Iterator[None]:
    """A terminal that does not echo, and is as before when this is left, however that happens."""
    attributes = None
    with suppress(termios.error, OSError):
        attributes = termios.tcgetattr(0)
        quiet = [*attributes]
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(0, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        if STAGE.is_entered:
            STAGE.is_entered = False
            _write(_RESET + LEAVE + _SHOW_CURSOR)
        if attributes is not None:
            with suppress(termios.error, OSError):
                termios.tcsetattr(0, termios.TCSADRAIN, attributes)


def first_picture(lines: Sequence[Line], *, depth: Depth, is_light: bool) -> None:
    """Paints the whole screen."""
    STAGE.is_entered = True
    codes = {role: _code(role, depth, is_light=is_light) for role in Role}
    rows = ("".join(f"\x1b[{codes[role]}m{text}" for text, role in line) for line in lines)
    plain = f"\x1b[{codes[Role.PLAIN]}m"
    _write(ENTER + _HIDE_CURSOR + plain + "\x1b[2J\x1b[H" + f"{plain}\x1b[K\r\n".join(rows))


def _write(text: str) -> None:
    with suppress(OSError):
        os.write(sys.__stdout__.fileno() if sys.__stdout__ else 1, text.encode(errors="replace"))


def _code(role: Role, depth: Depth, *, is_light: bool) -> str:
    colour = PALETTE[role]
    bold = "0;1" if colour.is_bold else "0"
    if depth is Depth.NONE:
        return f"{bold};7" if role is Role.SELECTED else bold
    background = BACKGROUNDS[role is Role.SELECTED]
    return f"{bold};{_number(colour, depth, 38, is_light=is_light)};{_number(background, depth, 48, is_light=is_light)}"


def _number(colour: Colour, depth: Depth, base: int, *, is_light: bool) -> str:
    if depth is Depth.SIXTEEN:
        return str(colour.code if base == 38 else 49)
    rgb = colour.light if is_light else colour.rgb
    red, green, blue = (int(rgb[at : at + 2], 16) for at in (1, 3, 5))
    if depth is Depth.TRUE:
        return f"{base};2;{red};{green};{blue}"
    return f"{base};5;{16 + 36 * _step(red) + 6 * _step(green) + _step(blue)}"


def _step(part: int) -> int:
    """Of the six steps a colour cube has."""
    return 0 if part < 48 else 1 if part < 115 else (part - 35) // 40
