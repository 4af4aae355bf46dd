"""In which order entries stand: by a column, and in a tree below their parents."""

from collections.abc import Sequence

from ttmem.monitor.screens.listing.columns import COLUMNS
from ttmem.monitor.screens.listing.entries import Entry

__all__ = ["in_order", "in_tree"]

_BY_WORD = {column.word: column for column in COLUMNS}


def in_order(entries: Sequence[Entry], word: str, *, is_inverted: bool) -> list[Entry]:
    """By a column; of equal ones the smaller pid first, so that a row keeps its place. The dead stand last."""
    column = _BY_WORD[word]
    ordered = sorted(entries, key=lambda entry: (entry.pid or 0, entry.stamp))
    ordered.sort(key=column.key, reverse=column.is_falling != is_inverted)
    ordered.sort(key=lambda entry: entry.is_dead)
    return ordered


def in_tree(entries: Sequence[Entry], *, is_ascii: bool) -> list[tuple[Entry, str]]:
    """Children below their parents, in the order given, each with the branch it hangs on."""
    by_pid = {entry.pid: entry for entry in entries if entry.pid is not None and not entry.is_dead}
    children: dict[int, list[Entry]] = {}
    roots = []
    for entry in entries:
        parent = by_pid.get(entry.parent_pid) if entry.parent_pid is not None and not entry.is_dead else None
        if parent is None or parent is entry or _is_below(parent, entry, by_pid):
            roots.append(entry)
        else:
            children.setdefault(parent.stamp, []).append(entry)
    listed: list[tuple[Entry, str]] = []
    for root in roots:
        _hang(root, "", "", children, listed, is_ascii)
    return listed


def _is_below(entry: Entry, above: Entry, by_pid: dict[int, Entry]) -> bool:
    """Whether one descends from the other: pids that were used again may tell of a circle."""
    seen: set[int] = set()
    here: Entry | None = entry
    while here is not None and here.stamp not in seen:
        if here is above:
            return True
        seen.add(here.stamp)
        here = by_pid.get(here.parent_pid) if here.parent_pid is not None else None
    return False


def _hang(
    entry: Entry,
    branch: str,
    below: str,
    children: dict[int, list[Entry]],
    listed: list[tuple[Entry, str]],
    is_ascii: bool,
) -> None:
    """An entry on its branch, then its children, deepest first. Not recursive: a chain of shells may be long."""
    stack = [(entry, branch, below)]
    tee, corner, line = ("|-", "`-", "| ") if is_ascii else ("├ ", "└ ", "│ ")
    while stack:
        here, branch, below = stack.pop()
        listed.append((here, branch))
        hanging = children.get(here.stamp, [])
        for child in reversed(hanging):
            is_last = child is hanging[-1]
            stack.append((child, below + (corner if is_last else tee), below + ("  " if is_last else line)))
