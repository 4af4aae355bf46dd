"""What lies where, in words: a legend of sorts with their sizes, and a list of stretches with their addresses."""

from collections.abc import Iterable, Sequence

from ttmem.monitor.screens.pen import Pen
from ttmem.monitor.screens.places.parts import FREE, Part, Sort
from ttmem.view.spans import Line, Role
from ttmem.view.units import count_text, size_text, tight_size_text

__all__ = ["address_lines", "legend_lines"]

_BOTH_ADDRESSES = 60  # columns from which on a line tells where a stretch ends, too


def legend_lines(parts: Iterable[Part], width: int, most: int) -> list[Line]:
    """Every sort that is there: its letter, its word, and how much of one bank or core it has."""
    sums: dict[Sort, int] = {}
    free_bytes = 0
    for part in parts:
        if part.sort is not FREE:
            sums[part.sort] = sums.get(part.sort, 0) + part.used_bytes
        free_bytes += part.size_bytes - part.used_bytes
    lines = [Pen().put(" ")]
    for sort, size in [*sums.items(), *([(FREE, free_bytes)] if free_bytes else [])]:
        words = f" {sort.word} {tight_size_text(size)}  "
        if lines[-1].at + 1 + len(words.rstrip()) > width:
            lines.append(Pen().put(" "))
        lines[-1].put(sort.letter, Role.TITLE).put(words)
    return [pen.done() for pen in lines][:most]


def address_lines(parts: Sequence[Part], width: int, *, is_ascii: bool) -> list[Line]:
    """A line for every stretch: where it begins, how much it is, what it is."""
    digits = max((len(f"{part.end:#x}") for part in parts), default=3)
    return [_line(part, digits, width, is_ascii) for part in parts]


def _line(part: Part, digits: int, width: int, is_ascii: bool) -> Line:
    role = Role.DIM if part.sort is FREE else Role.PLAIN
    pen = Pen().put(" ").right(f"{part.begin:#x}", digits, Role.DIM)
    if width >= _BOTH_ADDRESSES:
        pen.put(" ").right(f"{part.end:#x}", digits, Role.DIM)
    pen.put(" ").right(size_text(part.size_bytes), 8, role).put("  ").put(part.sort.letter, Role.TITLE).put(" ")
    words = part.sort.words
    if part.alive_count:
        words = (
            f"{count_text(part.alive_count)} {words if part.alive_count > 1 else words.replace('buffers', 'buffer', 1)}"
        )
    if part.hole_bytes:
        words += f", {size_text(part.hole_bytes)} of it free in small holes"
    return pen.name(words, max(0, width - pen.at), role, is_ascii=is_ascii).done()
