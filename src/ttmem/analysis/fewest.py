"""The fewest buffers that have to go for a block of some size: exact on one address line, searched on several.

A block of the needed size that begins right behind a buffer, or where the addresses begin, needs exactly the buffers
that reach into it. Every other place can be moved down to one of these without meeting another buffer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Addresses", "Choice", "TakenBlock", "fewest", "fewest_on_all", "holes"]

_MOST_CHOICES = 256  # sets that are distinguished when others would do as well
_MOST_STEPS = 20_000  # combinations that are tried on several lines


class TakenBlock(NamedTuple):
    """Taken addresses; `owner` numbers the buffer, None: it cannot be freed."""

    begin: int
    end: int
    owner: int | None


class Addresses(NamedTuple):
    """The addresses of one line, and what lies there."""

    begin: int
    end: int
    blocks: Sequence[TakenBlock]


class Choice(NamedTuple):
    """Buffers to free, and how many sets of as few there are."""

    owners: frozenset[int]
    choice_count: int = 1
    is_least: bool = True


class _Place(NamedTuple):
    buffer_count: int
    total_bytes: int
    start: int


def holes(span: Addresses, without: frozenset[int] = frozenset()) -> list[tuple[int, int]]:
    """Free stretches in address order, as begin and end; `without`: buffers taken as freed."""
    found, at = [], span.begin
    for block in sorted(span.blocks, key=_begin):
        if block.owner is not None and block.owner in without:
            continue
        if block.begin > at:
            found.append((at, block.begin))
        at = max(at, block.end)
    if at < span.end:
        found.append((at, span.end))
    return found


def fewest(span: Addresses, needed_bytes: int, sizes: Mapping[int, int]) -> Choice | None:
    """The best set for one line, by count, then by `sizes` of its buffers, then by address; None: no set would do."""
    best: list[_Place] = []
    for place in _places(span, needed_bytes, sizes):
        if not best or place.buffer_count < best[0].buffer_count:
            best = [place]
        elif place.buffer_count == best[0].buffer_count:
            best.append(place)
    if not best:
        return None
    chosen = min(best, key=lambda place: (place.total_bytes, place.start))
    others = {_owners(span, place.start, needed_bytes) for place in best[:_MOST_CHOICES]}
    return Choice(_owners(span, chosen.start, needed_bytes), len(others))


def fewest_on_all(spans: Sequence[Addresses], needed_bytes: int, sizes: Mapping[int, int]) -> Choice | None:
    """The best set that makes room on every line. Lines that no buffer connects are answered one by one."""
    owners: frozenset[int] = frozenset()
    choice_count, is_least = 1, True
    for group in _connected(spans):
        found = fewest(group[0], needed_bytes, sizes) if len(group) == 1 else _together(group, needed_bytes, sizes)
        if found is None:
            return None
        owners |= found.owners
        choice_count = min(_MOST_CHOICES, choice_count * found.choice_count)
        is_least = is_least and found.is_least
    return Choice(owners, choice_count, is_least)


def _connected(spans: Sequence[Addresses]) -> list[list[Addresses]]:
    """Lines together that have buffers in common, directly or by way of others."""
    groups: list[tuple[set[int], list[Addresses]]] = []
    for span in spans:
        owners, lines = {block.owner for block in span.blocks if block.owner is not None}, [span]
        apart = []
        for group in groups:
            if group[0].isdisjoint(owners):
                apart.append(group)
            else:
                owners |= group[0]
                lines = [*group[1], *lines]
        groups = [*apart, (owners, lines)]
    return [lines for _, lines in groups]


def _together(spans: Sequence[Addresses], needed_bytes: int, sizes: Mapping[int, int]) -> Choice | None:
    options = []
    for span in spans:
        starts = {place.start for place in _places(span, needed_bytes, sizes)}
        sets = _smallest({_owners(span, start, needed_bytes) for start in starts})
        if not sets:
            return None
        options.append(sets)
    return _Search(options, sizes).run()


def _places(span: Addresses, needed_bytes: int, sizes: Mapping[int, int]) -> Iterator[_Place]:
    """Where a block could begin, and what that costs; without those where something lies that cannot be freed."""
    by_begin = sorted(span.blocks, key=_begin)
    by_end = sorted(span.blocks, key=lambda block: block.end)
    inside: dict[int, int] = {}
    fixed = total_bytes = added = removed = 0
    for start in sorted({span.begin, *(block.end for block in span.blocks)}):
        if start + needed_bytes > span.end:
            return
        while added < len(by_begin) and by_begin[added].begin < start + needed_bytes:
            owner = by_begin[added].owner
            if owner is None:
                fixed += 1
            else:
                total_bytes += 0 if owner in inside else sizes[owner]
                inside[owner] = inside.get(owner, 0) + 1
            added += 1
        while removed < len(by_end) and by_end[removed].end <= start:
            owner = by_end[removed].owner
            if owner is None:
                fixed -= 1
            else:
                inside[owner] -= 1
                if not inside[owner]:
                    del inside[owner]
                    total_bytes -= sizes[owner]
            removed += 1
        if not fixed:
            yield _Place(len(inside), total_bytes, start)


def _begin(block: TakenBlock) -> int:
    return block.begin


def _owners(span: Addresses, start: int, needed_bytes: int) -> frozenset[int]:
    end = start + needed_bytes
    touching = (block.owner for block in span.blocks if block.begin < end and block.end > start)
    return frozenset(owner for owner in touching if owner is not None)


def _smallest(sets: Iterable[frozenset[int]]) -> list[frozenset[int]]:
    """Those that contain no other."""
    smallest: list[frozenset[int]] = []
    for one in sorted(sets, key=len):
        if not any(other <= one for other in smallest):
            smallest.append(one)
    return smallest


class _Search:
    """One set for each line, so that their union is smallest: branch and bound."""

    def __init__(self, options: Sequence[Sequence[frozenset[int]]], sizes: Mapping[int, int]) -> None:
        self._options = sorted(options, key=len)
        self._sizes = sizes
        self._steps = 0
        self._best: frozenset[int] | None = None

    def run(self) -> Choice:
        self._extend(frozenset(), 0)
        assert self._best is not None  # every line has an option, and the first way down is always finished
        return Choice(self._best, is_least=self._steps <= _MOST_STEPS)

    def _extend(self, chosen: frozenset[int], at: int) -> None:
        self._steps += 1
        if self._best is not None and (self._steps > _MOST_STEPS or self._cost(chosen) >= self._cost(self._best)):
            return
        while at < len(self._options) and any(option <= chosen for option in self._options[at]):
            at += 1
        if at == len(self._options):
            self._best = chosen
            return
        for option in sorted(self._options[at], key=lambda option: self._cost(option - chosen)):
            self._extend(chosen | option, at + 1)

    def _cost(self, owners: frozenset[int]) -> tuple[int, int]:
        return len(owners), sum(self._sizes[owner] for owner in owners)
