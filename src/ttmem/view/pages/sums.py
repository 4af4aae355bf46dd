"""What pages of answers from a recording share: how sure an answer is, sums in a table, moments."""

from collections.abc import Iterable, Sequence
from functools import partial

from ttmem.analysis.alive import ByWord
from ttmem.analysis.room.answers import Certainty, RoomAnswer, RunTime
from ttmem.view.page import PageOptions
from ttmem.view.table import Cell, Column, Line, Role, Span, cell, clipped, table, wrapped
from ttmem.view.texts import clock_text, name_text

__all__ = [
    "certainty_lines",
    "certainty_text",
    "more_line",
    "name_cells",
    "name_columns",
    "seconds_text",
    "sums_table",
]

_NAME_LEAST, _NAME_MOST = 20, 120
_CERTAINTIES: dict[Certainty, str] = {
    "measured": "measured",
    "sampled": "sampled",
    "inferred": "inferred",
    "at_least": "at least that",
}


def seconds_text(time_ns: int) -> str:
    """12.5s, as `--at +12.5s` takes it."""
    return f"{time_ns / 1e9:.3f}".rstrip("0").rstrip(".") + "s"


def when_text(when: RunTime) -> str:
    """A moment as the clock had it, and as `--at` takes it."""
    return f"at {clock_text(when.time_ns)} (+{seconds_text(when.since_start_ns)})"


def certainty_text(certainty: Certainty, why: str) -> str:
    """How sure a figure is."""
    return f"{_CERTAINTIES[certainty]}: {why}"


def certainty_lines(answer: RoomAnswer, options: PageOptions) -> list[Line]:
    """The last lines of every answer."""
    return [(), *wrapped([certainty_text(answer.certainty, answer.why)], Role.DIM, "", options.width)]


def name_columns(by: Sequence[ByWord], options: PageOptions) -> list[Column]:
    """What sums are made by."""
    least, most = (0, None) if options.width is None else (_NAME_LEAST, _NAME_MOST)
    return [Column(word.upper(), least=least, most=most) for word in by]


def name_cells(names: Sequence[str], by: Sequence[ByWord], options: PageOptions) -> list[Cell]:
    """The names of one sum; what is not known says so."""
    cells: list[Cell] = []
    for name, word in zip(names, by, strict=True):
        text = name_text(name, word)
        role = Role.PLAIN if text else Role.DIM
        text = text or ("no phase" if word == "phase" else "not known")
        cells.append(cell(text, role) if options.width is None else partial(_clipped, text, role, options.is_ascii))
    return cells


def _clipped(text: str, role: Role, is_ascii: bool, width: int) -> Line:
    return cell(clipped(text, width, is_ascii=is_ascii), role)


def sums_table(
    figures: Sequence[str],
    rows: Iterable[tuple[Sequence[str], Sequence[str]]],
    by: Sequence[ByWord],
    options: PageOptions,
) -> list[Line]:
    """Figures, right-aligned, and the names of what they are of."""
    columns = [*(Column(title, is_right=True) for title in figures), *name_columns(by, options)]
    cells = [[*(cell(text) for text in texts), *name_cells(names, by, options)] for texts, names in rows]
    return list(table(columns, cells, width=options.width)) if cells else []


def more_line(count: int, what: str) -> list[Line]:
    """That there are others."""
    return [cell(f"  and {count:,} more {what}{'' if count == 1 else 's'}: --all", Role.DIM)] if count else []


def title_line(name: str, notice: str, rest: str = "") -> Line:
    """Chips and what is said of them."""
    return (
        Span(name, Role.INDEX),
        Span(f"  {notice}", Role.NOTICE),
        *((Span(f"  {rest}", Role.DIM),) if rest else ()),
    )
