"""Which way of drawing chips fits a screen: the fullest that does, in as few columns as it takes.

From full to bare: cards (title, two bars, all figures, courses if there is room for them), pairs of bars with figures
below, pairs of bars alone, one line each. Whatever is chosen, every chip has a place.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

from ttmem.monitor.screens.chips.cards import figures_across
from ttmem.monitor.screens.frame import Layout

__all__ = ["GUTTER", "INDENT", "Arrangement", "arranged"]

Form = Literal["card", "pair", "line"]

GUTTER = 2  # blanks between two columns of chips
INDENT = 2  # of figures below a bar
_LEAST = {"card": 50, "pair": 39, "line": 39}  # columns a chip needs
_FIGURES_LEAST = 46  # columns from which on figures stand below a pair of bars
_LINE_TELLING = 112  # columns from which on a single line tells more than a pair of bars without figures
_FIGURES_WANTED = 7  # what L1 is made of, and kernels of every type; before that, chips rather stand closer together
_COURSE_LEAST, _COURSE_MOST = 3, 10  # rows of a course


class Arrangement(NamedTuple):
    """How chips are drawn: in so many columns, each in a cell of so many columns and rows."""

    form: Form
    columns: int
    width: int  # of a cell
    figure_rows: int = 0
    course_rows: int = 0  # of each of the two courses
    gap: int = 0  # blank rows above a cell

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
    chip_count: int, figure_count: int, width: int, height: int, *, layout: Layout, has_courses: bool, aside: int = 0
) -> Arrangement:
    """The fullest that fits; if none does, the barest of those asked for, which has to be scrolled.

    So many rows are left `aside` before courses grow tall.
    """
    chosen: Arrangement | None = None
    for chosen in _choices(chip_count, figure_count, width, layout):
        if chosen.lines(chip_count) <= height:
            return _with_courses(chosen, chip_count, height, aside) if has_courses else chosen
    assert chosen is not None
    return chosen


def _choices(chip_count: int, figure_count: int, width: int, layout: Layout) -> Iterator[Arrangement]:
    if layout != "compact":
        yield from _cells("card", chip_count, figure_count, width, is_dense=False)
    if layout == "auto":
        yield from _cells("pair", chip_count, figure_count, width, is_dense=True)
        if width >= _LINE_TELLING:
            yield Arrangement("line", 1, width)
        yield from _bare_pairs(chip_count, width)
    if layout != "full":
        for columns in range(1, _across(_LEAST["line"], width, chip_count) + 1):
            yield Arrangement("line", columns, _cell(width, columns))


def _cells(form: Form, chip_count: int, figure_count: int, width: int, *, is_dense: bool) -> Iterator[Arrangement]:
    """Of one form, with ever fewer figures: first with room between the chips, then without."""
    columns = _across(max(_LEAST[form], _FIGURES_LEAST), width, chip_count)
    cell = _cell(width, columns)
    across = figures_across(cell - INDENT, is_dense=is_dense)
    rows = max(1, (figure_count - 1) // across if figure_count % across == 1 else -(-figure_count // across))
    telling = min(rows, -(-_FIGURES_WANTED // across))
    for most, least in ((rows, telling),) if form == "card" else ((rows, telling), (telling - 1, 1)):
        for gap in (1, 0):
            for figure_rows in range(most, (most if form == "card" else least) - 1, -1):
                yield Arrangement(form, columns, cell, figure_rows, gap=gap)


def _bare_pairs(chip_count: int, width: int) -> Iterator[Arrangement]:
    """Two bars each, in as few columns as will do."""
    for columns in range(1, _across(_LEAST["pair"], width, chip_count) + 1):
        yield Arrangement("pair", columns, _cell(width, columns), gap=1)
        yield Arrangement("pair", columns, _cell(width, columns))


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
