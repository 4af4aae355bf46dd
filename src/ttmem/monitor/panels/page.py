"""A page to read and scroll: keys, an environment; and the findings, what does not add up."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from ttmem.monitor.panels.keys import GROUPS, NOT_OF_RECORDINGS, REPLAY, Key, action_of, key_word
from ttmem.monitor.panels.panel import Place
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame, shown_name
from ttmem.snapshot.usage import ProcessUsage
from ttmem.sources.procfs import environment_of
from ttmem.view.table import Line, Role, Span, clean, fitted
from ttmem.view.texts import finding_text, plural, process_text, reason_text

__all__ = ["TextPage", "environment_lines", "finding_lines", "help_lines"]

_LEAVING = ("quit", "close", "open", "help")


class TextPage:
    """Lines under a title; they are made for each picture, so that they stay true."""

    place: Place = "page"

    def __init__(self, title: str, lines: Callable[[DrawArea], Sequence[Line]]) -> None:
        self.title = title
        self._lines = lines
        self._top = 0

    def draw(self, area: DrawArea) -> list[Line]:
        lines = self._lines(area)
        room = max(1, area.height - 1)
        self._top = max(0, min(self._top, len(lines) - room))
        shown = lines[self._top : self._top + room]
        hidden = len(lines) - len(shown)
        where = f"  {self._top + 1}-{self._top + len(shown)} of {len(lines)}" if hidden else ""
        heading = (Span(f" {self.title}", Role.TITLE), Span(f"{where}  ", Role.DIM), *_LEAVE)
        return [fitted(line, area.width) for line in (heading, *shown)]

    def press(self, key: str, area: DrawArea) -> bool:
        action = action_of(key)
        page = max(1, area.height - 2)
        steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "home": -self._top, "end": 1 << 30}
        self._top = max(0, self._top + steps.get(action, 0))
        return action not in _LEAVING


_LEAVE = (Span("Esc", Role.KEY), Span(" back", Role.DIM))


_KEYS_WIDTH = 14
_COLUMN = 60  # least for one of two columns of keys


def help_lines(area: DrawArea, *, is_replay: bool = False) -> list[Line]:
    """Every key, in two columns where there is room for them; of a recording its own first."""
    groups = {"Recording": REPLAY, **_without(REPLAY)} if is_replay else GROUPS
    is_wide = area.width >= 2 * _COLUMN
    width = (area.width - 1) // 2 if is_wide else area.width
    blocks = [_group_lines(title, keys, width) for title, keys in groups.items()]
    if not is_wide:
        return [line for block in blocks for line in (*block, ())]
    left: list[Line] = []
    right: list[Line] = []
    for block in blocks:
        (left if len(left) <= len(right) else right).extend([*block, ()])
    return [(*_padded(one, width + 1), *other) for one, other in zip_longest(left, right, fillvalue=())]


def _without(others: Sequence[Key]) -> dict[str, tuple[Key, ...]]:
    """All keys but those that stand for something else here."""
    taken = {name for key in others for name in key.names}
    left = {
        title: [key._replace(names=tuple(name for name in key.names if name not in taken)) for key in keys]
        for title, keys in GROUPS.items()
    }
    return {
        title: tuple(key for key in keys if key.names and key.action not in NOT_OF_RECORDINGS)
        for title, keys in left.items()
    }


def _group_lines(title: str, keys: Sequence[Key], width: int) -> list[Line]:
    lines: list[Line] = [(Span(f" {title}", Role.HEAD),)]
    for key in keys:
        words = " ".join(map(key_word, key.names))
        first, *others = textwrap.wrap(key.text, max(20, width - _KEYS_WIDTH - 5))
        lines.append((Span(f"   {words:{_KEYS_WIDTH}}", Role.KEY), Span(f" {first}")))
        lines += [(Span(" " * (_KEYS_WIDTH + 4) + other),) for other in others]
    return lines


def _padded(line: Line, width: int) -> Line:
    return (*line, Span(" " * max(0, width - sum(span.width for span in line))))


def finding_lines(frame: MonitorFrame, area: DrawArea) -> list[Line]:
    """What does not add up, a line or more for each."""
    lines: list[Line] = []
    for text in _doubts(frame):
        wrapped = textwrap.wrap(shown_name(text, area.is_ascii), max(20, area.width - 4), subsequent_indent="  ")
        lines += [(Span(f"   {one}", Role.NOTICE),) for one in wrapped]
    return lines


def _doubts(frame: MonitorFrame) -> Iterator[str]:
    overview = frame.overview
    if overview is None:
        return
    if overview.reason:
        yield f"incomplete: {overview.reason}"
    names = {row.pid: f"{process_text(row.pid, row.label or row.command)}: " for row in overview.processes if row.pid}
    for finding in overview.findings:
        yield names.get(finding.pid or 0, finding.path and f"{finding.path}: ") + finding_text(finding)
    listed = {finding.pid for finding in overview.findings}
    for row in overview.processes:
        if not row.pid:
            continue  # its finding names the file
        if row.finding_count and row.pid not in listed:
            yield f"{names[row.pid]}{plural(row.finding_count, 'finding', 's')}; Enter on it lists them"
        if row.reason:
            yield f"{names[row.pid]}{reason_text(row.reason)}"
    if overview.foreign:
        yield f"{len(overview.foreign)} of other users may not be read"


def environment_lines(row: ProcessUsage) -> list[Line]:
    """What it was started with, by name; or why that is not to be seen."""
    if not row.pid:
        return [(Span(" No process is known to have written its journal.", Role.HIGH),)]
    if not row.is_visible:
        return [(Span(" It lives in a container whose pids are not known here.", Role.HIGH),)]
    found = environment_of(row.pid)
    if found is None:
        return [(Span(f" It belongs to {clean(row.user)}: its environment may not be read.", Role.HIGH),)]
    if not found:
        return [(Span(" It has no environment, or has ended.", Role.DIM),)]
    pairs = (clean(entry).partition("=") for entry in sorted(found))
    return [(Span(f" {name}", Role.HEAD), Span(f"={value}")) for name, _, value in pairs]
