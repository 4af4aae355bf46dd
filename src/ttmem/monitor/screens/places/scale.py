"""An address space as a bar to scale: every column stands for as many bytes.

RK█_C█████P░░░░░░░░░░░░B███████████▌░B███S     a letter where a sort begins, its colour as far as it reaches
RKK_CCCCCCP............BBBBBBBBBBBBb.BBBBS     ASCII: letters all the way; small ones where less than half is taken
0x0    0x19d60                     0x16e000    where pools begin, and the end
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ttmem.monitor.screens.places.parts import FREE, Part, Sort
from ttmem.snapshot.chip_map import Space
from ttmem.view.spans import Line, Role, Span

__all__ = ["axis", "scaled"]

_EIGHTHS = "▏▎▍▌▋▊▉█"
_LABELLED = 4  # columns from which on every stretch gets its letter; the first of its sort gets it always
_MOSTLY = 0.5


class _Column(NamedTuple):
    """What lies in the bytes of one column: which sort most of all, and how much is taken by any."""

    sort: Sort
    taken: float

    def mark(self, is_ascii: bool) -> str:
        if self.sort is FREE:
            return "." if is_ascii else "░"
        if is_ascii:
            return self.sort.letter if self.taken >= _MOSTLY else self.sort.letter.lower()
        return _EIGHTHS[min(7, int(self.taken * 8))]


def scaled(parts: Sequence[Part], end: int, width: int, *, is_ascii: bool) -> Line:
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


def _columns(parts: Sequence[Part], end: int, width: int) -> Iterator[_Column]:
    at = 0
    for column in range(width):
        low, high = end * column // width, end * (column + 1) // width
        while at < len(parts) and parts[at].end <= low:
            at += 1
        yield _column(parts, at, low, max(high, low + 1))


def _column(parts: Sequence[Part], at: int, low: int, high: int) -> _Column:
    found: dict[Sort, float] = defaultdict(float)
    while at < len(parts) and parts[at].begin < high:
        part = parts[at]
        inside = min(part.end, high) - max(part.begin, low)
        if inside > 0 and part.used_bytes:
            found[part.sort] += inside * (part.used_bytes / part.size_bytes)
        at += 1
    if not found:
        return _Column(FREE, 0.0)
    return _Column(max(found, key=lambda sort: found[sort]), min(1.0, sum(found.values()) / (high - low)))


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
