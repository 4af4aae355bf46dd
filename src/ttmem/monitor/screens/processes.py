"""Processes: who holds how much, sorted, filtered, as a tree; and one of them close up.

What each action does to the state (the app maps keys to these words):

    up down page_up page_down home end      moves the cursor, or the page of an opened process
    open, close                             opens the process under the cursor; leaves it, clears tags, search, filter
    tag, tag_none                           marks the process under the cursor and goes on; clears all marks
    tree                                    children below their parents
    sort:WORD sort_next sort_previous sort_invert
    filter:TEXT search:TEXT user:NAME       shows only some; goes to the next that matches; shows those of one user
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ttmem.devices import Pool
from ttmem.monitor.screens.frame import Drawing, Frame, Look, Wanted
from ttmem.monitor.screens.listing import process_page
from ttmem.monitor.screens.listing.columns import SORTS
from ttmem.monitor.screens.listing.entries import Entry, entries_of, stamp_of
from ttmem.monitor.screens.listing.filters import FilterProblem, filter_of, mentions
from ttmem.monitor.screens.listing.order import in_order, in_tree
from ttmem.monitor.screens.listing.table import Shown, table_for
from ttmem.monitor.screens.pen import Pen, shown_name
from ttmem.snapshot.usage import ProcessUsage
from ttmem.view.spans import Line, Role
from ttmem.view.units import size_text
from ttmem.view.words import plural, reason_text

__all__ = ["SORTS", "SORT_WORDS", "State", "acted", "draw", "pointed", "selected", "tagged", "users_of", "wanted"]

_OTHER_SORTS = {"memory": "total", "name": "label", "time": "age", "command": "label"}
SORT_WORDS = (*SORTS, *_OTHER_SORTS)  # all that `sort:WORD` takes
_AROUND = 3  # lines that are no rows: what is listed, titles, the command of the one under the cursor
_EVERYTHING = 1 << 30


@dataclass(frozen=True, slots=True)
class State:
    """What the user chose. Processes are known by the stamps of their entries."""

    cursor: int | None = None
    top: int = 0
    sort: str = "total"
    is_inverted: bool = False
    is_tree: bool = False
    query: str = ""
    search: str = ""
    user: str = ""
    tags: frozenset[int] = frozenset()
    opened: int | None = None
    page: process_page.State = field(default_factory=process_page.State)


def draw(frame: Frame, look: Look, state: State) -> Drawing:
    if state.opened is not None:
        return _draw_opened(frame, look, state)
    rows, problem, total = _listed(frame, state, look.is_ascii)
    cursor = _cursor_at(rows, state)
    first = _window(state.top, cursor, len(rows), page_rows(look))
    visible = rows[first : first + page_rows(look)]
    table = table_for([entry for entry, _ in visible], state.sort, look.width, is_ascii=look.is_ascii)
    lines = [
        _summary(state, look, rows, total=total, has_sort=table.has_sort),
        table.titles(is_inverted=state.is_inverted),
    ]
    hits = {}
    for at, (entry, branch) in enumerate(visible):
        hits[len(lines)] = entry.stamp
        lines.append(table.line(Shown(entry, branch, first + at == cursor, entry.stamp in state.tags)))
    if (rows or problem) and len(lines) < look.height:
        lines += [()] * (page_rows(look) - len(visible))
        lines.append(_problem_line(problem, look) if problem else _footnote(rows[cursor][0], look))
    return Drawing(tuple(lines[: look.height]), hits, hidden_count=len(rows) - len(visible))


def _draw_opened(frame: Frame, look: Look, state: State) -> Drawing:
    """The page of the process, as soon as it is the page of that process and not of the one before."""
    if frame.overview is not None and _row_of(state.opened, frame) is None:
        return Drawing(
            ((), Pen().put(" This process is no longer known. Esc goes back to the list.", Role.HIGH).done())
        )
    is_its_own = frame.detail is not None and stamp_of(frame.detail.process) == state.opened
    return process_page.draw(frame if is_its_own else frame._replace(detail=None), look, state.page)


def page_rows(look: Look) -> int:
    """Rows of the list that fit."""
    return max(1, look.height - _AROUND)


def acted(action: str, state: State, frame: Frame, look: Look) -> State:
    """What a key does; the same state if it does nothing here."""
    word, _, value = action.partition(":")
    if state.opened is not None:
        return _acted_on_page(word, state, frame, look)
    steps = {"up": -1, "down": 1, "page_up": -page_rows(look), "page_down": page_rows(look)}
    steps |= {"home": -_EVERYTHING, "end": _EVERYTHING}
    if word in steps:
        return _moved(state, frame, look, steps[word])
    match word:
        case "tag":
            return _marked(state, frame, look)
        case "tag_none":
            return replace(state, tags=frozenset()) if state.tags else state
        case "tree":
            return replace(state, is_tree=not state.is_tree)
        case "sort" if (column := _OTHER_SORTS.get(value, value)) in SORTS:
            return replace(state, sort=column, is_inverted=False) if column != state.sort else state
        case "sort_next" | "sort_previous":
            step = 1 if word == "sort_next" else -1
            return replace(state, sort=SORTS[(SORTS.index(state.sort) + step) % len(SORTS)], is_inverted=False)
        case "sort_invert":
            return replace(state, is_inverted=not state.is_inverted)
        case "filter":
            return replace(state, query=value.strip(), top=0)
        case "user":
            return replace(state, user=value.strip(), top=0)
        case "search":
            return _found(replace(state, search=value.strip()), frame, look)
        case "open":
            return _opened(state, frame)
        case "close":
            return _cleared(state)
    return state


def pointed(hit: int, state: State) -> State:
    """A click on a row."""
    return state if state.opened is not None else replace(state, cursor=hit)


def wanted(frame: Frame, state: State) -> Wanted:
    """The list, who has chips open as the driver says, and all of the process that was opened."""
    row = _row_of(state.opened, frame)
    return Wanted(detail=row.key if row else None, has_telemetry=state.opened is None)


def selected(state: State, frame: Frame) -> ProcessUsage | None:
    """The process under the cursor, or the one that was opened; None if it does not report."""
    if state.opened is not None:
        return _row_of(state.opened, frame)
    rows, _, _ = _listed(frame, state, is_ascii=True)
    return rows[_cursor_at(rows, state)][0].row if rows else None


def tagged(state: State, frame: Frame) -> tuple[ProcessUsage, ...]:
    """What a signal goes to: the marked processes, else the one under the cursor."""
    if state.tags:
        return tuple(entry.row for entry in entries_of(frame) if entry.stamp in state.tags and entry.row)
    row = selected(state, frame)
    return (row,) if row else ()


def users_of(frame: Frame) -> tuple[str, ...]:
    """Everybody who has something listed."""
    return tuple(sorted({entry.user for entry in entries_of(frame) if entry.user}))


Rows = Sequence[tuple[Entry, str]]


def _listed(frame: Frame, state: State, is_ascii: bool) -> tuple[Rows, str, int]:
    """The rows in their order, what is wrong with the filter, and how many there would be without it."""
    entries, problem = entries_of(frame), ""
    total = len(entries)
    if state.user:
        entries = [entry for entry in entries if entry.user == state.user]
    try:
        test = filter_of(state.query)
    except FilterProblem as found:
        test, problem = None, str(found)
    if test:
        entries = [entry for entry in entries if test(entry)]
    entries = in_order(entries, state.sort, is_inverted=state.is_inverted)
    return in_tree(entries, is_ascii=is_ascii) if state.is_tree else [(entry, "") for entry in entries], problem, total


def _cursor_at(rows: Rows, state: State) -> int:
    """Where the entry under the cursor stands now; the first, if it is gone."""
    if state.cursor is None:
        return 0
    return next((at for at, (entry, _) in enumerate(rows) if entry.stamp == state.cursor), 0)


def _window(top: int, cursor: int, count: int, height: int) -> int:
    """The first row to show, so that the cursor is to be seen and no room is wasted."""
    first = min(max(top, cursor - height + 1), cursor)
    return max(0, min(first, count - height))


def _moved(state: State, frame: Frame, look: Look, step: int) -> State:
    rows, _, _ = _listed(frame, state, look.is_ascii)
    if not rows:
        return state
    cursor = max(0, min(_cursor_at(rows, state) + step, len(rows) - 1))
    height = page_rows(look)
    before = _window(state.top, _cursor_at(rows, state), len(rows), height)
    return replace(state, cursor=rows[cursor][0].stamp, top=_window(before, cursor, len(rows), height))


def _marked(state: State, frame: Frame, look: Look) -> State:
    """Marks the process under the cursor, or takes the mark away, and goes on; only processes can be marked."""
    row = selected(state, frame)
    if row is None:
        return state
    rows, _, _ = _listed(frame, state, look.is_ascii)
    stamp = rows[_cursor_at(rows, state)][0].stamp
    return _moved(replace(state, cursor=stamp, tags=state.tags ^ {stamp}), frame, look, 1)


def _found(state: State, frame: Frame, look: Look) -> State:
    """The cursor on the next row that mentions what is searched for; it begins again at the end."""
    rows, _, _ = _listed(frame, state, look.is_ascii)
    if not state.search or not rows:
        return state
    test, here = mentions(state.search), _cursor_at(rows, state)
    for step in range(1, len(rows) + 1):
        if test(rows[(here + step) % len(rows)][0]):
            return _moved(state, frame, look, (here + step) % len(rows) - here)
    return state


def _opened(state: State, frame: Frame) -> State:
    rows, _, _ = _listed(frame, state, is_ascii=True)
    entry = rows[_cursor_at(rows, state)][0] if rows else None
    if entry is None or entry.row is None:
        return state
    return replace(state, cursor=entry.stamp, opened=entry.stamp, page=process_page.State())


def _cleared(state: State) -> State:
    """One thing after the other: tags, then what is searched for, then the filters."""
    if state.tags:
        return replace(state, tags=frozenset())
    if state.search:
        return replace(state, search="")
    return replace(state, query="", user="") if state.query or state.user else state


def _acted_on_page(word: str, state: State, frame: Frame, look: Look) -> State:
    if word == "close":
        return replace(state, opened=None)
    turned = process_page.acted(word, state.page, frame, look)
    return state if turned is state.page else replace(state, page=turned)


def _row_of(stamp: int | None, frame: Frame) -> ProcessUsage | None:
    return next((entry.row for entry in entries_of(frame) if entry.stamp == stamp), None) if stamp is not None else None


def _summary(state: State, look: Look, rows: Rows, *, total: int, has_sort: bool) -> Line:
    """How many are listed, which, and what those that live hold together."""
    shown, everybody = len(rows), plural(total, "process", "es")
    living = [entry for entry, _ in rows if not entry.is_dead]
    pen = Pen().put(" ").put(everybody if shown == total else f"{shown:,} of {everybody}", Role.TITLE)
    for pool in (Pool.DRAM, Pool.L1):
        pen.put(f"  {pool.name} ", Role.DIM).put(size_text(sum(entry.used(pool) or 0 for entry in living)))
    if state.tags:
        pen.put(f"  {len(state.tags):,} tagged", Role.TAGGED)
    sort = "" if has_sort else state.sort
    for word, value in (("by", sort), ("user", state.user), ("search", state.search), ("filter", state.query)):
        if value and pen.at + len(word) + 4 < look.width:
            text = shown_name(value, look.is_ascii)
            pen.put(f"  {word} ", Role.DIM)
            pen.name(text, min(len(text), look.width - pen.at), Role.NOTICE, is_ascii=look.is_ascii)
    return pen.done()


def _problem_line(problem: str, look: Look) -> Line:
    """What is wrong with the filter, where it has a line of its own."""
    return Pen().put(" ").name(problem, look.width - 1, Role.FULL, is_ascii=look.is_ascii).done()


def _footnote(entry: Entry, look: Look) -> Line:
    """The command of the process under the cursor, and why its figures are not whole."""
    pen = Pen().put(" ")
    reason = entry.row.reason if entry.row else ""
    text = f"{reason_text(reason)}: " if reason else ""
    if text and len(text) < look.width - 20:
        pen.put(text, Role.HIGH)
    return pen.name(entry.command or entry.label, look.width - pen.at, Role.DIM, is_ascii=look.is_ascii).done()
