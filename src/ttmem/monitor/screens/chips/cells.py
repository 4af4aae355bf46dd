"""The cell of one chip as an arrangement wants it: lines of exactly the cell's width."""

from collections.abc import Sequence

from ttmem.devices import Pool
from ttmem.monitor.screens.chips.arrangement import INDENT, PAIR_INDENT, Arrangement
from ttmem.monitor.screens.chips.cards import Chip, bar_line, figure_lines, spark_columns, title_line, told_line
from ttmem.monitor.screens.chips.courses import course_lines
from ttmem.monitor.screens.chips.figures import Figure, Gauge
from ttmem.monitor.screens.chips.kept import Kept
from ttmem.monitor.screens.pen import Pen, shown_name
from ttmem.view.spans import Line, Role, width_of
from ttmem.view.sparkline import Sample

__all__ = ["cell_lines", "name_width"]

_NAME_MOST = 18  # a chip's unique id
_BESIDE_NAME = 27  # columns that figures of a cell take at least
_BOARD_MOST, _BOARD_SHORT = 7, 5
_BOARD_WHOLE = 90  # columns from which on its name has all of its room
_BOARD_LEAST = 70  # columns of a cell from which on a pair of bars names the board
_WORD = 5  # columns of DRAM and L1
_kept_titles: Kept[Line] = Kept()
_kept_bars: Kept[Line] = Kept()


def name_width(chips: Sequence[Chip], width: int) -> int:
    """Columns for the names of chips in cells of a width, so that their bars begin at one place."""
    return min(_NAME_MOST, width - _BESIDE_NAME, max((width_of(chip.name) for chip in chips), default=1))


def cell_lines(chip: Chip, dev_node: str, how: Arrangement, names: int, *, is_ascii: bool) -> list[Line]:
    """A card, or a pair of bars."""
    if how.form == "card":
        return _card(chip, dev_node, how, is_ascii)
    return _pair(chip, how, names, is_ascii)


def _card(chip: Chip, dev_node: str, how: Arrangement, is_ascii: bool) -> list[Line]:
    width, begin, device = how.width, INDENT + _WORD, chip.usage.device
    titled = (device, chip.name, chip.mark, chip.is_selected, dev_node, width, is_ascii)
    lines = [
        _kept_titles.of(device.number, titled, lambda: title_line(chip, dev_node, width, is_ascii=is_ascii)),
    ]
    for gauge, course in ((chip.dram, chip.dram_course), (chip.l1, chip.l1_course)):
        beside = () if how.course_rows else course
        lines.append(
            _kept_bars.of(
                (device.number, gauge.word),
                (gauge, beside, width, is_ascii),
                lambda: _card_bar(gauge, beside, width, is_ascii),  # noqa: B023 made at once, if at all
            )
        )
        lines += course_lines(course, how.course_rows, begin, width, top_bytes=gauge.total_bytes, is_ascii=is_ascii)
    return lines + figure_lines(chip, how.figure_rows, width, indent=INDENT, is_ascii=is_ascii)


def _card_bar(gauge: Gauge, beside: Sequence[Sample], width: int, is_ascii: bool) -> Line:
    pen = Pen().put(" " * INDENT).left(gauge.word, _WORD, Role.HEAD)
    return bar_line(pen, gauge, beside, width, is_ascii=is_ascii)


def _pair(chip: Chip, how: Arrangement, names: int, is_ascii: bool) -> list[Line]:
    device, lines = chip.usage.device, []
    for pool, gauge, course in ((Pool.DRAM, chip.dram, chip.dram_course), (Pool.L1, chip.l1, chip.l1_course)):
        figures = tuple(chip.beside(pool, how.beside, is_ascii=is_ascii)) if how.beside else ()
        room = how.width - _before_bar(how.width, names)
        beside = course if spark_columns(room, len(figures)) else ()
        head = (device, chip.name, chip.mark, chip.is_selected)
        lines.append(
            _kept_bars.of(
                (device.number, pool),
                (head, gauge, beside, figures, how, names, is_ascii),
                lambda: _pair_bar(chip, pool, gauge, beside, figures, how=how, names=names, is_ascii=is_ascii),  # noqa: B023 at once
            )
        )
    return lines + figure_lines(
        chip, how.figure_rows, how.width, indent=PAIR_INDENT, beside=how.beside, is_ascii=is_ascii
    )


def _before_bar(width: int, names: int) -> int:
    """Columns of the name, the board and the word for the memory."""
    return names + 2 + (_board(width) + 1 if _board(width) else 0) + _WORD


def _board(width: int) -> int:
    return 0 if width < _BOARD_LEAST else _BOARD_MOST if width >= _BOARD_WHOLE else _BOARD_SHORT


def _pair_bar(
    chip: Chip,
    pool: Pool,
    gauge: Gauge,
    course: Sequence[Sample],
    figures: Sequence[Figure],
    *,
    how: Arrangement,
    names: int,
    is_ascii: bool,
) -> Line:
    device, width, is_first = chip.usage.device, how.width, pool is Pool.DRAM
    pen = Pen()
    if is_first:
        pen.put(">" if chip.is_selected else " ", chip.index_role)
        pen.name(chip.named(names), names, chip.index_role, is_ascii=is_ascii).put(*chip.mark)
    else:
        pen.put(" " * (names + 2))
    if _board(width):
        cores = f"{device.grid[0]}x{device.grid[1]}" if device.grid else ""
        text, role = (device.board or device.arch, Role.TITLE) if is_first else (cores, Role.DIM)
        pen.name(shown_name(text, is_ascii), _board(width), role, is_ascii=is_ascii).put(" ")
    pen.left(gauge.word, _WORD, Role.HEAD)
    if figures:
        return told_line(pen, gauge, course, figures, width, is_ascii=is_ascii)
    return bar_line(pen, gauge, course, width, is_ascii=is_ascii)
