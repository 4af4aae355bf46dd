"""Who dispatches programs on a chip, and what that takes from its grid of worker cores."""

from enum import Enum

__all__ = ["Axis", "DispatchCores", "Grid", "without"]

Grid = tuple[int, int]  # columns, rows


class DispatchCores(Enum):
    """The cores that run the command queues; SLOW: none, the host writes into every core itself."""

    TENSIX = "tensix"
    ETHERNET = "ethernet"
    SLOW = "slow"


class Axis(Enum):
    """A direction in which a grid of cores is cut: a row is as wide as the grid, a column as high."""

    ROW = "row"
    COLUMN = "column"


def without(grid: Grid, axis: Axis, count: int) -> Grid:
    """What is left of a grid when some of its rows or columns are taken away."""
    columns, rows = grid
    return (columns, rows - count) if axis is Axis.ROW else (columns - count, rows)
