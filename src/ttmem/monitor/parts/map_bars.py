"""The pieces of an address space as they are drawn: each with a letter, a colour and a word of its own."""

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ttmem.devices import Pool
from ttmem.monitor.parts.drawing import Pen
from ttmem.snapshot.chip_map import ChipMap, Region, Space, Stretch
from ttmem.view.table import Column, Line, Role, Span, cell, table
from ttmem.view.texts import count_text, reason_text, share_text, size_text

__all__ = [
    "FREE",
    "SORTS",
    "MapPart",
    "Sort",
    "axis",
    "head_line",
    "missing_lines",
    "parts_of",
    "pool_lines",
    "scaled",
    "unmapped_lines",
]


class Sort(NamedTuple):
    """One sort of memory: by this letter in bars, in this colour, and what it is."""

    letter: str
    role: Role
    word: str  # in a legend
    words: str  # in a list


FREE = Sort(".", Role.BAR_REST, "free", "free")
SORTS = {
    "reserved": Sort("R", Role.BAR_RESERVED, "reserved", "reserved by the runtime"),
    "ring_live": Sort("K", Role.BAR_RING, "ring live", "kernel ring: programs that may run"),
    "ring_retired": Sort("O", Role.BAR_RETIRED, "ring retired", "kernel ring: finished programs"),
    "ring": Sort("_", Role.BAR_PEAK, "ring unused", "kernel ring: not in use"),
    "cb": Sort("C", Role.BAR_CB, "CBs", "CBs of the program that ran last"),
    "planned": Sort("P", Role.BAR_PLANNED, "CBs planned", "CBs of other loaded programs"),
    "buffer": Sort("B", Role.BAR_BUFFER, "buffers", "buffers"),
    "small": Sort("S", Role.BAR_SMALL, "L1_SMALL", "buffers in L1_SMALL"),
    "trace": Sort("T", Role.BAR_TRACE, "TRACE", "traces"),
    "free": FREE,
}


class MapPart(NamedTuple):
    """A stretch of one sort. Of the ring it is known how much is in use, not where: that is drawn from its start."""

    sort: Sort
    begin: int
    end: int
    alive_count: int = 0
    hole_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        return self.end - self.begin

    @property
    def used_bytes(self) -> int:
        return 0 if self.sort is FREE else self.size_bytes - self.hole_bytes


def parts_of(chip: ChipMap, space: Space) -> list[MapPart]:
    """All of a space, in order of address, without gaps."""
    return list(_divided(chip, space.stretches))


def _divided(chip: ChipMap, stretches: Iterable[Stretch]) -> Iterator[MapPart]:
    for one in stretches:
        if one.kind != "ring":
            yield MapPart(SORTS[one.kind], one.begin, one.end, one.count, one.hole_bytes)
            continue
        at = one.begin
        for name, size in (("ring_live", chip.ring_live_bytes), ("ring_retired", chip.ring_retired_bytes)):
            end = min(one.end, at + (size or 0))
            if end > at:
                yield MapPart(SORTS[name], at, end)
            at = end
        if one.end > at:
            yield MapPart(SORTS["ring"], at, one.end)


_EIGHTHS = "▏▎▍▌▋▊▉█"
_LABELLED = 4  # columns from which on every stretch gets its letter; the first of its sort gets it always
_MOSTLY = 0.5


class _BarColumn(NamedTuple):
    """What lies in the bytes of one column: which sort most of all, and how much is taken by any."""

    sort: Sort
    taken: float

    def mark(self, is_ascii: bool) -> str:
        if self.sort is FREE:
            return "." if is_ascii else "░"
        if is_ascii:
            return self.sort.letter if self.taken >= _MOSTLY else self.sort.letter.lower()
        return _EIGHTHS[min(7, int(self.taken * 8))]


def scaled(parts: Sequence[MapPart], end: int, width: int, *, is_ascii: bool) -> Line:
    """Exactly `width` columns; whatever is taken shows."""
    columns = list(_columns(parts, end, width))
    spans: list[Span] = []
    named: set[str] = set()
    for sort, run in groupby(columns, key=lambda column: column.sort):
        text = "".join(column.mark(is_ascii) for column in run)
        is_new = sort.letter not in named
        if sort is not FREE and not is_ascii and (is_new or len(text) >= _LABELLED):
            spans.append(Span(sort.letter, Role.TITLE))
            text = text[1:]
        named.add(sort.letter)
        if text:
            spans.append(Span(text, sort.role))
    return tuple(spans)


def _columns(parts: Sequence[MapPart], end: int, width: int) -> Iterator[_BarColumn]:
    at = 0
    for column in range(width):
        low, high = end * column // width, end * (column + 1) // width
        while at < len(parts) and parts[at].end <= low:
            at += 1
        yield _column(parts, at, low, max(high, low + 1))


def _column(parts: Sequence[MapPart], at: int, low: int, high: int) -> _BarColumn:
    found: dict[Sort, float] = defaultdict(float)
    while at < len(parts) and parts[at].begin < high:
        part = parts[at]
        inside = min(part.end, high) - max(part.begin, low)
        if inside > 0 and part.used_bytes:
            found[part.sort] += inside * (part.used_bytes / part.size_bytes)
        at += 1
    if not found:
        return _BarColumn(FREE, 0.0)
    return _BarColumn(max(found, key=lambda sort: found[sort]), min(1.0, sum(found.values()) / (high - low)))


def axis(space: Space, width: int) -> Line:
    """Addresses under the columns they stand for: 0, where pools begin, and the end; without room, not all of them."""
    last = f"{space.end:#x}"
    room = max(0, width - len(last) - 1)
    text = ""
    for address in sorted({0, *(region.begin for region in space.regions)}):
        label, column = f"{address:#x}", address * width // max(1, space.end)
        if (column > len(text) or not text) and column + len(label) <= room:
            text = text.ljust(column) + label
    return (Span((text.ljust(width - len(last)) + last)[:width] if width >= len(last) else "", Role.DIM),)


_TITLES = ("POOL", "BEGIN", "END", "USED", "LARGEST FREE", "OF ALL BANKS", "HOLES", "ALIVE")


def missing_lines(space: Space, width: int) -> list[Line]:
    """What is missing, in as many lines as that takes."""
    return [] if space.is_complete else _wrapped(f"incomplete: {reason_text(space.reason)}", width)


def unmapped_lines(chip: ChipMap, width: int) -> list[Line]:
    """Why there is no map of a memory; nothing if there are maps of both."""
    names = [name for name, space in (("L1", chip.l1), ("DRAM", chip.dram)) if space is None]
    if not names:
        return []
    why = "the opener of the chip did not report its architecture, its banks, or how much they hold"
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
        pen.put(share_text(share), Role.TITLE)
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
        pen.put(share_text(share), Role.TITLE)
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
