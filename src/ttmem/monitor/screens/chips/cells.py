"""The cell of one chip as an arrangement wants it: lines of exactly the cell's width."""

from collections.abc import Sequence

from ttmem.devices import Pool
from ttmem.monitor.screens.chips.arrangement import INDENT, PAIR_INDENT, Arrangement
from ttmem.monitor.screens.chips.cards import Chip, bar_line, figure_lines, title_line, told_line
from ttmem.monitor.screens.chips.courses import course_lines
from ttmem.monitor.screens.chips.figures import Gauge
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
    width, begin, device = how.width, INDENT + 5, chip.usage.device
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
    pen = Pen().put(" " * INDENT).left(gauge.word, 5, Role.HEAD)
    return bar_line(pen, gauge, beside, width, is_ascii=is_ascii)


def _pair(chip: Chip, how: Arrangement, names: int, is_ascii: bool) -> list[Line]:
    device, width = chip.usage.device, how.width
    has_board = width >= _BOARD_LEAST
    lines = []
    for gauge, course in ((chip.dram, chip.dram_course), (chip.l1, chip.l1_course)):
        pen = Pen()
        if gauge is chip.dram:
            pen.put(">" if chip.is_selected else " ", chip.index_role)
            pen.name(chip.named(names), names, chip.index_role, is_ascii=is_ascii).put(*chip.mark)
        else:
            pen.put(" " * (names + 2))
        if has_board:
            cores = f"{device.grid[0]}x{device.grid[1]}" if device.grid else ""
            text = (device.board or device.arch) if gauge is chip.dram else cores
            role = Role.TITLE if gauge is chip.dram else Role.DIM
            most = _BOARD_MOST if width >= _BOARD_WHOLE else _BOARD_SHORT
            pen.name(shown_name(text, is_ascii), most, role, is_ascii=is_ascii).put(" ")
        pen.left(gauge.word, 5, Role.HEAD)
        if not how.beside:
            lines.append(bar_line(pen, gauge, course, width, is_ascii=is_ascii))
            continue
        pool = Pool.DRAM if gauge is chip.dram else Pool.L1
        figures = chip.beside(pool, how.beside, is_ascii=is_ascii)
        lines.append(told_line(pen, gauge, course, figures, width, is_ascii=is_ascii))
    return lines + figure_lines(chip, how.figure_rows, width, indent=PAIR_INDENT, beside=how.beside, is_ascii=is_ascii)
