"""Where panels go: side by side as long as each stays wide enough to read, then below each other, then page by page."""

from typing import NamedTuple

__all__ = ["GAP", "Tiling", "tiled"]

GAP = 2  # columns between two panels
_LEAST_WIDTH = 18
_GOOD_WIDTH = 36
_HEIGHTS = (8, 6, 4, 3, 2)  # what a panel would like to have, down to what it needs
_LEAST_HEIGHT = _HEIGHTS[-1]


class Tiling(NamedTuple):
    """So many panels in a row, each of one size; `shown` of them at once."""

    columns: int
    width: int
    height: int
    shown: int


def tiled(count: int, *, width: int, height: int, multiple: int = 1) -> Tiling:
    """The tiling for so many panels. `multiple`: they belong together by that many, and stay in one row or column."""
    if not count or height < 1:
        return Tiling(1, width, max(0, height), 0)
    choices = [columns for columns in range(1, count + 1) if columns == 1 or columns % multiple == 0]
    for least_width in (_GOOD_WIDTH, _LEAST_WIDTH):
        for least_height in _HEIGHTS:
            for columns in choices:
                found = _tiling(columns, count, width, height)
                if (columns == 1 or found.width >= least_width) and found.height >= least_height:
                    return found
    fitting = [columns for columns in choices if _tiling(columns, count, width, height).width >= _LEAST_WIDTH]
    columns = max(fitting, default=1)
    panel_height = min(_LEAST_HEIGHT, height)
    shown = min(count, columns * (height // panel_height))
    return _tiling(columns, count, width, height)._replace(height=panel_height, shown=shown)


def _tiling(columns: int, count: int, width: int, height: int) -> Tiling:
    rows = -(-count // columns)
    return Tiling(columns, (width - GAP * (columns - 1)) // columns, height // rows, count)
