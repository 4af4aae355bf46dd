"""Bars: how much is used, how high it once was, how much there is; and what that which is used is made of.

██████▌▒▒▒░░░░░     used, up to the peak, the rest
######==......      the same in ASCII
████████▓▓▓▒░░░     parts, one after the other, each in its colour and by its own mark
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from ttmem.view.screen import level_role
from ttmem.view.table import Line, Role, Span

_EIGHTHS = " ▏▎▍▌▋▊▉"
_NO_MORE_THAN = 1e-9  # of a cell: what is left over by arithmetic
BLOCKS = _EIGHTHS + "█▒░"  # all that bars are made of


class Part(NamedTuple):
    """A piece of a bar: how much of the whole, what it is, and the character it is made of."""

    fraction: float
    role: Role
    mark: str = "█"
    ascii_mark: str = "#"


def bar(fraction: float, peak_fraction: float, width: int, *, is_ascii: bool = False, role: Role | None = None) -> Line:
    """A bar of exactly `width` columns; whatever is used shows, and full shows only when it is. Its colour is how full
    it is, unless it has a role."""
    role = role or level_role(fraction, is_bar=True)
    if is_ascii:
        used = _cells(fraction, width)
        used_text = "#" * used
    else:
        eighths = min(width * 8, max(1, int(fraction * width * 8)) if fraction > 0 else 0)
        used_text = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
        used = len(used_text)
    peak = max(used, _cells_up_to(peak_fraction, width)) if peak_fraction > fraction else used
    spans = (
        Span(used_text, role),
        Span(("=" if is_ascii else "▒") * (peak - used), Role.BAR_PEAK),
        Span(("." if is_ascii else "░") * (width - peak), Role.BAR_REST),
    )
    return tuple(span for span in spans if span.text)


def stacked_bar(parts: Sequence[Part], peak_fraction: float, width: int, *, is_ascii: bool = False) -> Line:
    """A bar of exactly `width` columns; every part that is there shows, as long as there is room."""
    spans: list[Span] = []
    done, total = 0, 0.0
    for part in parts:
        total += part.fraction
        end = min(width, max(int(total * width), done + 1)) if part.fraction > 0 else done
        spans.append(Span((part.ascii_mark if is_ascii else part.mark) * (end - done), part.role))
        done = end
    peak = max(done, _cells_up_to(peak_fraction, width)) if peak_fraction > total else done
    spans.append(Span(("=" if is_ascii else "▒") * (peak - done), Role.BAR_PEAK))
    spans.append(Span(("." if is_ascii else "░") * (width - peak), Role.BAR_REST))
    return tuple(span for span in spans if span.text)


def filled_columns(text: str) -> float:
    """How many columns of a bar's used part are really filled, for those who draw and do not print."""
    return sum(1.0 if character not in _EIGHTHS else _EIGHTHS.index(character) / 8 for character in text)


def _cells_up_to(fraction: float, width: int) -> int:
    """Cells that reach as far; a peak just above what is used shows as well."""
    return min(width, math.ceil(fraction * width - _NO_MORE_THAN))


def _cells(fraction: float, width: int) -> int:
    cells = int(fraction * width)
    return min(width, max(1, cells) if fraction > 0 else 0)
