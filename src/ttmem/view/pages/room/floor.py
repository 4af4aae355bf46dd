"""The pages of `ttmem report --floor` and `--headroom`: the lowest L1 buffer, and what launches had below it."""

from collections.abc import Sequence

from ttmem.analysis.alive import ByWord
from ttmem.analysis.room.answers import CoursePoint
from ttmem.analysis.room.floor import ChipFloor, ChipRoom, FloorReport, HeadroomReport
from ttmem.view.page import PageOptions
from ttmem.view.pages.sums import (
    certainty_lines,
    more_line,
    seconds_text,
    sums_table,
    title_line,
    when_text,
)
from ttmem.view.table import Line, Role, Span, cell, clean
from ttmem.view.texts import count_text, devices_word, name_text, signed_text, size_text, sparkline

__all__ = ["floor_page", "headroom_page", "room_title"]

_COURSE_WIDTH = 60


def floor_page(report: FloorReport, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    lines: list[Line] = []
    for chips in report.chips:
        lines += [*_floor(chips, report, options), ()]
    return [*lines[:-1], *certainty_lines(report, options)]


def _floor(chips: ChipFloor, report: FloorReport, options: PageOptions) -> list[Line]:
    name = f"{devices_word(chips.chips)} l1"
    if chips.lowest_address is None or chips.when is None:
        return [title_line(name, "no L1 buffer said where it lies")]
    lines = [title_line(name, f"lowest buffer at {chips.lowest_address:#x}", when_text(chips.when))]
    facts = []
    if chips.l1_begin_address is not None and chips.l1_end_address is not None:
        facts.append(f"L1 for buffers goes from {chips.l1_begin_address:#x} to {chips.l1_end_address:#x}")
    if chips.cb_end_address is not None:
        facts.append(f"circular buffers of the launch with least room ended at {chips.cb_end_address:#x}")
    lines += [cell(f"  {'; '.join(facts)}", Role.DIM)] if facts else []
    lines.append(_course("  down to the floor ", chips.course, chips.l1_end_address, options))
    rows = [
        (
            (f"{one.lowest_address:#x}", size_text(one.size_bytes), seconds_text(one.floor_ns), count_text(one.count)),
            one.names,
        )
        for one in chips.setters
    ]
    lines += sums_table(("LOWEST", "PER BANK", "WAS FLOOR FOR", "COUNT"), rows, report.by, options)
    return [*lines, *more_line(chips.more_setter_count, "sum")]


def _course(words: str, course: Sequence[CoursePoint], end: int | None, options: PageOptions) -> Line:
    """How far the floor was below the end of L1."""
    width = min(_COURSE_WIDTH, (options.width or 80) - len(words))
    top = end or max((point.value or 0 for point in course), default=0)
    depths = [None if point.value is None else float(top - point.value) for point in course]
    return (Span(words, Role.DIM), Span(sparkline(depths, width, options.is_ascii), Role.COURSE))


def headroom_page(report: HeadroomReport, options: PageOptions) -> list[Line]:
    """All lines, top to bottom."""
    lines: list[Line] = []
    for chips in report.chips:
        lines += [*_room(chips, report.by, options), ()]
    return [*lines[:-1], *certainty_lines(report, options)]


def room_title(chips: ChipRoom) -> Line:
    """The launch with least room in one line."""
    name = f"{devices_word(chips.chips)} l1"
    if chips.least_bytes is None or chips.when is None:
        return title_line(name, "no launch had circular buffers")
    return title_line(name, f"tightest launch had {signed_text(chips.least_bytes)} left", when_text(chips.when))


def _room(chips: ChipRoom, by: Sequence[ByWord], options: PageOptions) -> list[Line]:
    lines = [room_title(chips)]
    if chips.least_bytes is not None:
        program = f"program {chips.program}" + (f" ({clean(chips.operation)})" if chips.operation else "")
        lines.append(cell(f"  {program} of {chips.process}: circular buffers end at {chips.cb_end_address:#x}"))
        if chips.lowest_address is None:
            lines.append(cell("  no L1 buffer was there: that is the room to the end of L1", Role.DIM))
        else:
            named = (
                ", ".join(name_text(one, word) for one, word in zip(chips.lowest_names, by, strict=True) if one)
                or "not known"
            )
            lines.append(cell(f"  lowest buffer on its cores at {chips.lowest_address:#x}: {named}"))
    known = [point for point in chips.planned if point.value is not None]
    if known:
        least = min(known, key=lambda point: point.value or 0)
        words = f"  with all loaded programs at least {signed_text(least.value)} "
        width = max(10, min(_COURSE_WIDTH, (options.width or 80) - len(words)))
        course = [None if point.value is None else float(max(0, point.value)) for point in chips.planned]
        lines.append((Span(words, Role.DIM), Span(sparkline(course, width, options.is_ascii), Role.COURSE)))
    return lines
