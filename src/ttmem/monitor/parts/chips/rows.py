"""Many chips: one row each, equal ones folded, and a row for all of them; or, where few stand in little room, two lines
each.

CHIP  DRAM                       L1, fullest core          LAUNCH/s  °C   W
   0  ███████▌│     8.86 GiB 74% █▌      ┊   73.0 KiB  5%     4,310  48  30
      largest block 3.09 GiB     planned 59%
"""

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from ttmem.monitor.parts.chips.cards import badge_spans
from ttmem.monitor.parts.chips.figures import NOT_KNOWN, ChipView, Gauge, gauge_line, percent_text, share_span
from ttmem.monitor.parts.drawing import DrawArea, Pen, placed
from ttmem.monitor.parts.news import short_text
from ttmem.view.bars import graph
from ttmem.view.table import Cell, Column, Layout, Line, Role, cell, clipped, laid_out
from ttmem.view.texts import ranges_text, signed_text, size_text, tight_count_text

__all__ = ["ChipGroup", "RowPlan", "alone", "fullest_first", "grouped", "row_plan"]

_DIFFERS = 0.05  # of the median of a board, from which on a chip is marked
_BAR_LEAST, _BAR_MOST = 8, 48
_GRAPH_LEAST, _GRAPH_MOST = 8, 40
_FIXED_TIGHT, _FIXED, _FIXED_ROOMY = 52, 95, 112  # columns that everything but bars and graph takes
_ROOMY = 140  # columns from which on there is a graph
_CORE_TITLE = "L1, fullest core"
_TIGHT = 100  # columns below which everything but bars and headlines gives way


_EACH = " each"  # behind the names of equal chips: what follows is of every one of them
_SENSORS, _REMOTE = "sensors: ", 4  # before the word why there are none; columns that it takes beyond a temperature


class ChipGroup(NamedTuple):
    """Chips that are shown as one: they have the same figures."""

    chips: tuple[ChipView, ...]
    is_odd: bool = False  # differs from the others of its board

    @property
    def first(self) -> ChipView:
        return self.chips[0]

    @property
    def name(self) -> str:
        indexes = [int(chip.name) for chip in self.chips if chip.name.isdecimal()]
        return ranges_text(indexes) if len(indexes) == len(self.chips) else self.first.name


def alone(chips: Sequence[ChipView]) -> list[ChipGroup]:
    """Every chip for itself."""
    odd = _odd_chips(chips)
    return [ChipGroup((chip,), chip.number in odd) for chip in chips]


def grouped(chips: Sequence[ChipView]) -> list[ChipGroup]:
    """Chips of one board with the same figures of memory, and nothing happening on them, together."""
    groups: dict[object, list[ChipView]] = {}
    odd = _odd_chips(chips)
    for chip in chips:
        usage = chip.usage
        same = (chip.board, chip.dram[:3], chip.l1[:3], usage.planned_core_bytes, chip.block_bytes, chip.owner)
        key: object = (*same, bool(chip.launches), usage.reason) if chip.news is None else chip.number
        groups.setdefault(key, []).append(chip)
    return [ChipGroup(tuple(group), group[0].number in odd) for group in groups.values()]


def fullest_first(groups: Sequence[ChipGroup]) -> list[ChipGroup]:
    """By the fuller of DRAM and L1."""
    return sorted(groups, key=lambda group: -max(group.first.dram.share or 0, group.first.l1.share or 0))


def _odd_chips(chips: Sequence[ChipView]) -> set[int]:
    """Those whose DRAM or L1 is far from the middle of their board; of two, none is odd."""
    odd: set[int] = set()
    for board in {chip.board for chip in chips}:
        same = [chip for chip in chips if chip.board == board]
        for gauge_of in (_dram, _l1):
            shares = [share for chip in same if (share := gauge_of(chip).share) is not None]
            if len(shares) > 2:
                middle = median(shares)
                odd |= {
                    chip.number
                    for chip in same
                    if (share := gauge_of(chip).share) is not None and abs(share - middle) > _DIFFERS
                }
    return odd


def _dram(chip: ChipView) -> Gauge:
    return chip.dram


def _l1(chip: ChipView) -> Gauge:
    return chip.l1


class RowPlan(NamedTuple):
    """Columns and their widths, the same for all rows."""

    layout: Layout
    area: DrawArea
    names: int

    def titles(self) -> Line:
        return self.layout.titles()

    def line(self, group: ChipGroup) -> Line:
        return self.layout.line(_row(group, self.area))

    def total(self, chips: Sequence[ChipView]) -> Line:
        """The row of all chips together."""
        return self.layout.line(_total_row(chips, self.area))

    def below(self, chip: ChipView) -> Line:
        """The second line of a chip: largest block and planned, or what happened there."""
        begins = self._begins()
        pen = Pen().to(begins[_DRAM])
        if chip.news is not None and chip.news.is_fresh:
            badge = badge_spans(chip, self.area.width - pen.at, self.area)
            pen.line(badge)
            text = short_text(chip.news.newest.incident)
            room = self.area.width - sum(span.width for span in pen.spans) - 2
            pen.put("  ").put(clipped(text, room, is_ascii=self.area.is_ascii) if room > 8 else "", Role.FULL)
            return pen.done()
        pen.put(clipped(chip.block_text, begins[_L1] - pen.at - 1, is_ascii=self.area.is_ascii), Role.DIM)
        pen.to(begins[_L1])
        headroom = chip.usage.headroom_bytes
        left = f"  headroom {signed_text(headroom)}" if headroom is not None else ""
        pen.put(chip.planned_text + left if chip.planned_text else "", Role.DIM)
        if chip.idle_text and self.area.width - pen.at > len(chip.idle_text) + 2:
            pen.to(self.area.width - len(chip.idle_text) - 1).put(chip.idle_text, Role.DIM)
        return pen.done()

    def _begins(self) -> dict[int, int]:
        """Where the columns that are shown begin."""
        at, found = 1, {}
        for number, width in zip(self.layout.shown, self.layout.widths, strict=True):
            found[number] = at
            at += width + self.layout.gap
        return found


_DRAM, _L1 = 3, 7  # numbers of columns


def row_plan(groups: Sequence[ChipGroup], chips: Sequence[ChipView], area: DrawArea, *, is_paired: bool) -> RowPlan:
    """The columns that fit; with two lines for a chip, what stands in the second has no column."""
    is_tight = area.width < _TIGHT
    fixed = _FIXED_TIGHT if is_tight else _FIXED if area.width < _ROOMY else _FIXED_ROOMY
    fixed += len(_EACH) if any(len(group.chips) > 1 for group in groups) else 0
    fixed += _REMOTE if any(chip.sensors_word.startswith(_SENSORS) for chip in chips) else 0
    spare = max(0, area.width - fixed)
    bar = max(_BAR_LEAST, min(_BAR_MOST, spare * 3 // 8 if area.width >= _ROOMY else spare // 2))
    core_bar = max(bar, len(_CORE_TITLE))
    bar = max(_BAR_LEAST, bar - (core_bar - bar))
    curve = max(_GRAPH_LEAST, min(_GRAPH_MOST, spare // 4))
    totals = {chip.dram.total_bytes for chip in chips}, {chip.l1.total_bytes for chip in chips}
    of = [f" of {size_text(next(iter(found)))}" if len(found) == 1 and None not in found else "" for found in totals]
    degree = "C" if area.is_ascii else "°C"
    columns = [
        Column("CHIP", is_right=True, least=4),
        Column("", least=1),
        Column("BOARD", rank=10, wide_from=84),
        Column(f"DRAM{of[0]}" if bar >= 16 else "DRAM", least=bar),
        Column("", is_right=True, least=8),
        Column("", is_right=True, least=4),
        Column("LARGEST BLOCK", is_right=True, rank=6, short_title="BLOCK", wide_from=0 if not is_paired else 1000),
        Column(f"{_CORE_TITLE}{of[1]}" if core_bar >= 28 else _CORE_TITLE, least=core_bar),
        Column("", is_right=True, least=8),
        Column("", is_right=True, least=4),
        Column("PLANNED", is_right=True, rank=7, wide_from=0 if not is_paired else 1000),
        Column("LAUNCHES/s, 60 s" if curve >= 16 else "", least=curve, rank=8, wide_from=_ROOMY),
        Column("LAUNCH/s" if is_tight else "LAUNCHES/s", is_right=True, least=6, rank=2),
        Column(degree, is_right=True, least=2, rank=4),
        Column("W", is_right=True, least=2, rank=5),
        Column("MHz", is_right=True, least=4, rank=9, wide_from=100),
    ]
    rows = [_row(group, area) for group in groups]
    rows += [_total_row(chips, area)] if len(chips) > 1 else []
    return RowPlan(laid_out(columns, rows, width=area.width, gap=1 if area.width < _ROOMY else 2), area, 0)


def _row(group: ChipGroup, area: DrawArea) -> list[Cell]:
    chip = group.first
    mark, role = _mark(group, area)
    name = Role.SELECTED if chip.is_selected else Role.FULL if chip.is_alarming else Role.INDEX
    sensors = chip.sensors
    launches = [one.launches for one in group.chips]
    known = [value for value in launches if value is not None]
    each = known[0] if len(known) == 1 else round(sum(known) / len(known)) if known else None
    top = max((value for value in chip.samples if value), default=1)
    return [
        (*cell(group.name, name), *cell(_EACH if len(group.chips) > 1 else "", Role.DIM)),
        cell(mark, role),
        cell(chip.board, Role.DIM),
        lambda width: gauge_line(chip.dram, width, area),
        cell(chip.dram.mark + _size(chip.dram.used_bytes)),
        (share_span(chip.dram, 0, area),),
        cell(_size(chip.block_bytes), Role.DIM),
        lambda width: gauge_line(chip.l1, width, area),
        cell(chip.l1.mark + _size(chip.l1.used_bytes)),
        (share_span(chip.l1, 0, area),),
        cell(percent_text(chip.planned_share) if chip.planned_share is not None else "", Role.DIM),
        lambda width: graph(chip.samples, width, 1, top, is_ascii=area.is_ascii)[0],
        cell("" if each is None else tight_count_text(each), Role.PLAIN if each else Role.DIM),
        cell(f"{sensors.temperature.value:.0f}") if sensors and sensors.temperature else _no_sensors(chip),
        cell(f"{sensors.power.value:.0f}" if sensors and sensors.power else ""),
        cell(f"{sensors.aiclk_mhz}" if sensors and sensors.aiclk_mhz is not None else "", Role.DIM),
    ]


def _mark(group: ChipGroup, area: DrawArea) -> tuple[str, Role]:
    if group.first.is_alarming:
        return "!" if area.is_ascii else "✖", Role.FULL
    if group.is_odd:
        return "#" if area.is_ascii else "≠", Role.TITLE
    return group.first.mark


def _no_sensors(chip: ChipView) -> Cell:
    """`remote`: behind another chip, which has the sensors."""
    _, _, word = chip.sensors_word.partition(_SENSORS)
    return cell(word, Role.DIM)


def _size(size_bytes: int | None) -> str:
    return "unknown" if size_bytes is None else size_text(size_bytes)


def _total_row(chips: Sequence[ChipView], area: DrawArea) -> list[Cell]:
    """Sums of DRAM, launches and power; the fullest core of all; the hottest."""
    used, total = _sum([chip.dram.used_bytes for chip in chips]), _sum([chip.dram.total_bytes for chip in chips])
    fullest = max(chips, key=lambda chip: chip.l1.share or 0)
    is_alike = len({chip.l1.share for chip in chips}) == 1
    which = "all alike" if is_alike else f"fullest: chip {fullest.name}"
    launches = _sum([chip.launches for chip in chips])
    heat = [chip.sensors.temperature.value for chip in chips if chip.sensors and chip.sensors.temperature]
    power = [chip.sensors.power.value for chip in chips if chip.sensors and chip.sensors.power]
    share = used / total if used is not None and total else None
    blocks = [chip.block_bytes for chip in chips if chip.block_bytes is not None]
    smallest, largest = _ends([chip.dram.used_bytes for chip in chips])
    spread = f"{size_text(smallest)} to {size_text(largest)} each" if smallest is not None else NOT_KNOWN
    return [
        cell("all", Role.INDEX),
        (),
        cell(f"{len(chips)}", Role.DIM),
        lambda width: placed(cell(spread if len(spread) <= width else "", Role.DIM), width),
        cell(_size(used), Role.TITLE),
        cell(percent_text(share) if share is not None else "", Role.TITLE),
        cell(size_text(max(blocks)) if blocks else "", Role.DIM),
        lambda width: placed(cell(clipped(which, width, is_ascii=area.is_ascii), Role.DIM), width),
        cell(_size(fullest.l1.used_bytes), Role.TITLE),
        cell(percent_text(fullest.l1.share) if fullest.l1.share is not None else "", Role.TITLE),
        (),
        (),
        cell("" if launches is None else tight_count_text(launches), Role.TITLE),
        cell(f"{max(heat):.0f}" if heat else "", Role.TITLE),
        cell(f"{sum(power):.0f}" if power else "", Role.TITLE),
        (),
    ]


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _ends(values: Sequence[int | None]) -> tuple[int | None, int | None]:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else (None, None)
