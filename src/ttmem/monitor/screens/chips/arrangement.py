"""Which way of drawing chips fits a screen: the fullest that does, in as few columns as it takes.

From full to bare: cards (title, two bars, all figures, courses if there is room for them), pairs of bars with figures
below, and beside them, pairs of bars alone, one line each. Whatever is chosen, every chip has a place.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from ttmem.monitor.screens.chips.cards import BESIDE, figures_across
from ttmem.monitor.screens.chips.figures import MOST_BESIDE
from ttmem.monitor.screens.frame import Layout

__all__ = ["GUTTER", "INDENT", "Arrangement", "arranged"]

Form = Literal["card", "pair", "line"]

GUTTER = 2  # blanks between two columns of chips
INDENT, PAIR_INDENT = 2, 3  # of figures below the bars of a card, and of a pair
_LEAST = {"card": 50, "pair": 39, "line": 39}  # columns a chip needs
_FIGURES_LEAST = 46  # columns from which on figures stand below a pair of bars
_LINE_TELLING = 112  # columns from which on a single line tells more than a pair of bars without figures
_NAME = 2  # columns of an index
_BAR_AND_NUMBERS = 34  # of a short bar, used of total and the share, beside the name
_COURSE_LEAST, _COURSE_MOST = 3, 10  # rows of a course


class Arrangement(NamedTuple):
    """How chips are drawn: in so many columns, each in a cell of so many columns and rows."""

    form: Form
    columns: int
    width: int  # of a cell
    figure_rows: int = 0
    course_rows: int = 0  # of each of the two courses
    gap: int = 0  # blank rows above a cell
    beside: int = 0  # figures beside each of the two bars

    @property
    def height(self) -> int:
        """Rows of a cell without the gap."""
        if self.form == "line":
            return 1
        return (self.form == "card") + 2 + self.figure_rows + 2 * self.course_rows

    def rows(self, chip_count: int) -> int:
        """Rows of cells."""
        return -(-chip_count // self.columns)

    def lines(self, chip_count: int) -> int:
        """What all of them take; one more for the titles above single lines."""
        return self.rows(chip_count) * (self.height + self.gap) + (self.form == "line")


@lru_cache(maxsize=16)  # asked at every look, and mostly the same
def arranged(
    chip_count: int,
    figure_count: int,
    width: int,
    height: int,
    *,
    layout: Layout,
    has_courses: bool,
    aside: int = 0,
    names: int = _NAME,
) -> Arrangement:
    """The fullest that fits; if none does, the barest of those asked for, which has to be scrolled.

    So many rows are left `aside` before courses grow tall; `names` of chips are so many columns wide.
    """
    chosen: Arrangement | None = None
    for chosen in _choices(chip_count, figure_count, width, layout, names):
        if chosen.lines(chip_count) <= height:
            return _with_courses(chosen, chip_count, height, aside) if has_courses else chosen
    assert chosen is not None
    return chosen


def _choices(chip_count: int, figure_count: int, width: int, layout: Layout, names: int) -> Iterator[Arrangement]:
    if layout != "compact":
        yield from _cards(chip_count, figure_count, width)
    if layout == "auto":
        yield from _pairs(chip_count, figure_count, width, names)
        if width >= _LINE_TELLING:
            yield Arrangement("line", 1, width)
        yield from _bare_pairs(chip_count, width, names)
    if layout != "full":
        for columns in range(1, _across(_LEAST["line"], width, chip_count) + 1):
            yield Arrangement("line", columns, _cell(width, columns))


def _cards(chip_count: int, figure_count: int, width: int) -> Iterator[Arrangement]:
    """With all figures: first with room between the chips, then without."""
    columns = _across(max(_LEAST["card"], _FIGURES_LEAST), width, chip_count)
    cell = _cell(width, columns)
    rows = _figure_rows(figure_count, figures_across(cell - INDENT, is_dense=False))
    for gap in (1, 0):
        yield Arrangement("card", columns, cell, rows, gap=gap)


def _pairs(chip_count: int, figure_count: int, width: int, names: int) -> Iterator[Arrangement]:
    """With all figures below the bars; then with some beside them, and ever fewer below."""
    columns = _across(max(_LEAST["pair"], _FIGURES_LEAST), width, chip_count)
    cell = _cell(width, columns)
    across = figures_across(cell - PAIR_INDENT, is_dense=True)
    rows = _figure_rows(figure_count, across)
    yield Arrangement("pair", columns, cell, rows, gap=1)
    yield Arrangement("pair", columns, cell, rows)
    beside = _beside(cell, names)
    for figure_rows in range(_figure_rows(figure_count - 2 * beside, across), 0, -1):
        for gap in (1, 0):
            yield Arrangement("pair", columns, cell, figure_rows, gap=gap, beside=beside)


def _figure_rows(figure_count: int, across: int) -> int:
    """For all of them; but for one figure, there is no row."""
    return max(1, (figure_count - 1) // across if figure_count % across == 1 else -(-figure_count // across))


def _bare_pairs(chip_count: int, width: int, names: int) -> Iterator[Arrangement]:
    """Two bars each, in as few columns as will do."""
    for columns in range(1, _across(_LEAST["pair"], width, chip_count) + 1):
        cell = _cell(width, columns)
        for gap in (1, 0):
            yield Arrangement("pair", columns, cell, gap=gap, beside=_beside(cell, names))


def _beside(cell: int, names: int) -> int:
    """How many figures there is room for beside each bar."""
    return max(0, min(MOST_BESIDE, (cell - max(_NAME, names) - _BAR_AND_NUMBERS) // BESIDE))


def _across(least: int, width: int, chip_count: int) -> int:
    """As many columns of at least so many characters as there is room for, of equal height."""
    most = max(1, min(chip_count, (width + GUTTER) // (least + GUTTER)))
    return -(-chip_count // -(-chip_count // most)) if chip_count else 1


def _cell(width: int, columns: int) -> int:
    return (width - GUTTER * (columns - 1)) // columns


def _with_courses(chosen: Arrangement, chip_count: int, height: int, aside: int) -> Arrangement:
    """What is left over goes to courses, in cards."""
    if chosen.form != "card":
        return chosen
    spare, taken = height - chosen.lines(chip_count), 2 * max(1, chosen.rows(chip_count))
    rows = min(_COURSE_MOST, (spare - aside) // taken)
    return chosen._replace(course_rows=rows if rows >= _COURSE_LEAST else min(1, spare // taken))
