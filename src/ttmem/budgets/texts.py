"""What `pytest --ttmem` says: why a test failed, in at most 25 lines, and what tests held, at the end."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ttmem.budgets.baseline import Figures
from ttmem.budgets.limits import CORE, MemoryLimit
from ttmem.budgets.measuring import HoldingLine
from ttmem.view.texts import count_text, plural, size_text

__all__ = ["Excess", "failure_text", "increase_line", "summary_lines"]

_MOST_LINES = 25
_MOST_TESTS = 10
_WIDTH = 110


class Excess(NamedTuple):
    """What a test held too much of: over a limit, or left behind."""

    what: str
    chip: str
    pool: str
    size_bytes: int
    limit: MemoryLimit | None
    holders: Sequence[HoldingLine]


def failure_text(excesses: Sequence[Excess], increases: Sequence[str]) -> str:
    """Every excess with its largest holders, as many as there is room for."""
    heads = [_head(one) for one in excesses]
    room = _MOST_LINES - len(heads) - len(increases)
    lines: list[str] = []
    for at, (head, one) in enumerate(zip(heads, excesses, strict=True)):
        share = max(0, room // (len(heads) - at))
        shown = _holders(one, share)
        room -= len(shown)
        lines += [head, *shown]
    return "\n".join([*lines, *increases][:_MOST_LINES])


def _head(one: Excess) -> str:
    place = f"chip {one.chip} {'L1 of a core' if one.pool == CORE else one.pool}"
    if one.limit is None:
        return f"device memory {one.what}: {place} {size_text(one.size_bytes)}"
    over = size_text(one.size_bytes - one.limit.size_bytes)
    limit = f"limit {size_text(one.limit.size_bytes)} ({one.limit.origin})"
    return f"device memory over its limit: {place} {one.what} {size_text(one.size_bytes)}, {limit}, {over} too much"


def _holders(one: Excess, most: int) -> list[str]:
    if len(one.holders) <= most:
        return [_line(holder) for holder in one.holders]
    shown = max(0, most - 1)
    rest = one.holders[shown:]
    more = f"  and {plural(len(rest), 'more line', 's')} with {size_text(sum(holder.size_bytes for holder in rest))}"
    return [*(_line(holder) for holder in one.holders[:shown]), more][:most]


def _line(holder: HoldingLine) -> str:
    text = holder.text if len(holder.text) <= _WIDTH else holder.text[: _WIDTH - 3] + "..."
    return f"  {size_text(holder.size_bytes):>8}  {count_text(holder.buffer_count):>5}  {text}"


def increase_line(pool: str, before_bytes: int, size_bytes: int) -> str:
    """One pool that grew."""
    share = f" (+{100 * (size_bytes - before_bytes) / before_bytes:.3g}%)" if before_bytes else ""
    before, now, more = map(size_text, (before_bytes, size_bytes, size_bytes - before_bytes))
    return f"device memory grew: {pool} {before} in the baseline, now {now}, {more} more{share}"


def summary_lines(figures: Mapping[str, Figures], baseline: Mapping[str, Figures] | None) -> list[str]:
    """The tests that held most, and what changed since the baseline."""
    largest = sorted((name for name in figures if figures[name]), key=lambda name: (-sum(figures[name].values()), name))
    lines = [f"{_figures_text(figures[name])}  {name}" for name in largest[:_MOST_TESTS]]
    if len(largest) > _MOST_TESTS:
        lines.append(f"and {plural(len(largest) - _MOST_TESTS, 'more test', 's')}")
    changed = [
        name for name in largest if baseline is not None and name in baseline and figures[name] != baseline[name]
    ]
    for name in changed[:_MOST_TESTS]:
        assert baseline is not None
        lines.append(f"changed: {_figures_text(baseline[name])} -> {_figures_text(figures[name])}  {name}")
    if len(changed) > _MOST_TESTS:
        lines.append(f"and {plural(len(changed) - _MOST_TESTS, 'more change', 's')}")
    return lines


def _figures_text(figures: Figures) -> str:
    return ", ".join(f"{pool} {size_text(size)}" for pool, size in figures.items()) or "nothing"
