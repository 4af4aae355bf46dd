"""One chip, drawn: as a card with a title, as two bars with figures below, or as a single line.

0  n300  wormhole_b0  8x8 cores ──────────      0 n300  DRAM ████▒░░  9.21 GiB / 12.0 GiB   76% busy
   DRAM ████▒▒░░  9.21 GiB / 12.0 GiB  76%        8x8   L1   ███▓▒░░  61.2 MiB / 89.4 MiB   68% busy
   L1   ███▓▓▒░░  61.2 MiB / 89.4 MiB  68%        buffers 56.0M  CB now 9.00M  CB plan 21.0M  ring 4.31M
   buffers 56.0 MiB   CBs now 9.00 MiB  ...     0 ███▒░ 9.21G/12.0G  76% ██▓░ 61.2M/89.4M  68%
"""

from collections.abc import Sequence
from itertools import islice
from typing import Literal, NamedTuple

from ttmem.devices import Pool
from ttmem.monitor.parts.chip_figures import (
    ChipCard,
    Figure,
    Gauge,
    percent_text,
)
from ttmem.monitor.parts.drawing import Pen, shown_name
from ttmem.snapshot.values import Device
from ttmem.view.bars import bar, stacked_bar
from ttmem.view.table import Line, Role, Span, width_of
from ttmem.view.texts import Sample, bins, size_text, sparkline, tight_size_text

__all__ = [
    "HISTORY_SECONDS",
    "Arrangement",
    "bar_line",
    "cell_lines",
    "figure_lines",
    "figures_across",
    "gauge_bar",
    "history_lines",
    "name_width",
    "spark_columns",
    "title_line",
]

ROOMY, DENSE = 24, 15  # least columns of a figure: in full, and short
_NUMBERS = 31  # columns of ` 9.21 GiB / 12.0 GiB   76% busy`
_TIGHT_NUMBERS = 17  # of ` 9.21G/12.0G  76%`
_WORD = 5  # of ` busy`
BESIDE = 12  # of a figure beside a bar
_BAR_LEAST = 10
_SPARK_LEAST, _SPARK_MOST = 8, 30
_SWATCHED = 18  # columns of a figure from which on there is a place for a swatch, whether it has one or not
HISTORY_SECONDS = 60
_SPAN = f"{HISTORY_SECONDS} s"
_STEPS = " ▁▂▃▄▅▆▇█"
_ASCII_STEPS = " ..::||##"
_NAME_MOST = 18  # a chip's unique id
_BESIDE_NAME = 27  # columns that figures of a cell take at least
_BOARD_MOST, _BOARD_SHORT = 7, 5
_BOARD_WHOLE = 90  # columns from which on its name has all of its room
_BOARD_LEAST = 70  # columns of a cell from which on a pair of bars names the board
_MEMORY_WORD = 7  # columns of DRAM, L1 and L1 buf
Form = Literal["card", "pair", "line"]
INDENT, PAIR_INDENT = 2, 3  # of figures below the bars of a card, and of a pair
_BAR_GOOD = 16  # as long as it is no longer, a history beside it would take too much


class Arrangement(NamedTuple):
    """How chips are drawn: in so many columns, each in a cell of so many columns and rows."""

    form: Form
    columns: int
    width: int  # of a cell
    figure_rows: int = 0
    history_rows: int = 0  # of each of the two history
    gap: int = 0  # blank rows above a cell
    beside: int = 0  # figures beside each of the two bars

    @property
    def height(self) -> int:
        """Rows of a cell without the gap."""
        if self.form == "line":
            return 1
        return (self.form == "card") + 2 + self.figure_rows + 2 * self.history_rows

    def rows(self, chip_count: int) -> int:
        """Rows of cells."""
        return -(-chip_count // self.columns)

    def lines(self, chip_count: int) -> int:
        """What all of them take; one more for the titles above single lines."""
        return self.rows(chip_count) * (self.height + self.gap) + (self.form == "line")


def title_line(chip: ChipCard, dev_node: str, width: int, *, is_ascii: bool) -> Line:
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
    parts = [
        (device.board or device.arch, Role.TITLE),
        (dev_node, Role.DIM),
        (device.arch if device.board else "", Role.DIM),
        (cores, Role.DIM),
        (device.uuid or "", Role.DIM),
    ]
    return [(text, role) for text, role in parts if text]


def bar_line(pen: Pen, gauge: Gauge, samples: Sequence[Sample], width: int, *, is_ascii: bool) -> Line:
    """From where the pen is to `width`: the bar, used of total, the share; and the history where there is room."""
    is_tight = width - pen.at < _NUMBERS + 12
    numbers = _TIGHT_NUMBERS if is_tight else _NUMBERS
    spark = spark_columns(width - pen.at) if samples else 0
    room = width - pen.at - numbers
    pen.line(gauge_bar(gauge, room - (spark + 1 if spark else 0), is_ascii))
    _numbers(pen, gauge, is_tight=is_tight)
    if spark:
        pen.put(" ").put(sparkline(samples, spark, is_ascii, top=gauge.history_bytes), Role.COURSE)
    return pen.to(width).done()


def spark_columns(room: int, figure_count: int = 0) -> int:
    """How long a history is in so much room, beside a bar, its numbers, and so many figures; 0 if there is none."""
    if figure_count:
        spare, _ = _spare(room, figure_count)
        return min(_SPARK_MOST, max(_SPARK_LEAST, spare // 2)) if spare > _SPARK_LEAST else 0
    left = room - (_TIGHT_NUMBERS if room < _NUMBERS + 12 else _NUMBERS)
    spark = min(_SPARK_MOST, (left - _BAR_GOOD) // 2)
    return spark if spark >= _SPARK_LEAST else 0


def _figures_bar_line(
    pen: Pen, gauge: Gauge, samples: Sequence[Sample], figures: Sequence[Figure], width: int, *, is_ascii: bool
) -> Line:
    """The same with figures at its end: a short bar, and what is left for the word and the history."""
    spare, has_word = _spare(width - pen.at, len(figures))
    spark = spark_columns(width - pen.at, len(figures)) if samples else 0
    pen.line(gauge_bar(gauge, _BAR_LEAST + spare - (spark + 1 if spark else 0), is_ascii))
    _numbers(pen, gauge, is_tight=True)
    if has_word:
        pen.put(" ").left(gauge.word_beside, _WORD - 1, gauge.role)
    if spark:
        pen.put(" ").put(sparkline(samples, spark, is_ascii, top=gauge.history_bytes), Role.COURSE)
    for figure in figures:
        name = next((name for name in (figure.name, figure.title) if len(name + figure.tight) + 2 <= BESIDE), "")
        text = f"{name} {figure.tight}" if name else ""
        pen.put(" " * (BESIDE - len(text))).put(text[: len(name) + 1], Role.DIM).put(text[len(name) + 1 :], figure.role)
    return pen.to(width).done()


def _spare(room: int, figure_count: int) -> tuple[int, bool]:
    """What is left to make a bar longer, or for a history, and whether there is a word as well."""
    spare = room - _BAR_LEAST - _TIGHT_NUMBERS - BESIDE * figure_count
    return (spare - _WORD, True) if spare >= _WORD else (spare, False)


def gauge_bar(gauge: Gauge, width: int, is_ascii: bool) -> Line:
    """Exactly so wide; words instead of a bar where the capacity is unknown."""
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
    chip: ChipCard, lines: int, width: int, *, indent: int, beside: int | None = None, is_ascii: bool
) -> list[Line]:
    """The first figures in so many lines, in columns of one width; densely, if so many stand beside the bars."""
    room, is_dense = width - indent, beside is not None
    across = figures_across(room, is_dense=is_dense)
    if beside is None:
        figures = chip.figures(is_ascii=is_ascii)
    else:
        figures = chip.dense_figures(beside=beside, is_ascii=is_ascii)
    drawn = []
    for _ in range(lines):
        pen = Pen().put(" " * indent)
        for figure in islice(figures, across):
            _figure(pen, figure, room // across, is_roomy=not is_dense, is_ascii=is_ascii)
        drawn.append(pen.to(width).done())
    return drawn


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


def history_lines(
    samples: Sequence[Sample], rows: int, begin: int, width: int, gauge: Gauge, *, word: str, is_ascii: bool
) -> list[Line]:
    """History over several rows, the newest sample on the right. Beside them: what the highest sample is, which fills
    several rows (a single one is filled by all of the memory), a word, and how much time they span."""
    room = width - begin - 1
    heights = bins(_stretched(samples, room), room)
    top = max((height for height in heights if height is not None), default=0)
    top = max(top, (gauge.history_bytes or 0) if rows == 1 else 0)
    steps = _ASCII_STEPS if is_ascii else _STEPS
    full = rows * 8
    eighths = [max(1, int(height / top * full)) if height else 0 for height in heights]
    around = steps[0] * full + steps + steps[-1] * full  # what lies below a row, in it and above it
    lines = []
    for row in range(rows - 1, -1, -1):
        text = "".join([around[full + high - row * 8] for high in eighths])
        scale = {rows - 2: word, rows - 1: tight_size_text(int(top)), 0: _SPAN}.get(row, "")
        lines.append(
            Pen().right(scale if top else "", begin - 1, Role.DIM).put(" ").put(text, Role.COURSE).to(width).done()
        )
    return lines


def _stretched(samples: Sequence[Sample], width: int) -> Sequence[Sample]:
    """As many as there are columns, where there are fewer: some stand twice."""
    count = len(samples)
    return [samples[at * count // width] for at in range(width)] if 0 < count < width else samples


def name_width(chips: Sequence[ChipCard], width: int) -> int:
    """Columns for the names of chips in cells of a width, so that their bars begin at one place."""
    return min(_NAME_MOST, width - _BESIDE_NAME, max((width_of(chip.name) for chip in chips), default=1))


def cell_lines(chip: ChipCard, dev_node: str, how: Arrangement, names: int, *, is_ascii: bool) -> list[Line]:
    """A card, or a pair of bars."""
    if how.form == "card":
        return _card(chip, dev_node, how, is_ascii)
    return _pair(chip, how, names, is_ascii)


def _card(chip: ChipCard, dev_node: str, how: Arrangement, is_ascii: bool) -> list[Line]:
    width, begin = how.width, INDENT + _MEMORY_WORD
    lines = [title_line(chip, dev_node, width, is_ascii=is_ascii)]
    for gauge, samples in ((chip.dram, chip.dram_samples), (chip.l1, chip.l1_samples)):
        lines.append(_card_bar(gauge, () if how.history_rows else samples, width, is_ascii))
        if how.history_rows:
            word = "" if gauge is chip.dram else "L1 buf"
            lines += history_lines(samples, how.history_rows, begin, width, gauge, word=word, is_ascii=is_ascii)
    return lines + figure_lines(chip, how.figure_rows, width, indent=INDENT, is_ascii=is_ascii)


def _card_bar(gauge: Gauge, beside: Sequence[Sample], width: int, is_ascii: bool) -> Line:
    pen = Pen().put(" " * INDENT).left(gauge.word, _MEMORY_WORD, Role.HEAD)
    return bar_line(pen, gauge, beside, width, is_ascii=is_ascii)


def _pair(chip: ChipCard, how: Arrangement, names: int, is_ascii: bool) -> list[Line]:
    lines = [_pair_bar(chip, pool, how, names, is_ascii) for pool in (Pool.DRAM, Pool.L1)]
    return lines + figure_lines(
        chip, how.figure_rows, how.width, indent=PAIR_INDENT, beside=how.beside, is_ascii=is_ascii
    )


def _board(width: int) -> int:
    return 0 if width < _BOARD_LEAST else _BOARD_MOST if width >= _BOARD_WHOLE else _BOARD_SHORT


def _pair_bar(chip: ChipCard, pool: Pool, how: Arrangement, names: int, is_ascii: bool) -> Line:
    device, width, is_first = chip.usage.device, how.width, pool is Pool.DRAM
    gauge, samples = (chip.dram, chip.dram_samples) if is_first else (chip.l1, chip.l1_samples)
    figures = chip.beside(pool, how.beside, is_ascii=is_ascii) if how.beside else []
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
    pen.left(gauge.word, _MEMORY_WORD, Role.HEAD)
    if figures:
        return _figures_bar_line(pen, gauge, samples, figures, width, is_ascii=is_ascii)
    return bar_line(pen, gauge, samples, width, is_ascii=is_ascii)
