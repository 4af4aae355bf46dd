"""The course of a figure over several rows, below the bar of what it is now: the newest sample stands on the right."""

from collections.abc import Sequence

from ttmem.monitor.screens.pen import Pen
from ttmem.view.spans import Line, Role
from ttmem.view.sparkline import Sample, bins
from ttmem.view.units import tight_size_text

__all__ = ["COURSE_SECONDS", "course_lines"]

COURSE_SECONDS = 60
_SPAN = f"{COURSE_SECONDS} s"

_STEPS = " ▁▂▃▄▅▆▇█"
_ASCII_STEPS = " ..::||##"


def course_lines(
    samples: Sequence[Sample], rows: int, begin: int, width: int, *, top_bytes: int | None, is_ascii: bool
) -> list[Line]:
    """So many rows; beside them what the highest stands for, and how much time they span. `top_bytes` is what fills a
    row that is alone; where there are several, the highest sample fills them."""
    room = width - begin - 1
    heights = bins(_stretched(samples, room), room)
    top = max((height for height in heights if height is not None), default=0)
    top = max(top, top_bytes or 0) if rows == 1 else top
    steps = _ASCII_STEPS if is_ascii else _STEPS
    full = rows * 8
    eighths = [None if height is None else max(1, int(height / top * full)) if height else 0 for height in heights]
    lines = []
    for row in range(rows - 1, -1, -1):
        text = "".join(" " if high is None else steps[min(8, max(0, high - row * 8))] for high in eighths)
        scale = _SPAN if row == 0 else tight_size_text(int(top)) if row == rows - 1 else ""
        lines.append(
            Pen().right(scale if top else "", begin - 1, Role.DIM).put(" ").put(text, Role.COURSE).to(width).done()
        )
    return lines


def _stretched(samples: Sequence[Sample], width: int) -> Sequence[Sample]:
    """As many as there are columns, where there are fewer: some stand twice."""
    count = len(samples)
    return [samples[at * count // width] for at in range(width)] if 0 < count < width else samples
