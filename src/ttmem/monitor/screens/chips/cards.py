"""One chip, drawn: as a card with a title, as two bars with figures below, or as a single line.

0  n300  wormhole_b0  8x8 cores ──────────      0 n300  DRAM ████▒░░  9.21 GiB / 12.0 GiB   76% busy
   DRAM ████▒▒░░  9.21 GiB / 12.0 GiB  76%        8x8   L1   ███▓▒░░  61.2 MiB / 89.4 MiB   68% busy
   L1   ███▓▓▒░░  61.2 MiB / 89.4 MiB  68%        buffers 56.0M  CB now 9.00M  CB plan 21.0M  ring 4.31M
   buffers 56.0 MiB   CBs now 9.00 MiB  ...     0 ███▒░ 9.21G/12.0G  76% ██▓░ 61.2M/89.4M  68%
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.monitor.screens.chips.figures import (
    Figure,
    Gauge,
    beside_figures,
    dense_figures_of,
    dram_gauge,
    figures_of,
    has_more,
    l1_gauge,
    percent_text,
    pools_of,
)
from ttmem.monitor.screens.chips.kept import Kept
from ttmem.monitor.screens.pen import Pen, shown_name
from ttmem.snapshot.device import Device
from ttmem.snapshot.usage import DeviceUsage
from ttmem.view.bars import bar, stacked_bar
from ttmem.view.device_tables import device_word
from ttmem.view.spans import Line, Role, Span, width_of
from ttmem.view.sparkline import Sample, sparkline
from ttmem.view.units import size_text, tight_size_text

__all__ = [
    "Chip",
    "bar_line",
    "chip_of",
    "figure_lines",
    "figures_across",
    "gauge_bar",
    "spark_columns",
    "title_line",
    "told_line",
]

ROOMY, DENSE = 24, 15  # least columns of a figure: in full, and short
_NUMBERS = 31  # columns of ` 9.21 GiB / 12.0 GiB   76% busy`
_TIGHT_NUMBERS = 17  # of ` 9.21G/12.0G  76%`
_WORD = 5  # of ` busy`
BESIDE = 12  # of a figure beside a bar
_BAR_LEAST = 10
_SPARK_LEAST, _SPARK_MOST = 8, 30
_SWATCHED = 18  # columns of a figure from which on there is a place for a swatch, whether it has one or not
_BAR_GOOD = 16  # as long as it is no longer, a course beside it would take too much
_kept_figures: Kept[list[Line]] = Kept()
_kept_rows: Kept[Line] = Kept()  # of figures


class Chip(NamedTuple):
    """What is drawn of one chip, worked out once for all its lines."""

    usage: DeviceUsage
    name: str  # index, or what it is called
    dram: Gauge
    l1: Gauge
    dram_course: Sequence[Sample]
    l1_course: Sequence[Sample]
    is_selected: bool = False
    refused: Role | None = None  # it had an incident

    def figures(self, *, is_ascii: bool) -> Iterator[Figure]:
        return figures_of(self.usage, pools_of(self.usage), is_ascii=is_ascii)

    def dense_figures(self, *, beside: int, is_ascii: bool) -> Iterator[Figure]:
        return iter(dense_figures_of(self.usage, pools_of(self.usage), beside=beside, is_ascii=is_ascii))

    def beside(self, pool: Pool, count: int, *, is_ascii: bool) -> list[Figure]:
        return beside_figures(self.usage, pools_of(self.usage), pool, beside=count, is_ascii=is_ascii)

    def named(self, width: int) -> str:
        """Numbers end below each other, names begin there."""
        return self.name.rjust(width) if self.name.isdigit() else self.name

    @property
    def mark(self) -> tuple[str, Role]:
        """`!`: an incident, or its figures are not whole; `+`: something is held beside them, which cards tell."""
        if self.refused is not None and (self.refused is Role.FULL or not self.usage.reason):
            return "!", self.refused
        if self.usage.reason:
            return "!", Role.HIGH
        return ("+", Role.NOTICE) if any(has_more(pool) for pool in self.usage.pools) else (" ", Role.PLAIN)

    @property
    def index_role(self) -> Role:
        return Role.SELECTED if self.is_selected else Role.INDEX


def chip_of(
    usage: DeviceUsage, courses: tuple[Sequence[Sample], Sequence[Sample]], *, is_selected: bool, is_ascii: bool
) -> Chip:
    pools = pools_of(usage)
    name = shown_name(device_word(usage.device), is_ascii)
    return Chip(usage, name, dram_gauge(usage, pools), l1_gauge(usage, pools), *courses, is_selected)


def title_line(chip: Chip, dev_node: str, width: int, *, is_ascii: bool) -> Line:
    """Who the chip is, as far as there is room, and a rule to the end."""
    device = chip.usage.device
    pen = Pen().put(">" if chip.is_selected else " ", chip.index_role)
    pen.name(chip.name, min(width - 2, width_of(chip.name)), chip.index_role, is_ascii=is_ascii)
    pen.put(*chip.mark)
    for text, role in _identity(device, dev_node):
        text = shown_name(text, is_ascii)
        taken = width_of(text)
        if pen.at + 2 + taken <= width - 2:
            pen.put("  " if pen.spans[-1].text.strip() else " ").name(text, taken, role, is_ascii=is_ascii)
    return pen.put(" ").put(("-" if is_ascii else "─") * (width - pen.at), Role.BAR_REST).done()


def _identity(device: Device, dev_node: str) -> list[tuple[str, Role]]:
    cores = f"{device.grid[0]}x{device.grid[1]} cores" if device.grid else ""
    told = [
        (device.board or device.arch, Role.TITLE),
        (dev_node, Role.DIM),
        (device.arch if device.board else "", Role.DIM),
        (cores, Role.DIM),
        (device.uuid or "", Role.DIM),
    ]
    return [(text, role) for text, role in told if text]


def bar_line(pen: Pen, gauge: Gauge, course: Sequence[Sample], width: int, *, is_ascii: bool) -> Line:
    """From where the pen is to `width`: the bar, used of total, the share; and the course where there is room."""
    is_tight = width - pen.at < _NUMBERS + 12
    numbers = _TIGHT_NUMBERS if is_tight else _NUMBERS
    spark = spark_columns(width - pen.at) if course else 0
    room = width - pen.at - numbers
    pen.line(gauge_bar(gauge, room - (spark + 1 if spark else 0), is_ascii))
    _numbers(pen, gauge, is_tight=is_tight)
    if spark:
        pen.put(" ").put(sparkline(course, spark, is_ascii, top=gauge.total_bytes), Role.COURSE)
    return pen.to(width).done()


def spark_columns(room: int, figure_count: int = 0) -> int:
    """How long a course is in so much room, beside a bar, its numbers, and so many figures; 0 if there is none."""
    if figure_count:
        spare, _ = _spare(room, figure_count)
        return min(_SPARK_MOST, max(_SPARK_LEAST, spare // 2)) if spare > _SPARK_LEAST else 0
    left = room - (_TIGHT_NUMBERS if room < _NUMBERS + 12 else _NUMBERS)
    spark = min(_SPARK_MOST, (left - _BAR_GOOD) // 2)
    return spark if spark >= _SPARK_LEAST else 0


def told_line(
    pen: Pen, gauge: Gauge, course: Sequence[Sample], figures: Sequence[Figure], width: int, *, is_ascii: bool
) -> Line:
    """The same with figures at its end: a short bar, and what is left for the word and the course."""
    spare, has_word = _spare(width - pen.at, len(figures))
    spark = spark_columns(width - pen.at, len(figures)) if course else 0
    pen.line(gauge_bar(gauge, _BAR_LEAST + spare - (spark + 1 if spark else 0), is_ascii))
    _numbers(pen, gauge, is_tight=True)
    if has_word:
        pen.put(" ").left(gauge.word_beside, _WORD - 1, gauge.role)
    if spark:
        pen.put(" ").put(sparkline(course, spark, is_ascii, top=gauge.total_bytes), Role.COURSE)
    for figure in figures:
        name = next((name for name in (figure.name, figure.title) if len(name + figure.tight) + 2 <= BESIDE), "")
        text = f"{name} {figure.tight}" if name else ""
        pen.put(" " * (BESIDE - len(text))).put(text[: len(name) + 1], Role.DIM).put(text[len(name) + 1 :], figure.role)
    return pen.to(width).done()


def _spare(room: int, figure_count: int) -> tuple[int, bool]:
    """What is left to make a bar longer, or for a course, and whether there is a word as well."""
    spare = room - _BAR_LEAST - _TIGHT_NUMBERS - BESIDE * figure_count
    return (spare - _WORD, True) if spare >= _WORD else (spare, False)


def gauge_bar(gauge: Gauge, width: int, is_ascii: bool) -> Line:
    """Exactly so wide; words instead of a bar where nobody knows how much there is."""
    fraction = gauge.fraction
    if width < 1:
        return ()
    if fraction is None:
        word = "no capacity" if gauge.used_bytes is not None else "unknown"
        return (Span(word[:width].ljust(width) if len(word) <= width else " " * width, Role.DIM),)
    if gauge.parts:
        return stacked_bar(gauge.parts, gauge.peak_fraction, width, is_ascii=is_ascii)
    return bar(fraction, gauge.peak_fraction, width, is_ascii=is_ascii)


def _numbers(pen: Pen, gauge: Gauge, *, is_tight: bool) -> None:
    size = tight_size_text if is_tight else size_text
    used = gauge.mark + size(gauge.used_bytes)
    wide = 6 if is_tight else 10
    pen.right(used, wide, Role.DIM if gauge.used_bytes is None else Role.PLAIN)
    pen.put("/" if is_tight else " / ", Role.DIM).left(size(gauge.total_bytes), wide - 1 if is_tight else 8, Role.DIM)
    fraction = gauge.fraction
    pen.right(percent_text(fraction) if fraction is not None else "", 5, gauge.role)
    if not is_tight:
        pen.put(" ").left(gauge.word_beside, 4, gauge.role)


def figure_lines(
    chip: Chip, lines: int, width: int, *, indent: int, beside: int | None = None, is_ascii: bool
) -> list[Line]:
    """The first figures in so many lines, in columns of one width; densely, if so many stand beside the bars."""
    made_of = (chip.usage, lines, width, indent, beside, is_ascii)
    return _kept_figures.of(
        chip.usage.device.number,
        made_of,
        lambda: _figure_lines(chip, lines, width, indent=indent, beside=beside, is_ascii=is_ascii),
    )


def _figure_lines(chip: Chip, lines: int, width: int, *, indent: int, beside: int | None, is_ascii: bool) -> list[Line]:
    room, is_dense = width - indent, beside is not None
    across = figures_across(room, is_dense=is_dense)
    slot = room // across
    if beside is None:
        figures = chip.figures(is_ascii=is_ascii)
    else:
        figures = chip.dense_figures(beside=beside, is_ascii=is_ascii)

    def drawn(row: Sequence[Figure]) -> Line:
        pen = Pen().put(" " * indent)
        for figure in row:
            _figure(pen, figure, slot, is_roomy=not is_dense, is_ascii=is_ascii)
        return pen.to(width).done()

    kept = []
    for at in range(lines):
        row = tuple(islice(figures, across))
        made_of = (row, indent, width, is_dense, is_ascii)
        kept.append(_kept_rows.of((chip.usage.device.number, at), made_of, lambda: drawn(row)))  # noqa: B023 at once
    return kept


def figures_across(room: int, *, is_dense: bool) -> int:
    across = max(1, room // (DENSE if is_dense else ROOMY))
    return across if is_dense else min(across, 4) if across < 8 else 8


def _figure(pen: Pen, figure: Figure, width: int, *, is_roomy: bool, is_ascii: bool) -> None:
    """A swatch, a name, and the value before the last column; shorter words where there is too little room."""
    end = pen.at + width
    blank = "  " if width >= _SWATCHED else ""
    if figure.swatch:
        pen.put(figure.swatch.ascii_mark if is_ascii else figure.swatch.mark, figure.swatch.role)
        blank = " " if width > DENSE else ""  # in the narrowest, long names have no room for it: then none has
    room = end - 1 - pen.at - len(blank)
    if is_roomy and len(figure.name) + 1 + len(value := figure.value) <= room:
        pen.put(blank + figure.name, Role.DIM).put(value.rjust(room - len(figure.name)) + " ", figure.role)
        return
    value = figure.tight
    for name in (figure.short, figure.least or figure.title, figure.title):
        for before in dict.fromkeys((blank, "")):
            left = room + len(blank) - len(before)
            if len(name) + 1 + len(value) <= left:
                pen.put(before + name, Role.DIM).put(value.rjust(left - len(name)) + " ", figure.role)
                return
    pen.to(end)
