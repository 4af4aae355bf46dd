"""What lies where, in words: a legend of sorts with their sizes, and a list of stretches with their addresses."""

from collections.abc import Iterable, Sequence

from ttmem.monitor.screens.pen import Pen
from ttmem.monitor.screens.places.parts import FREE, Part, Sort
from ttmem.view.spans import Line, Role
from ttmem.view.units import count_text, size_text, tight_size_text

__all__ = ["address_lines", "legend_lines"]

_BOTH_ADDRESSES = 60  # columns from which on a line tells where a stretch ends, too
_SIZE_WIDTH = 8


def legend_lines(parts: Iterable[Part], width: int, most: int) -> list[Line]:
    """Every sort that is there: its letter, its word, and how much of one bank or core it has."""
    sums: dict[Sort, int] = {}
    free_bytes = 0
    for part in parts:
        if part.sort is not FREE:
            sums[part.sort] = sums.get(part.sort, 0) + part.used_bytes
        free_bytes += part.size_bytes - part.used_bytes
    lines = [Pen()]
    for sort, size in [*sums.items(), *([(FREE, free_bytes)] if free_bytes else [])]:
        words = f" {sort.word} {tight_size_text(size)}"
        if lines[-1].at and lines[-1].at + 3 + len(words) > width:
            lines.append(Pen())
        lines[-1].put("  " if lines[-1].at else " ").put(sort.letter, Role.TITLE).put(words)
    return [pen.done() for pen in lines][:most]


def address_lines(parts: Sequence[Part], width: int, *, is_ascii: bool) -> list[Line]:
    """A line for every stretch: where it begins, how much it is, what it is; in few words where room is short."""
    digits = max((len(f"{part.end:#x}") for part in parts), default=3)
    has_ends = width >= _BOTH_ADDRESSES
    lines = [_figures(part, digits, has_ends) for part in parts]
    room = width - max((pen.at for pen in lines), default=0)
    said = [[_all_words(part) for part in parts], [_few_words(part) for part in parts]]
    chosen = next((words for words in said if all(len(text) <= room for text in words)), said[-1])
    for pen, part, text in zip(lines, parts, chosen, strict=True):
        pen.name(text, min(len(text), room), _role(part), is_ascii=is_ascii)
    return [pen.done() for pen in lines]


def _figures(part: Part, digits: int, has_ends: bool) -> Pen:
    pen = Pen().put(" ").right(f"{part.begin:#x}", digits, Role.DIM)
    if has_ends:
        pen.put(" ").right(f"{part.end:#x}", digits, Role.DIM)
    pen.put(" ").right(size_text(part.size_bytes), _SIZE_WIDTH, _role(part)).put("  ")
    return pen.put(part.sort.letter, Role.TITLE).put(" ")


def _role(part: Part) -> Role:
    return Role.DIM if part.sort is FREE else Role.PLAIN


def _all_words(part: Part) -> str:
    words = _counted(part, part.sort.words)
    return f"{words}, {size_text(part.hole_bytes)} of it free in small holes" if part.hole_bytes else words


def _few_words(part: Part) -> str:
    return _counted(part, part.sort.word)


def _counted(part: Part, words: str) -> str:
    if not part.alive_count:
        return words
    if part.alive_count == 1:
        words = words.replace("buffers", "buffer", 1).replace("traces", "trace", 1)
    return f"{count_text(part.alive_count)} {words}"
