"""What changed between two recordings: which lines hold more or less, and which are new or gone.

A line that moved is the same line. A recording has the file, number and function of a line, not its text: one whose
number changed is found again by its file and function, its operations and tensors; where those are not known, by what
it holds.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from ttmem.analysis.limits import Amount
from ttmem.devices import Pool
from ttmem.snapshot.values import SCHEMA, ChipName, Count, Number, Struct, TimeNs

__all__ = [
    "ComparedHolding",
    "ComparedRecording",
    "LineChange",
    "PoolChange",
    "RecordingDiff",
    "above_noise",
    "is_over",
    "line_changes",
    "unlike_boards",
]

_LINE = re.compile(r":\d+(?= |\n|$)")
_NUMBER = re.compile(r":(\d+)(?: |\n|$)")
_DIRECTORY = re.compile(r"(?m)^[^\n ]*/(?=[^\n/]*\.py)")

State = Literal["same", "moved", "new", "gone"]


class LineChange(Struct, frozen=True, kw_only=True):
    """What one line, or operation, or ... held before and after."""

    names: tuple[str, ...]  # what it is summed by, as after; before if it is gone
    was: tuple[str, ...]  # the same before, if it moved; else empty
    state: State
    before_bytes: Count
    after_bytes: Count
    change_bytes: Number
    before_count: Count
    after_count: Count


class PoolChange(Struct, frozen=True, kw_only=True):
    """One pool of some chips at its highest: of all, or within a phase."""

    phase: str  # empty: of all
    chips: tuple[ChipName, ...]  # as after; before if they are gone
    state: State  # of the chips
    pool: Pool
    before_bytes: Count
    after_bytes: Count
    change_bytes: Number
    is_alive_known: bool  # False: what was alive at one of the two is not known, and `lines` may lack some
    lines: tuple[LineChange, ...]  # the largest change first


class ComparedRecording(Struct, frozen=True, kw_only=True):
    """One of the two."""

    path: str
    label: str
    command: tuple[str, ...]
    host: str
    began_ns: TimeNs
    duration_ns: TimeNs
    troubles: tuple[str, ...]  # what of it cannot be read
    lost_record_count: Count


class RecordingDiff(Struct, frozen=True, kw_only=True):
    """What changed from one recording to another."""

    schema: Literal[2] = SCHEMA
    before: ComparedRecording
    after: ComparedRecording
    by: tuple[str, ...]
    pools: tuple[PoolChange, ...]  # the largest change first
    phases: tuple[PoolChange, ...]
    new_phases: tuple[str, ...]
    gone_phases: tuple[str, ...]
    over: tuple[str, ...] = ()  # pools that grew by more than was allowed


class ComparedHolding(NamedTuple):
    """Part of what was alive: of one line, or operation, ..., with one operation and tensor."""

    names: tuple[str, ...]
    operation: str
    tensor: str
    size_bytes: int
    allocation_count: int


class _Sum(NamedTuple):
    names: tuple[str, ...]
    kinds: frozenset[tuple[str, str]]
    size_bytes: int
    allocation_count: int


_Pair = tuple[_Sum | None, _Sum | None]
_Key = Callable[[_Sum], object]


def line_changes(before: Iterable[ComparedHolding], after: Iterable[ComparedHolding]) -> list[LineChange]:
    """The largest change first, all of them."""
    olds, news = _sums(before), _sums(after)
    pairs: list[_Pair] = []
    for key in _KEYS:
        found = _paired(olds, news, key)
        pairs += found
        done = {id(one) for pair in found for one in pair}
        olds, news = [one for one in olds if id(one) not in done], [one for one in news if id(one) not in done]
    pairs += [*((one, None) for one in olds), *((None, one) for one in news)]
    changes = [_change(old, new) for old, new in pairs]
    return sorted(changes, key=lambda one: (-abs(one.change_bytes), one.names))


def _sums(holdings: Iterable[ComparedHolding]) -> list[_Sum]:
    by_names: dict[tuple[str, ...], list[ComparedHolding]] = defaultdict(list)
    for one in holdings:
        by_names[one.names].append(one)
    return [
        _Sum(
            names,
            frozenset((one.operation, one.tensor) for one in parts),
            sum(one.size_bytes for one in parts),
            sum(one.allocation_count for one in parts),
        )
        for names, parts in by_names.items()
    ]


def _by_function_and_kinds(one: _Sum, function: _Key) -> object:
    return function(one), one.kinds


def _by_function_and_operations(one: _Sum, function: _Key) -> object:
    operations = frozenset(operation for operation, _ in one.kinds if operation)
    return function(one), operations or one.names


def _function(one: _Sum) -> tuple[str, ...]:
    """Its names without the numbers of lines."""
    return tuple(_LINE.sub("", name) for name in one.names)


def _function_anywhere(one: _Sum) -> tuple[str, ...]:
    """The same without directories: another checkout has others."""
    return _anywhere(_function(one))


def _only_of_function(one: _Sum) -> object:
    """What is left of a function; at the top of a file lines have nothing in common."""
    is_top = any(name.partition("\n")[0].endswith("<module>") for name in one.names)
    return one.names if is_top else _function_anywhere(one)


_KEYS: tuple[_Key, ...] = (
    lambda one: _by_function_and_kinds(one, _function),
    lambda one: _by_function_and_kinds(one, _function_anywhere),
    lambda one: _by_function_and_operations(one, _function),
    lambda one: _by_function_and_operations(one, _function_anywhere),
    lambda one: one.names,
    _only_of_function,
)


def _paired(olds: Sequence[_Sum], news: Sequence[_Sum], key: _Key) -> list[_Pair]:
    found: list[_Pair] = []
    news_of: dict[object, list[_Sum]] = defaultdict(list)
    olds_of: dict[object, list[_Sum]] = defaultdict(list)
    for one in news:
        news_of[key(one)].append(one)
    for one in olds:
        olds_of[key(one)].append(one)
    for name, mine in olds_of.items():
        theirs = news_of.get(name, [])
        if theirs:
            is_known = key is _only_of_function or any(any(kind) for kind in mine[0].kinds)
            found += _nearest_pairs(sorted(mine, key=_place), sorted(theirs, key=_place), has_rest=is_known)
    return found


def _nearest_pairs(olds: list[_Sum], news: list[_Sum], *, has_rest: bool) -> list[_Pair]:
    """Lines that may be the same: by their names, unless less would have changed if they had moved. `has_rest`: also
    those that neither their names nor what they hold brings together, in their order."""
    total = sum(one.size_bytes for one in (*olds, *news))
    ways = [
        _in_turn(olds, news, (lambda one: one.names, _held), has_rest=has_rest),
        _in_turn(olds, news, (_held, lambda one: one.names), has_rest=has_rest),
    ]
    return min(ways, key=lambda pairs: total - sum(2 * min(_bytes(old), _bytes(new)) for old, new in pairs))


def _in_turn(olds: list[_Sum], news: list[_Sum], keys: Sequence[_Key], *, has_rest: bool) -> list[_Pair]:
    pairs: list[_Pair] = []
    olds, news = [*olds], [*news]
    for key in keys:
        for old in [*olds]:
            new = next((one for one in news if key(one) == key(old)), None)
            if new is not None:
                pairs.append((old, new))
                olds.remove(old)
                news.remove(new)
    if has_rest and len(olds) == len(news):
        pairs += zip(olds, news, strict=True)
    return pairs


def _held(one: _Sum) -> object:
    return one.size_bytes, one.allocation_count


def _anywhere(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(_DIRECTORY.sub("", name) for name in names)


def _place(one: _Sum) -> tuple[list[int], tuple[str, ...]]:
    return [int(number) for name in one.names for number in _NUMBER.findall(name)], one.names


def _bytes(one: _Sum | None) -> int:
    return one.size_bytes if one is not None else 0


def _change(old: _Sum | None, new: _Sum | None) -> LineChange:
    named = new or old
    assert named is not None
    has_moved = old is not None and new is not None and _anywhere(old.names) != _anywhere(new.names)
    state: State = "new" if old is None else "gone" if new is None else "moved" if has_moved else "same"
    return LineChange(
        names=named.names,
        was=old.names if has_moved and old is not None else (),
        state=state,
        before_bytes=_bytes(old),
        after_bytes=_bytes(new),
        change_bytes=_bytes(new) - _bytes(old),
        before_count=old.allocation_count if old is not None else 0,
        after_count=new.allocation_count if new is not None else 0,
    )


def above_noise(change: PoolChange, noise: Amount) -> list[LineChange]:
    """Lines that are worth showing: a share is one of the pool's larger peak."""
    least = noise.of(max(change.before_bytes, change.after_bytes)) or 0
    return [one for one in change.lines if one.change_bytes and abs(one.change_bytes) >= least]


def is_over(change: PoolChange, most: Amount) -> bool:
    """Whether it grew by more than is allowed: a size, or a share of what it was before."""
    return change.change_bytes > (most.of(change.before_bytes) or 0)


def unlike_boards(before: Iterable[tuple[str, str]], after: Iterable[tuple[str, str]]) -> tuple[str, str] | None:
    """(arch, board) of the chips of each: what they are, in words, if no chip of one could be one of the other."""
    known_before, known_after = ({one for one in kinds if any(one)} for kinds in (before, after))
    if not known_before or not known_after or known_before & known_after:
        return None
    return _kinds_text(known_before), _kinds_text(known_after)


def _kinds_text(kinds: Iterable[tuple[str, str]]) -> str:
    return " and ".join(" ".join(filter(None, kind)) for kind, _ in groupby(sorted(kinds)))
