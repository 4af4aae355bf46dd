"""Bars: how much is used, how high it once was, how much there is; and what that which is used is made of.

██████▌▒▒▒░░░░░     used, up to the peak, the rest
######==......      the same in ASCII
████████▓▓▓▒░░░     parts, one after the other, each in its colour and by its own mark
███████▌  │   ┊     a meter: parts of what is there now, a tick at the peak, a thin mark at what is planned
▂▃▆██▇▅▁▁           a graph: a column for each sample
"""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from ttmem.view.screen import level_role
from ttmem.view.table import Line, Role, Span
from ttmem.view.texts import bins

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


class Ticks(NamedTuple):
    """What a meter marks beside what is there now, as shares of the whole; None where there is no such thing."""

    peak: float | None = None
    planned: float | None = None
    limit: float | None = None


NO_TICKS = Ticks()
_TICKS = {"peak": ("│", "|", Role.MARK_PEAK), "planned": ("┊", ":", Role.MARK_PLANNED)}
TICK_MARKS = "│┊"


def meter(
    parts: Sequence[Part], width: int, ticks: Ticks = NO_TICKS, *, is_ascii: bool = False, is_marked: bool = False
) -> Line:
    """Exactly `width` columns; whatever is there shows. A tick stands where its share lies, and beside the parts: one
    that would lie on them is left out. `is_marked`: parts differ by letters, and the rest is drawn, since there are no
    colours."""
    if width < 1:
        return ()
    cells: list[tuple[str, Role]] = []
    total = 0.0
    for part in parts:
        if part.fraction <= 0:
            continue
        total += part.fraction
        end = min(width, max(round(total * width), len(cells) + 1))
        mark = part.ascii_mark if is_ascii or (is_marked and part.ascii_mark.isalpha()) else part.mark
        cells += [(mark, part.role)] * (end - len(cells))
    if cells and not is_ascii and cells[-1][0] == "█":
        cells = _with_eighth(cells, total, width)
    used = len(cells)
    rest = "." if is_ascii else "░" if is_marked else " "
    cells += [(rest, Role.BAR_REST)] * (width - used)
    for name, share in (("peak", ticks.peak), ("planned", ticks.planned)):
        at = -1 if share is None else min(width - 1, int(share * width))
        if at >= used:
            mark, ascii_mark, role = _TICKS[name]
            cells[at] = (ascii_mark if is_ascii else mark, role)
    if ticks.limit is not None:
        cells[min(width - 1, int(ticks.limit * width))] = ("|" if is_ascii else "│", Role.MARK_LIMIT)
    return tuple(
        Span("".join(mark for mark, _ in group), role) for role, group in groupby(cells, key=lambda cell: cell[1])
    )


def _with_eighth(cells: list[tuple[str, Role]], total: float, width: int) -> list[tuple[str, Role]]:
    """The last part ends where it ends, as far as eighths of a column go."""
    role = cells[-1][1]
    eighths = min(width * 8, int(total * width * 8))
    before = sum(1 for _, other in cells if other is not role)
    whole = max(eighths // 8, before)
    rest = eighths - whole * 8
    last = [("█", role)] * (whole - before)
    if rest > 0 or not last:
        last.append((_EIGHTHS[max(1, min(7, rest))], role))
    return (cells[:before] + last)[:width]


_STEPS = " ▁▂▃▄▅▆▇█"
_ASCII_STEPS = " ..::||##"


def graph(
    samples: Sequence[float | None],
    width: int,
    rows: int,
    top: float,
    *,
    is_ascii: bool = False,
    role: Role = Role.COURSE,
) -> list[Line]:
    """Exactly `rows` lines of `width` columns, the newest sample on the right; `top` fills all rows. Nothing is a low
    grey line, unknown is blank, and whatever is there shows."""
    heights = bins(samples, width)
    full = rows * 8
    eighths = [None if one is None else min(full, max(1 if one else 0, round(one / top * full))) for one in heights]
    steps = _ASCII_STEPS if is_ascii else _STEPS
    lines: list[Line] = []
    for row in range(rows - 1, -1, -1):
        cells = []
        for high in eighths:
            above = 0 if high is None else max(0, min(8, high - row * 8))
            is_ground = row == 0 and high == 0
            cells.append((steps[1] if is_ground else steps[above], Role.FRAME if is_ground else role))
        lines.append(
            tuple(
                Span("".join(mark for mark, _ in group), each)
                for each, group in groupby(cells, key=lambda cell: cell[1])
            )
        )
    return lines


def filled_columns(text: str) -> float:
    """How many columns of a bar's used part are really filled, for those who draw and do not print."""
    return sum(1.0 if character not in _EIGHTHS else _EIGHTHS.index(character) / 8 for character in text)


def _cells_up_to(fraction: float, width: int) -> int:
    """Cells that reach as far; a peak just above what is used shows as well."""
    return min(width, math.ceil(fraction * width - _NO_MORE_THAN))


def _cells(fraction: float, width: int) -> int:
    cells = int(fraction * width)
    return min(width, max(1, cells) if fraction > 0 else 0)
