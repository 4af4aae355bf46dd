"""What happened, on the axis of time and in words.

────!────────>───x──      out of memory, a process began, a clash
|prefill···|decode··      phases, the innermost of those that ran
──!prefill···|dec>de      both on one line, where there is room for no other
"""

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from ttmem.monitor.parts.drawing import shown_name
from ttmem.snapshot.history import Mark, MarkKind
from ttmem.view.table import Line, Role, Span, fitted, width_of
from ttmem.view.texts import clock_text, size_text

__all__ = ["SIGNS", "TimeSpan", "axis", "legend", "phase_lane", "time_labels", "words_of"]

_READABLE = 4  # letters of a name, at least


class Sign(NamedTuple):
    """How a mark is drawn; a mark with a higher weight covers one with a lower."""

    character: str
    words: str
    role: Role
    weight: int


SIGNS: dict[MarkKind, Sign] = {
    "process_ended": Sign("<", "ended", Role.NOTICE, 1),
    "process_began": Sign(">", "began", Role.NOTICE, 2),
    "clash": Sign("x", "clash", Role.HIGH, 3),
    "out_of_memory": Sign("!", "out of memory", Role.FULL, 4),
}


class TimeSpan(NamedTuple):
    """A stretch of time, drawn so many columns wide."""

    begin_ns: int
    end_ns: int
    width: int

    def column(self, time_ns: int) -> int | None:
        """Where a moment lies; None if it does not."""
        if not self.begin_ns <= time_ns <= self.end_ns or self.width <= 0:
            return None
        return min(self.width - 1, (time_ns - self.begin_ns) * self.width // max(1, self.end_ns - self.begin_ns))


_PHASE = Sign("|", "phase", Role.NOTICE, 0)  # on a lane of its own, or under the others


def axis(marks: Sequence[Mark], span: TimeSpan, *, has_phases: bool = False, is_ascii: bool) -> Line:
    """The axis with its marks, and with phases where asked: exactly `span.width` columns."""
    found: dict[int, Sign] = {}
    for mark in marks:
        sign, column = SIGNS.get(mark.what), span.column(mark.time_ns)
        if sign and column is not None and sign.weight > found.get(column, _NO_SIGN).weight:
            found[column] = sign
    lane = (_lane(marks, span, is_ascii) if has_phases else []) or [" "] * span.width
    base, dot = ("-", ".") if is_ascii else ("─", "·")
    cells = [(base, Role.DIM) if text == " " else (text, _PHASE.role) for text in lane]
    for column, sign in found.items():
        if not lane[column]:
            cells[column - 1] = (dot, _PHASE.role)
        if lane[column + 1 : column + 2] == [""]:
            cells[column + 1] = (dot, _PHASE.role)
        cells[column] = (sign.character, sign.role)
    runs = groupby(cells, key=itemgetter(1))
    return tuple(Span("".join(text for text, _ in run), role) for role, run in runs)


_NO_SIGN = Sign(" ", "", Role.DIM, 0)


def time_labels(span: TimeSpan) -> Line:
    """How long ago: -60 s at the left, now at the right, half way between them where there is room."""
    seconds = round((span.end_ns - span.begin_ns) / 1e9)
    texts = [_ago(seconds), _ago(seconds // 2) if span.width >= 40 else "", "now"]
    if span.width < sum(map(len, texts)) + 4:
        return ()
    middle = texts[1].center(span.width - len(texts[0]) - len(texts[2]))
    return (Span(texts[0] + middle + texts[2], Role.DIM),)


def phase_lane(marks: Iterable[Mark], span: TimeSpan, *, is_ascii: bool) -> Line:
    """The phases that ran, by name; empty if there were none."""
    lane = _lane(marks, span, is_ascii)
    return (Span("".join(lane), _PHASE.role),) if lane else ()


def _lane(marks: Iterable[Mark], span: TimeSpan, is_ascii: bool) -> list[str]:
    """What stands in each column; nothing beside a character that is two columns wide."""
    phases = _phases(marks, span)
    owners: list[int | None] = [None] * span.width
    for at, (begin, end, _) in enumerate(phases):
        owners[begin:end] = [at] * (end - begin)
    runs = [(owner, len(list(columns))) for owner, columns in groupby(owners)] if phases else []
    lane: list[str] = []
    at = 0
    for (owner, width), (following, free) in pairwise([*runs, (0, 0)]):
        if owner is None:
            lane += [" "] * (at + width - len(lane))
        else:
            begin, _, name = phases[owner]
            shown = shown_name(name, is_ascii) if begin == at else None
            lane += _stretch(shown, width, free if following is None else 0, "." if is_ascii else "·")
        at += width
    return lane


def _stretch(name: str | None, width: int, free: int, dot: str) -> list[str]:
    """A phase from its beginning, or going on after one inside it. Its name may end in free columns behind it, rather
    than be cut; one letter of a name says nothing."""
    if name is None:
        return [dot] * width
    taken = max(width - 1, min(width_of(name), width - 1 + free))
    is_named = taken >= min(_READABLE, width_of(name))
    return ["|", *_columns_of(name if is_named else "", taken if is_named else width - 1, dot)]


def _columns_of(text: str, width: int, dot: str) -> list[str]:
    """What stands in each column, dots behind the text; nothing beside a character that is two columns wide."""
    columns: list[str] = []
    for character in text:
        taken = width_of(character)
        if len(columns) + taken > width:
            break
        if taken:
            columns += [character, *[""] * (taken - 1)]
        elif columns:
            columns[-1] += character
    return columns + [dot] * (width - len(columns))


def _phases(marks: Iterable[Mark], span: TimeSpan) -> list[tuple[int, int, str]]:
    """Columns of every phase, outer ones first: who began later is inside."""
    began: dict[tuple[int | None, str], int] = {}
    found: list[tuple[int, int, str]] = []
    for mark in marks:
        key = (mark.pid, mark.text)
        if mark.what == "phase_began":
            began[key] = mark.time_ns
        elif mark.what == "phase_ended":
            found.append((began.pop(key, span.begin_ns), mark.time_ns, mark.text))
    found += [(time_ns, span.end_ns, name) for (_, name), time_ns in began.items()]
    lanes = []
    for begin_ns, end_ns, name in sorted(found):
        begin, end = span.column(max(begin_ns, span.begin_ns)), span.column(min(end_ns, span.end_ns))
        if begin is not None and end is not None:
            lanes.append((begin, end + 1, name))
    return lanes


def legend(marks: Sequence[Mark]) -> Line:
    """The signs that are drawn, and what they mean."""
    kinds = {mark.what for mark in marks}
    spans: list[Span] = []
    signs: dict[MarkKind, Sign] = {**SIGNS, "phase_began": _PHASE}
    for what, sign in sorted(signs.items(), key=lambda item: -item[1].weight):
        if what in kinds:
            spans += [Span("  "), Span(sign.character, sign.role), Span(f" {sign.words}", Role.DIM)]
    return tuple(spans)


def words_of(mark: Mark, chip: str, *, width: int, is_ascii: bool) -> Line:
    """One mark in one line: when, what, where, whose."""
    sign = SIGNS.get(mark.what, _PHASE)
    what = f"{sign.character} {sign.words}"
    pool = mark.pool if mark.what == "out_of_memory" else None
    parts = (
        f"{pool.name} {size_text(mark.size_bytes)} wanted" if pool is not None else "",
        f"{mark.count} times" if mark.count > 1 else "",
        f"chip {chip}" if chip else "",
        f"pid {mark.pid}" if mark.pid is not None else "",
        shown_name(mark.text, is_ascii),
    )
    head = (Span(f" {clock_text(mark.time_ns)}  ", Role.DIM), Span(f"{what:<15}", sign.role))
    room = width - sum(span.width for span in head)
    texts = ["".join(gap + text for text in parts if text) for gap in ("  ", " ")]
    return fitted((*head, Span(next((text for text in texts if width_of(text) <= room), texts[-1]))), width)


def _ago(seconds: int) -> str:
    return f"-{seconds} s" if seconds < 120 else f"-{seconds / 60:g} min"
