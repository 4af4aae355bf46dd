"""The course of a figure in one row of text: the newest sample on the right, a blank where nobody looked.

▁▁▂▅█▇▃▁     higher is more; zero is the lowest bar, unknown is a blank
__.-#=-_     the same in ASCII
"""

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["bins", "highest", "sparkline"]

_STEPS = "▁▂▃▄▅▆▇█"
_ASCII_STEPS = "_.-=+*%#"

Sample = int | float | None


def sparkline(samples: Sequence[Sample], width: int, is_ascii: bool = False, *, top: float | None = None) -> str:
    """Exactly `width` characters; `top` is what fills one (a capacity), or else the highest sample does."""
    steps = _ASCII_STEPS if is_ascii else _STEPS
    heights = bins(samples, width)
    full = max([top or 0, *(height or 0 for height in heights)])
    return "".join(" " if height is None else steps[_step(height, full, len(steps))] for height in heights)


def bins(samples: Sequence[Sample], width: int) -> list[Sample]:
    """The samples in exactly `width` bins, each as high as its highest: no spike is lost; too few stand right."""
    if width <= 0:
        return []
    if len(samples) <= width:
        return [None] * (width - len(samples)) + list(samples)
    edges = [at * len(samples) // width for at in range(width + 1)]
    return [highest(samples[begin:end]) for begin, end in pairwise(edges)]


def highest(samples: Sequence[Sample]) -> Sample:
    """The highest of those that are known; None if none is."""
    return max((sample for sample in samples if sample is not None), default=None)


def _step(height: float, full: float, count: int) -> int:
    """Which of so many steps: the lowest for nothing, the highest only when full, one above the lowest for whatever is
    there."""
    if height <= 0 or full <= 0:
        return 0
    return min(count - 1, max(1, int(height / full * (count - 1) + 1e-9)))
