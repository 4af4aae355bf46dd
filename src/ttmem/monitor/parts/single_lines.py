"""One line per chip, in columns under titles: both gauges always, and of the figures as many as there is room for."""

from collections.abc import Sequence
from typing import NamedTuple

from ttmem.monitor.parts.cards import gauge_bar
from ttmem.monitor.parts.chip_figures import ChipCard, Figure, Gauge, percent_text
from ttmem.monitor.parts.drawing import Pen
from ttmem.view.table import Line, Role
from ttmem.view.texts import sparkline, tight_size_text

__all__ = ["LinePlan", "line_plan", "single_line", "titles_line"]

# Figures that get a column, most wanted first.
_WANTED = (
    "planned",
    "headroom",
    "L1 buf",
    "CB plan",
    "CB now",
    "app",
    "fabric",
    "disp",
    "D block",
    "L1 blk",
    "D peak",
    "small",
    "trace",
)
_USED, _TOTAL, _SHARE, _FIGURE = 6, 6, 5, 9
_BAR_LEAST, _BAR_GOOD, _BAR_MOST = 5, 10, 24
_HISTORY = 14


class LinePlan(NamedTuple):
    """What stands in the line of every chip."""

    names: int
    bar: int
    has_totals: bool
    titles: tuple[str, ...]
    samples: int


def line_plan(chips: Sequence[ChipCard], names: int, width: int) -> LinePlan:
    """The same for all chips, so that their columns stand below each other."""
    left = width - (names + 2) - 2 * (_USED + _SHARE) - 1
    has_totals = left - 2 * _TOTAL >= 2 * _BAR_LEAST
    left -= 2 * _TOTAL if has_totals else 0
    there = {title for chip in chips[:1] for title in by_title(chip)} if left >= 2 * _BAR_GOOD + _FIGURE else set()
    titles: list[str] = []
    for title in _WANTED:
        if title in there and left - _FIGURE >= 2 * _BAR_GOOD:
            titles.append(title)
            left -= _FIGURE
    has_history = any(chip.dram_samples for chip in chips) and left // 2 - _HISTORY - 1 >= _BAR_GOOD
    left -= 2 * (_HISTORY + 1) if has_history else 0
    return LinePlan(names, max(0, min(_BAR_MOST, left // 2)), has_totals, tuple(titles), _HISTORY if has_history else 0)


def titles_line(plan: LinePlan, chips: Sequence[ChipCard], width: int) -> Line:
    """Above the lines: what they show; and the total, where it has no column and is the same for all."""
    pen = Pen().put(" " * (plan.names + 2))
    totals = plan.has_totals
    for word, sizes in (
        ("DRAM", {chip.dram.total_bytes for chip in chips}),
        ("L1", {chip.l1.total_bytes for chip in chips}),
    ):
        room = plan.bar + _USED + (_TOTAL if totals else 0) + _SHARE
        same = (
            f" of {tight_size_text(next(iter(sizes)))}"
            if len(sizes) == 1 and not totals
            else " used/total"
            if totals
            else ""
        )
        text = word + same if len(word + same) < room else word
        pen.left(text, room, Role.HEAD).put(" " * (plan.samples + 1 if plan.samples else 0))
        pen.put(" " if word == "DRAM" else "")
    for title in plan.titles:
        pen.right(title, _FIGURE, Role.HEAD)
    return pen.to(width).done()


def single_line(chip: ChipCard, plan: LinePlan, width: int, *, is_ascii: bool) -> Line:
    pen = Pen().put(">" if chip.is_selected else " ", chip.index_role)
    pen.name(chip.named(plan.names), plan.names, chip.index_role, is_ascii=is_ascii).put(*chip.mark)
    _gauge(pen, chip.dram, plan, is_ascii)
    _history(pen, chip.dram, chip.dram_samples, plan, is_ascii)
    _gauge(pen.put(" "), chip.l1, plan, is_ascii)
    _history(pen, chip.l1, chip.l1_samples, plan, is_ascii)
    figures = by_title(chip, is_ascii=is_ascii) if plan.titles else {}
    for title in plan.titles:
        figure = figures.get(title)
        pen.right(figure.tight if figure else "", _FIGURE, figure.role if figure else Role.DIM)
    return pen.to(width).done()


def by_title(chip: ChipCard, *, is_ascii: bool = False) -> dict[str, Figure]:
    """Figures under the title of their column; of kernels, without how many there are."""
    return {figure.title: figure for figure in chip.figures(is_ascii=is_ascii)}


def _gauge(pen: Pen, gauge: Gauge, plan: LinePlan, is_ascii: bool) -> None:
    pen.line(gauge_bar(gauge, plan.bar, is_ascii))
    pen.right(gauge.mark + tight_size_text(gauge.used_bytes), _USED, gauge.role if gauge.note else Role.PLAIN)
    if plan.has_totals:
        pen.put("/", Role.DIM).left(tight_size_text(gauge.total_bytes), _TOTAL - 1, Role.DIM)
    pen.right(percent_text(gauge.fraction), _SHARE, gauge.role)


def _history(pen: Pen, gauge: Gauge, samples: Sequence[int | float | None], plan: LinePlan, is_ascii: bool) -> None:
    if plan.samples:
        pen.put(" ").put(sparkline(samples, plan.samples, is_ascii, top=gauge.history_bytes), Role.COURSE)
