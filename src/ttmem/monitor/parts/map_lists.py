"""The grid of worker cores as a heat map: how full each is in percent, the fullest in brackets.

cores   0    1    2        78  of 100
  0    78   78  [96]
"""

from collections.abc import Iterable, Iterator, Sequence

from ttmem.monitor.parts.drawing import Pen
from ttmem.monitor.parts.map_bars import FREE, MapPart, Sort
from ttmem.snapshot.chip_map import ChipMap, CoreFill
from ttmem.view.table import Line, Role, Span
from ttmem.view.texts import count_text, size_text, tight_size_text

__all__ = ["address_lines", "core_lines", "grid_width", "legend_lines"]

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
    role = Role.PLAIN
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


_BOTH_ADDRESSES = 60  # columns from which on a line also shows where a stretch ends
_SIZE_WIDTH = 8


def legend_lines(parts: Iterable[MapPart], width: int, most: int) -> list[Line]:
    """Every sort that is there: its letter, its word, and how much of one bank or core it has."""
    sums: dict[Sort, int] = {}
    free_bytes = 0
    for part in parts:
        if part.sort is not FREE:
            sums[part.sort] = sums.get(part.sort, 0) + part.used_bytes
        free_bytes += part.size_bytes - part.used_bytes
    lines = [Pen()]
    for sort, size in [*sums.items(), *([(FREE, free_bytes)] if free_bytes else [])]:
        words = f" {sort.word} {tight_size_text(size)}"
        if lines[-1].at and lines[-1].at + 3 + len(words) > width:
            lines.append(Pen())
        lines[-1].put("  " if lines[-1].at else " ").put(sort.letter, Role.TITLE).put(words)
    return [pen.done() for pen in lines][:most]


def address_lines(parts: Sequence[MapPart], width: int, *, is_ascii: bool) -> list[Line]:
    """A line for every stretch: where it begins, how much it is, what it is; in few words where room is short."""
    digits = max((len(f"{part.end:#x}") for part in parts), default=3)
    has_ends = width >= _BOTH_ADDRESSES
    lines = [_figures(part, digits, has_ends) for part in parts]
    room = width - max((pen.at for pen in lines), default=0)
    said = [[_all_words(part) for part in parts], [_few_words(part) for part in parts]]
    chosen = next((words for words in said if all(len(text) <= room for text in words)), said[-1])
    for pen, part, text in zip(lines, parts, chosen, strict=True):
        pen.name(text, min(len(text), room), _role(part), is_ascii=is_ascii)
    return [pen.done() for pen in lines]


def _figures(part: MapPart, digits: int, has_ends: bool) -> Pen:
    pen = Pen().put(" ").right(f"{part.begin:#x}", digits, Role.DIM)
    if has_ends:
        pen.put(" ").right(f"{part.end:#x}", digits, Role.DIM)
    pen.put(" ").right(size_text(part.size_bytes), _SIZE_WIDTH, _role(part)).put("  ")
    return pen.put(part.sort.letter, Role.TITLE).put(" ")


def _role(part: MapPart) -> Role:
    return Role.DIM if part.sort is FREE else Role.PLAIN


def _all_words(part: MapPart) -> str:
    words = _counted(part, part.sort.words)
    return f"{words}, {size_text(part.hole_bytes)} of it free in small holes" if part.hole_bytes else words


def _few_words(part: MapPart) -> str:
    return _counted(part, part.sort.word)


def _counted(part: MapPart, words: str) -> str:
    if not part.alive_count:
        return words
    if part.alive_count == 1:
        words = words.replace("buffers", "buffer", 1).replace("traces", "trace", 1)
    return f"{count_text(part.alive_count)} {words}"
