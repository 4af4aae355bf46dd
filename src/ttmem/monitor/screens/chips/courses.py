"""The course of a figure over several rows, below the bar of what it is now: the newest sample stands on the right."""

from collections.abc import Sequence
from functools import lru_cache

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
    return [*_course_lines(tuple(samples), rows, begin, width, top_bytes if rows == 1 else None, is_ascii)]


@lru_cache(maxsize=128)  # chips that share a model have one course
def _course_lines(
    samples: tuple[Sample, ...], rows: int, begin: int, width: int, top_bytes: int | None, is_ascii: bool, /
) -> tuple[Line, ...]:
    room = width - begin - 1
    heights = bins(_stretched(samples, room), room)
    top = max((height for height in heights if height is not None), default=0)
    top = max(top, top_bytes or 0)
    steps = _ASCII_STEPS if is_ascii else _STEPS
    full = rows * 8
    eighths = [max(1, int(height / top * full)) if height else 0 for height in heights]
    around = steps[0] * full + steps + steps[-1] * full  # what lies below a row, in it and above it
    lines = []
    for row in range(rows - 1, -1, -1):
        text = "".join([around[full + high - row * 8] for high in eighths])
        scale = _SPAN if row == 0 else tight_size_text(int(top)) if row == rows - 1 else ""
        lines.append(
            Pen().right(scale if top else "", begin - 1, Role.DIM).put(" ").put(text, Role.COURSE).to(width).done()
        )
    return tuple(lines)


def _stretched(samples: Sequence[Sample], width: int) -> Sequence[Sample]:
    """As many as there are columns, where there are fewer: some stand twice."""
    count = len(samples)
    return [samples[at * count // width] for at in range(width)] if 0 < count < width else samples
