"""A series as a plot: one column per stretch of time, as high as its highest sample.

12.0 GiB ┤        ▂▅
         │   ▃▆███████▇
       0 ┤▁▁▂██████████        ▁ is nothing, a blank is: nobody looked
"""

from collections.abc import Sequence

from ttmem.view.colours import level_role
from ttmem.view.spans import Line, Role, Span
from ttmem.view.units import size_text

__all__ = ["GUTTER", "plot", "scale_top", "stretched"]

GUTTER = 10  # columns of the axis: a size, a blank, the line
_STEPS = " ▁▂▃▄▅▆▇█"
_ASCII_STEPS = "  ...:::#"
_EIGHTHS = 8
_ZOOMS = (1, 2, 4, 10, 20, 40, 100, 200, 400, 1000)  # parts of a capacity that may fill a plot


def scale_top(highest_bytes: int | None, capacity_bytes: int | None) -> int:
    """What the top of a plot stands for: a capacity, or a round part of it if that is enough."""
    highest = highest_bytes or 0
    if not capacity_bytes:
        return 1 << max(10, highest.bit_length())
    if not highest or highest > capacity_bytes:
        return highest or capacity_bytes
    parts = (capacity_bytes // zoom for zoom in reversed(_ZOOMS) if highest <= capacity_bytes // zoom)
    return max(1, next(parts, capacity_bytes))


def stretched(samples: Sequence[int | None], width: int) -> list[int | None]:
    """One value for each of `width` columns; where several samples share one, the highest."""
    count = len(samples)
    if not count:
        return [None] * width
    if count <= width:
        return [samples[column * count // width] for column in range(width)]
    found: list[int | None] = []
    for column in range(width):
        inside = samples[column * count // width : (column + 1) * count // width]
        found.append(max((sample for sample in inside if sample is not None), default=None))
    return found


def plot(
    samples: Sequence[int | None],
    *,
    width: int,
    height: int,
    top_bytes: int,
    capacity_bytes: int | None,
    is_ascii: bool = False,
) -> list[Line]:
    """Exactly `height` lines of exactly `width` columns, the axis of bytes on their left."""
    columns = stretched(samples, max(0, width - GUTTER))
    heights = [_eighths(value, top_bytes, height) for value in columns]
    runs = _runs([_role(value, capacity_bytes) for value in columns])
    steps = _ASCII_STEPS if is_ascii else _STEPS
    labels = {0: size_text(top_bytes), height - 1: "0"}
    if height >= 5:
        labels[height // 2] = size_text(top_bytes * (height - height // 2) // height)  # of a line's upper edge
    lines = []
    for row in range(height):
        base = (height - 1 - row) * _EIGHTHS
        text = "".join([steps[0 if high <= base else min(_EIGHTHS, high - base)] for high in heights])
        label = labels.get(row, "")
        tick = ("|" if is_ascii else "┤") if label else ("|" if is_ascii else "│")
        axis = Span(f"{label:>{GUTTER - 2}} {tick}"[:width], Role.DIM)
        lines.append((axis, *(Span(text[begin:end], role) for begin, end, role in runs)))
    return lines


def _eighths(value: int | None, top_bytes: int, height: int) -> int:
    """How high a column is: nothing at all for unknown, one for nothing, two at least for whatever is there."""
    if value is None:
        return 0
    if value <= 0:
        return 1
    return min(height * _EIGHTHS, max(2, value * height * _EIGHTHS // top_bytes))


def _role(value: int | None, capacity_bytes: int | None) -> Role:
    if not value:
        return Role.DIM
    return level_role(value / capacity_bytes) if capacity_bytes else Role.GOOD


def _runs(roles: Sequence[Role]) -> list[tuple[int, int, Role]]:
    """Neighbours of one role as one stretch: from, up to, role."""
    runs: list[tuple[int, int, Role]] = []
    for at, role in enumerate(roles):
        if runs and runs[-1][2] is role:
            runs[-1] = (runs[-1][0], at + 1, role)
        else:
            runs.append((at, at + 1, role))
    return runs
