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
from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame, Pen, Wanted, shown_name
from ttmem.monitor.parts.filters import FilterProblem, filter_of, mentions
from ttmem.monitor.parts.process_entries import ProcessEntry, entries_of, stamp_of
from ttmem.monitor.parts.process_list import SORTS, ListedEntry, in_order, table_for
from ttmem.monitor.screens import process_page as process_page
from ttmem.snapshot.usage import ProcessUsage
from ttmem.view.table import Line, Role
from ttmem.view.texts import plural, reason_text, size_text

__all__ = [
    "INITIAL",
    "SORTS",
    "SORT_WORDS",
    "ProcessesState",
    "acted",
    "draw",
    "pointed",
    "selected",
    "tagged",
    "users_of",
    "wanted",
]

_OTHER_SORTS = {"memory": "dram", "name": "label", "time": "age", "command": "label"}
SORT_WORDS = (*SORTS, *_OTHER_SORTS)  # all that `sort:WORD` takes
_AROUND = 3  # lines that are no rows: what is listed, titles, the command of the one under the cursor
_EVERYTHING = 1 << 30


@dataclass(frozen=True, slots=True)
class ProcessesState:
    """What the user chose. Processes are known by the stamps of their entries."""

    cursor: int | None = None
    top: int = 0
    sort: str = "dram"
    is_inverted: bool = False
    is_tree: bool = False
    query: str = ""
    search: str = ""
    user: str = ""
    tags: frozenset[int] = frozenset()
    opened: int | None = None
    page: process_page.ProcessPageState = field(default_factory=process_page.ProcessPageState)


INITIAL = ProcessesState()


def draw(frame: MonitorFrame, area: DrawArea, state: ProcessesState) -> Drawing:
    if state.opened is not None:
        return _draw_opened(frame, area, state)
    rows, problem, total = _listed(frame, state, area.is_ascii)
    cursor = _cursor_at(rows, state)
    first = _window(state.top, cursor, len(rows), page_rows(area))
    visible = rows[first : first + page_rows(area)]
    table = table_for(
        [entry for entry, _ in visible],
        state.sort,
        area.width,
        is_ascii=area.is_ascii,
        is_inverted=state.is_inverted,
        is_full=area.layout == "full",
    )
    lines = [_summary(state, area, rows, total=total, has_sort=table.has_sort), table.titles()]
    hits = {}
    for at, (entry, branch) in enumerate(visible):
        hits[len(lines)] = entry.stamp
        lines.append(table.line(ListedEntry(entry, branch, first + at == cursor, entry.stamp in state.tags)))
    if rows and len(lines) + 1 < area.height and len(visible) < page_rows(area):
        lines.append(table.total([entry for entry, _ in rows]))
    if (rows or problem) and len(lines) < area.height:
        lines += [()] * (area.height - 1 - len(lines))
        lines.append(_problem_line(problem, area) if problem else _footnote(rows[cursor][0], area))
    return Drawing(tuple(lines[: area.height]), hits, hidden_count=len(rows) - len(visible))


def _draw_opened(frame: MonitorFrame, area: DrawArea, state: ProcessesState) -> Drawing:
    """The page of the process, as soon as it is the page of that process and not of the one before."""
    if frame.overview is not None and _row_of(state.opened, frame) is None:
        return Drawing(
            ((), Pen().put(" This process is no longer known. Esc goes back to the list.", Role.HIGH).done())
        )
    is_its_own = frame.detail is not None and stamp_of(frame.detail.process) == state.opened
    return process_page.draw(frame if is_its_own else frame._replace(detail=None), area, state.page)


def page_rows(area: DrawArea) -> int:
    """Rows of the list that fit."""
    return max(1, area.height - _AROUND)


def acted(action: str, state: ProcessesState, frame: MonitorFrame, area: DrawArea) -> ProcessesState:
    """What a key does; the same state if it does nothing here."""
    word, _, value = action.partition(":")
    if state.opened is not None:
        return _acted_on_page(word, state, frame, area)
    steps = {"up": -1, "down": 1, "page_up": -page_rows(area), "page_down": page_rows(area)}
    steps |= {"home": -_EVERYTHING, "end": _EVERYTHING}
    if word in steps:
        return _moved(state, frame, area, steps[word])
    match word:
        case "tag":
            return _marked(state, frame, area)
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
            return _found(replace(state, search=value.strip()), frame, area)
        case "open":
            return _opened(state, frame)
        case "close":
            return _cleared(state)
    return state


def pointed(hit: int, state: ProcessesState) -> ProcessesState:
    """A click on a row."""
    return state if state.opened is not None else replace(state, cursor=hit)


def wanted(frame: MonitorFrame, state: ProcessesState) -> Wanted:
    """The list, who has chips open as the driver says, and all of the process that was opened."""
    row = _row_of(state.opened, frame)
    return Wanted(detail=row.key if row else None, history_seconds=60, has_telemetry=state.opened is None)


def selected(state: ProcessesState, frame: MonitorFrame) -> ProcessUsage | None:
    """The process under the cursor, or the one that was opened; None if it does not report."""
    if state.opened is not None:
        return _row_of(state.opened, frame)
    rows, _, _ = _listed(frame, state, is_ascii=True)
    return rows[_cursor_at(rows, state)][0].row if rows else None


def tagged(state: ProcessesState, frame: MonitorFrame) -> tuple[ProcessUsage, ...]:
    """What a signal goes to: the marked processes, else the one under the cursor."""
    if state.tags:
        return tuple(entry.row for entry in entries_of(frame) if entry.stamp in state.tags and entry.row)
    row = selected(state, frame)
    return (row,) if row else ()


def users_of(frame: MonitorFrame) -> tuple[str, ...]:
    """The users of all that is listed."""
    return tuple(sorted({entry.user for entry in entries_of(frame) if entry.user}))


Rows = Sequence[tuple[ProcessEntry, str]]


def _listed(frame: MonitorFrame, state: ProcessesState, is_ascii: bool) -> tuple[Rows, str, int]:
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


def in_tree(entries: Sequence[ProcessEntry], *, is_ascii: bool) -> list[tuple[ProcessEntry, str]]:
    """Children below their parents, in the order given, each with the branch it hangs on."""
    by_pid = {entry.pid: entry for entry in entries if entry.pid is not None and not entry.is_dead}
    children: dict[int, list[ProcessEntry]] = {}
    roots = []
    for entry in entries:
        parent = by_pid.get(entry.parent_pid) if entry.parent_pid is not None and not entry.is_dead else None
        if parent is None or parent is entry or _is_below(parent, entry, by_pid):
            roots.append(entry)
        else:
            children.setdefault(parent.stamp, []).append(entry)
    listed: list[tuple[ProcessEntry, str]] = []
    for root in roots:
        _hang(root, "", "", children, listed, is_ascii)
    return listed


def _is_below(entry: ProcessEntry, above: ProcessEntry, by_pid: dict[int, ProcessEntry]) -> bool:
    """Whether one descends from the other: pids that were used again may form a circle."""
    seen: set[int] = set()
    here: ProcessEntry | None = entry
    while here is not None and here.stamp not in seen:
        if here is above:
            return True
        seen.add(here.stamp)
        here = by_pid.get(here.parent_pid) if here.parent_pid is not None else None
    return False


def _hang(
    entry: ProcessEntry,
    branch: str,
    below: str,
    children: dict[int, list[ProcessEntry]],
    listed: list[tuple[ProcessEntry, str]],
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


def _cursor_at(rows: Rows, state: ProcessesState) -> int:
    """Where the entry under the cursor stands now; the first, if it is gone."""
    if state.cursor is None:
        return 0
    return next((at for at, (entry, _) in enumerate(rows) if entry.stamp == state.cursor), 0)


def _window(top: int, cursor: int, count: int, height: int) -> int:
    """The first row to show, so that the cursor is to be seen and no room is wasted."""
    first = min(max(top, cursor - height + 1), cursor)
    return max(0, min(first, count - height))


def _moved(state: ProcessesState, frame: MonitorFrame, area: DrawArea, step: int) -> ProcessesState:
    rows, _, _ = _listed(frame, state, area.is_ascii)
    if not rows:
        return state
    cursor = max(0, min(_cursor_at(rows, state) + step, len(rows) - 1))
    height = page_rows(area)
    before = _window(state.top, _cursor_at(rows, state), len(rows), height)
    return replace(state, cursor=rows[cursor][0].stamp, top=_window(before, cursor, len(rows), height))


def _marked(state: ProcessesState, frame: MonitorFrame, area: DrawArea) -> ProcessesState:
    """Marks the process under the cursor, or takes the mark away, and goes on; only processes can be marked."""
    row = selected(state, frame)
    if row is None:
        return state
    rows, _, _ = _listed(frame, state, area.is_ascii)
    stamp = rows[_cursor_at(rows, state)][0].stamp
    return _moved(replace(state, cursor=stamp, tags=state.tags ^ {stamp}), frame, area, 1)


def _found(state: ProcessesState, frame: MonitorFrame, area: DrawArea) -> ProcessesState:
    """The cursor on the next row that mentions what is searched for; it begins again at the end."""
    rows, _, _ = _listed(frame, state, area.is_ascii)
    if not state.search or not rows:
        return state
    test, here = mentions(state.search), _cursor_at(rows, state)
    for step in range(1, len(rows) + 1):
        if test(rows[(here + step) % len(rows)][0]):
            return _moved(state, frame, area, (here + step) % len(rows) - here)
    return state


def _opened(state: ProcessesState, frame: MonitorFrame) -> ProcessesState:
    rows, _, _ = _listed(frame, state, is_ascii=True)
    entry = rows[_cursor_at(rows, state)][0] if rows else None
    if entry is None or entry.row is None:
        return state
    return replace(state, cursor=entry.stamp, opened=entry.stamp, page=process_page.ProcessPageState())


def _cleared(state: ProcessesState) -> ProcessesState:
    """One thing after the other: tags, then what is searched for, then the filters."""
    if state.tags:
        return replace(state, tags=frozenset())
    if state.search:
        return replace(state, search="")
    return replace(state, query="", user="") if state.query or state.user else state


def _acted_on_page(word: str, state: ProcessesState, frame: MonitorFrame, area: DrawArea) -> ProcessesState:
    if word == "close":
        return replace(state, opened=None)
    turned = process_page.acted(word, state.page, frame, area)
    return state if turned is state.page else replace(state, page=turned)


def _row_of(stamp: int | None, frame: MonitorFrame) -> ProcessUsage | None:
    return next((entry.row for entry in entries_of(frame) if entry.stamp == stamp), None) if stamp is not None else None


def _summary(state: ProcessesState, area: DrawArea, rows: Rows, *, total: int, has_sort: bool) -> Line:
    """How many are listed, which, and what those that live hold together."""
    shown, processes = len(rows), plural(total, "process", "es")
    living = [entry for entry, _ in rows if not entry.is_dead]
    pen = Pen().put(" ").put(processes if shown == total else f"{shown:,} of {processes}", Role.TITLE)
    for pool in (Pool.DRAM, Pool.L1):
        pen.put(f"  {pool.name} ", Role.DIM).put(size_text(sum(entry.used(pool) or 0 for entry in living)))
    if state.tags:
        pen.put(f"  {len(state.tags):,} tagged", Role.TAGGED)
    sort = "" if has_sort else state.sort
    for word, value in (("by", sort), ("user", state.user), ("search", state.search), ("filter", state.query)):
        if value and pen.at + len(word) + 4 < area.width:
            text = shown_name(value, area.is_ascii)
            pen.put(f"  {word} ", Role.DIM)
            pen.name(text, min(len(text), area.width - pen.at), Role.NOTICE, is_ascii=area.is_ascii)
    return pen.done()


def _problem_line(problem: str, area: DrawArea) -> Line:
    """What is wrong with the filter, where it has a line of its own."""
    return Pen().put(" ").name(problem, area.width - 1, Role.FULL, is_ascii=area.is_ascii).done()


def _footnote(entry: ProcessEntry, area: DrawArea) -> Line:
    """The command of the process under the cursor, and why its figures are not whole."""
    pen = Pen().put(" ")
    reason = entry.row.reason if entry.row else ""
    text = f"{reason_text(reason)}: " if reason else ""
    if text and len(text) < area.width - 20:
        pen.put(text, Role.HIGH)
    return pen.name(entry.command or entry.label, area.width - pen.at, Role.DIM, is_ascii=area.is_ascii).done()
