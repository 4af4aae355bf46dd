"""The grid of worker cores as a heat map: how full each is in percent, the fullest in brackets.

cores   0    1    2        78  of 100
  0    78   78  [96]
"""

from collections.abc import Iterator

from ttmem.snapshot.chip_map import ChipMap, CoreFill
from ttmem.view.colours import level_role
from ttmem.view.spans import Line, Role, Span

__all__ = ["core_lines", "grid_width"]

_TITLE = 6  # columns of a row's number
_WIDEST, _NARROWEST = 5, 1
_BRACKETED = 4  # columns that a figure with brackets needs


def grid_width(chip: ChipMap, room: int) -> int:
    """How wide the grid is drawn in so much room."""
    columns = chip.device.grid[0] if chip.device.grid else 0
    return _TITLE + columns * _cell_width(columns, room)


def core_lines(chip: ChipMap, room: int) -> list[Line]:
    """A line of column numbers, then one per row of cores; empty if the grid is not known."""
    if chip.device.grid is None or not chip.cores:
        return []
    columns, rows = chip.device.grid
    width = _cell_width(columns, room)
    lines: list[Line] = [(Span(" cores" + "".join(_number(x, width) for x in range(columns)), Role.HEAD),)]
    for y in range(rows):
        cells = chip.cores[y * columns : (y + 1) * columns]
        lines.append((Span(f"{y:>4}  ", Role.HEAD), *(span for core in cells for span in _cell(core, chip, width))))
    return lines


def _cell_width(columns: int, room: int) -> int:
    return max(_NARROWEST, min(_WIDEST, (room - _TITLE) // max(1, columns)))


def _number(x: int, width: int) -> str:
    if width == 1:
        return str(x % 10)
    return f"{x:>{width - 1}} " if width >= _BRACKETED else f"{x % 100:>{width}}"


def _cell(core: CoreFill, chip: ChipMap, width: int) -> Iterator[Span]:
    """A figure; where there is no room for two digits, tenths. Full is not said before it is."""
    fraction = core.used_bytes / chip.core_bytes if chip.core_bytes else 0.0
    role = level_role(fraction)
    is_worst = (core.x, core.y) == chip.worst
    percent = min(100, int(fraction * 100 + 1e-9))
    if width < _BRACKETED:
        text = f"{percent:>{width}}" if width >= 3 else str(min(9, percent // 10)).rjust(width)
        yield Span(text[:-1] + "!" if is_worst and width == 1 else text, Role.TITLE if is_worst else role)
        return
    figure = str(percent) if width == _WIDEST or percent < 100 else "**"
    inner = figure.rjust(width - 2)
    if is_worst:
        blanks = len(inner) - len(figure)
        yield Span(" " * blanks + "[", Role.TITLE)
        yield Span(figure, role)
        yield Span("]", Role.TITLE)
    else:
        yield Span(" " + inner + " ", role)
