"""What is said of an address space in a line, what is missing from it, and a table of its pools."""

import textwrap

from ttmem.devices import Pool
from ttmem.monitor.screens.pen import Pen
from ttmem.snapshot.chip_map import ChipMap, Region, Space
from ttmem.view.colours import level_role
from ttmem.view.spans import Line, Role, Span
from ttmem.view.table import Column, cell, table
from ttmem.view.units import count_text, share_text, size_text
from ttmem.view.words import reason_text

__all__ = ["head_line", "missing_lines", "pool_lines", "unmapped_lines"]

_TITLES = ("POOL", "BEGIN", "END", "USED", "LARGEST FREE", "OF ALL BANKS", "HOLES", "ALIVE")


def missing_lines(space: Space, width: int) -> list[Line]:
    """What is missing, in as many lines as that takes."""
    return [] if space.is_complete else _wrapped(f"incomplete: {reason_text(space.reason)}", width)


def unmapped_lines(chip: ChipMap, width: int) -> list[Line]:
    """Why there is no map of a memory; nothing if there are maps of both."""
    names = [name for name, space in (("L1", chip.l1), ("DRAM", chip.dram)) if space is None]
    if not names:
        return []
    why = "whoever opened the chip did not say its architecture, its banks, or how much they hold"
    if not chip.device.arch and not chip.device.is_known:
        why = "the chip is known by its number alone, and nothing said where it lies"
    return _wrapped(f"no map of {' and '.join(names)}: {why}", width)


def _wrapped(text: str, width: int) -> list[Line]:
    return [(Span(f" {part}", Role.NOTICE),) for part in textwrap.wrap(text, max(1, width - 1))]


def head_line(chip: ChipMap, space: Space, width: int) -> Line:
    """All that can be said of a space in one line; less of it where that would be too wide."""
    rest = _core_rest(chip, space) if space.name == "l1" else _bank_rest(space)
    for length in range(len(rest), -1, -1):
        line = (*(_core_head(chip) if space.name == "l1" else _bank_head(space)), *rest[:length])
        if sum(span.width for span in line) <= width:
            return line
    return line


def _core_head(chip: ChipMap) -> Line:
    """How full the fullest core is."""
    worst = chip.worst_fill or (chip.cores[0] if chip.cores else None)
    where = f" of core {worst.x},{worst.y}, the fullest" if chip.worst and worst else " of every core alike"
    pen = Pen().put(" L1", Role.TITLE).put(where)
    if worst and chip.core_bytes:
        share = worst.used_bytes / chip.core_bytes
        mark = "~" if chip.is_estimated else ""
        pen.put(f": {mark}{size_text(worst.used_bytes)} of {size_text(chip.core_bytes)} ")
        pen.put(share_text(share), level_role(share))
    return pen.done()


def _core_rest(chip: ChipMap, space: Space) -> Line:
    """What is in use of that now, how far circular buffers are from buffers, and what buffers could get."""
    region = _region(space, Pool.L1)
    worst = chip.worst_fill
    now = (Span(f" planned, now {size_text(chip.now_bytes(worst))}"),) if worst else ()
    if region is None:
        return now
    return (
        *now,
        Span(f", {size_text(_gap(space, region))} from CBs to buffers"),
        Span(f", largest block for buffers {size_text(region.largest_free_bytes)}"),
    )


def _gap(space: Space, region: Region) -> int | None:
    """What is free between the highest circular buffer and the lowest buffer: what either may still grow by."""
    if region.largest_free_bytes is None:
        return None
    laid = [one.end for one in space.stretches if one.kind in ("cb", "planned")]
    held = [one.begin for one in space.stretches if one.kind == "buffer"]
    return max(0, min(held, default=region.end) - max(laid, default=region.begin))


def _bank_head(space: Space) -> Line:
    region = _region(space, Pool.DRAM)
    pen = Pen().put(" DRAM", Role.TITLE).put(f" of each of {space.bank_count} banks")
    if region is not None:
        share = region.used_bytes / max(1, region.end - region.begin)
        pen.put(f": {size_text(region.used_bytes)} of {size_text(region.end - region.begin)} ")
        pen.put(share_text(share), level_role(share))
    return pen.done()


def _bank_rest(space: Space) -> Line:
    region = _region(space, Pool.DRAM)
    if region is None:
        return ()
    holes = "1 hole" if region.hole_count == 1 else f"{count_text(region.hole_count)} holes"
    return (
        Span(f", largest free {size_text(region.largest_free_bytes)}"),
        Span(f" ({size_text(_everywhere(region, space))} of all banks)"),
        Span(f", {holes}"),
    )


def _everywhere(region: Region, space: Space) -> int | None:
    return None if region.largest_free_bytes is None else region.largest_free_bytes * space.bank_count


def _region(space: Space, pool: Pool) -> Region | None:
    return next((region for region in space.regions if region.pool is pool), None)


def pool_lines(chip: ChipMap, width: int) -> list[Line]:
    """Where every pool begins and ends, and what is free there."""
    rows = [
        (
            region.pool.word,
            f"{region.begin:#x}",
            f"{region.end:#x}",
            size_text(region.used_bytes),
            size_text(region.largest_free_bytes),
            size_text(_everywhere(region, space)),
            count_text(region.hole_count),
            count_text(region.count),
        )
        for space in (chip.l1, chip.dram)
        if space is not None
        for region in space.regions
    ]
    if not rows:
        return []
    columns = [Column(title, is_right=at > 0) for at, title in enumerate(_TITLES)]
    cells = [[cell(text) for text in row] for row in rows]
    for count in range(len(columns), 0, -1):  # without the last ones, rather than cut
        lines = table(columns[:count], [row[:count] for row in cells], width=None, gap=2)
        if max(sum(span.width for span in line) for line in lines) <= width:
            break
    return [(), *lines]
