"""L1 map: one chip by address. The L1 of its fullest core and a DRAM bank to scale, how full every core is, and a list
of what lies where.

Banks move in lockstep, so one DRAM bank stands for all of them, and buffers take the same of every core.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Literal

from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame, Pen, Wanted, shown_name
from ttmem.monitor.parts.map_bars import axis, head_line, missing_lines, parts_of, pool_lines, scaled, unmapped_lines
from ttmem.monitor.parts.map_lists import address_lines, core_lines, grid_width, legend_lines
from ttmem.snapshot.chip_map import ChipMap, Space
from ttmem.snapshot.values import Device
from ttmem.view.table import Line, Role, Span, fitted, width_of
from ttmem.view.texts import count_text, device_word

__all__ = ["INITIAL", "L1MapState", "acted", "beside", "chip_word", "draw", "pointed", "wanted"]

Lower = Literal["cores", "l1", "dram"]
_LOWER: tuple[Lower, ...] = ("cores", "l1", "dram")
_WIDE = 110  # columns from which on the cores and a list stand side by side
_GAP = 3
_THICK = ((54, 3), (36, 2), (0, 1))  # rows of a body, and how many of them a bar has


@dataclass(frozen=True, slots=True)
class L1MapState:
    """What the user chose."""

    device: str = ""  # word of a chip; empty: the first
    lower: Lower = "cores"  # what stands below the bars; where there is room, a list beside the cores
    first: int = 0  # of the list, the line at its top


INITIAL = L1MapState()


def draw(frame: MonitorFrame, area: DrawArea, state: L1MapState) -> Drawing:
    chip = frame.chip
    if chip is None:
        text = frame.trouble or "No chip is known here yet: nothing reports, or the map is on its way."
        return Drawing((fitted((Span(f" {shown_name(text, area.is_ascii)}", Role.DIM),), area.width),)[: area.height])
    upper = [_title(chip, area), *_space_lines(chip, chip.l1, area), *_space_lines(chip, chip.dram, area)]
    upper += unmapped_lines(chip, area.width)
    lower, hidden = _lower_lines(chip, area, state, max(0, area.height - len(upper)))
    lines = [fitted(line, area.width) for line in (*upper, *lower)]
    return Drawing(tuple(lines[: max(0, area.height)]), hidden_count=hidden)


def acted(action: str, state: L1MapState, frame: MonitorFrame, area: DrawArea) -> L1MapState:
    match action:
        case "next_pool":
            return replace(state, lower=_LOWER[(_LOWER.index(state.lower) + 1) % len(_LOWER)], first=0)
        case "left" | "right":
            device = beside(state.device, frame, -1 if action == "left" else 1)
            return state if device == state.device else replace(state, device=device, first=0)
        case "up" | "down" | "page_up" | "page_down" | "home" | "end":
            return _scrolled(action, state, frame, area)
        case _:
            return state


def pointed(hit: int, state: L1MapState) -> L1MapState:
    return state


def wanted(frame: MonitorFrame, state: L1MapState) -> Wanted:
    return Wanted(chip=chip_word(state.device, frame))


def chip_word(chosen: str, frame: MonitorFrame) -> str | None:
    """The chip that a close-up shows: the chosen one, else the first; None if there is none."""
    words = _words(frame)
    return chosen or (words[0] if words else None)


def _words(frame: MonitorFrame) -> list[str]:
    return [device_word(usage.device) for usage in frame.overview.devices] if frame.overview else []


def beside(chosen: str, frame: MonitorFrame, step: int) -> str:
    """The chip before or after, around the end."""
    words = _words(frame)
    current = chip_word(chosen, frame)
    if len(words) < 2 or current not in words:
        return chosen
    return words[(words.index(current) + step) % len(words)]


def _scrolled(action: str, state: L1MapState, frame: MonitorFrame, area: DrawArea) -> L1MapState:
    hidden = draw(frame, area, state).hidden_count
    if not hidden:
        return state
    page = max(1, area.height // 2)
    steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "home": -hidden, "end": hidden}
    first = max(0, min(hidden, min(state.first, hidden) + steps[action]))
    return state if first == state.first else replace(state, first=first)


# ---- the bars


def _title(chip: ChipMap, area: DrawArea) -> Line:
    """The chip, and what fits of what is known of it."""
    word = device_word(chip.device)
    pen = Pen().put(" Chip ", Role.DIM).name(word, min(20, width_of(word)), Role.INDEX, is_ascii=area.is_ascii)
    for fact in _facts(chip.device):
        width = width_of(shown_name(fact, area.is_ascii))
        if pen.at + 2 + width <= area.width:
            pen.put("  ").name(fact, width, is_ascii=area.is_ascii)
    return pen.done()


def _facts(device: Device) -> list[str]:
    grid = f"{device.grid[0]}x{device.grid[1]} cores" if device.grid else ""
    banks = f"{device.dram_bank_count} DRAM banks" if device.dram_bank_count else ""
    return [word for word in (device.board, device.arch, grid, banks, device.uuid or "") if word]


def _space_lines(chip: ChipMap, space: Space | None, area: DrawArea) -> list[Line]:
    """Head, bar, addresses and legend of a space."""
    if space is None:
        return []
    parts = parts_of(chip, space)
    width = max(1, area.width - 2)
    bar = (Span(" "), *scaled(parts, space.end, width, is_ascii=area.is_ascii))
    thick = next(rows for least, rows in _THICK if area.height >= least)
    notes = missing_lines(space, area.width)
    legend = legend_lines(parts, area.width, most=3)
    head = head_line(chip, space, area.width)
    return [head, *notes, *[bar] * thick, (Span(" "), *axis(space, width)), *legend]


# ---- cores and lists


def _lower_lines(chip: ChipMap, area: DrawArea, state: L1MapState, height: int) -> tuple[list[Line], int]:
    """What stands below the bars, and how many lines of it are hidden."""
    if area.width >= _WIDE and chip.cores:
        return _wide_lines(chip, area, state, height)
    if state.lower == "cores" and chip.cores:
        cores = core_lines(chip, area.width)
        return _with_pools(cores, pool_lines(chip, area.width), height), max(0, len(cores) - height)
    space = chip.dram if state.lower == "dram" else chip.l1
    return _scroll(_list(chip, space, area.width, area), state.first, height)


def _wide_lines(chip: ChipMap, area: DrawArea, state: L1MapState, height: int) -> tuple[list[Line], int]:
    """Cores to the left, lists to the right, pools below if there is room for them."""
    left = grid_width(chip, area.width - _WIDE // 2)
    spaces = (chip.dram, chip.l1) if state.lower == "dram" else (chip.l1, chip.dram)
    width = area.width - left - _GAP
    listed = [line for space in spaces for line in _list(chip, space, width, area)]
    cores = core_lines(chip, left)
    pools = pool_lines(chip, area.width)
    room = height - len(pools) if height - len(pools) >= len(cores) else height
    shown, hidden = _scroll(listed, state.first, room)
    return _with_pools(_side_by_side(cores[:height], shown, left + _GAP), pools, height), hidden


def _side_by_side(left: Sequence[Line], right: Sequence[Line], column: int) -> list[Line]:
    rows = zip_longest(left, right, fillvalue=())
    return [Pen().line(one).to(column).done() + other for one, other in rows]


def _list(chip: ChipMap, space: Space | None, width: int, area: DrawArea) -> list[Line]:
    """Every stretch of a space, under a head."""
    if space is None:
        return []
    lines = address_lines(parts_of(chip, space), width, is_ascii=area.is_ascii)
    name = "each DRAM bank" if space.name == "dram" else "L1 of that core"
    return [
        fitted(
            (
                Span(
                    f" addresses in {name}, {count_text(len(lines))} stretch{'' if len(lines) == 1 else 'es'}",
                    Role.HEAD,
                ),
            ),
            width,
        ),
        *lines,
    ]


def _scroll(lines: list[Line], first: int, height: int) -> tuple[list[Line], int]:
    hidden = max(0, len(lines) - height)
    begin = min(first, hidden)
    return lines[begin : begin + max(0, height)], hidden


def _with_pools(lines: list[Line], pools: list[Line], height: int) -> list[Line]:
    return [*lines, *pools] if len(lines) + len(pools) <= height else lines[:height]
