"""Incidents on the monitor's first screen: a line for the newest, what is red, and which chips they were on."""

from collections.abc import Sequence

from ttmem.monitor.screens.frame import Frame, Look
from ttmem.snapshot.usage import ProcessUsage, Snapshot
from ttmem.view.spans import Line, Role, Span, clipped
from ttmem.view.words import plural

__all__ = ["chip_marks", "fresh_count", "incident_lines"]

_MOST = 3  # lines of incidents above the chips
_LEAST_HEIGHT = 8  # of a screen that has room for more than one of them


def incident_lines(frame: Frame, look: Look) -> tuple[Line, ...]:
    """Those that are news, the newest first, or the newest one; and how many there are besides."""
    if frame.overview is None or not any(row.was_refused for row in frame.overview.processes):
        return ()
    return _lines(frame.overview, look.width, look.height, is_ascii=look.is_ascii)


def _lines(overview: Snapshot, width: int, height: int, *, is_ascii: bool) -> tuple[Line, ...]:
    from ttmem.view.incidents.lines import lines_of, next_step, told_incidents, unkept_texts

    told = told_incidents(_processes(overview), overview.time_ns)
    fresh = sum(one.is_fresh for one in told)
    most = max(1, min(_MOST, fresh)) if height >= _LEAST_HEIGHT else 1
    devices = [usage.device for usage in overview.devices]
    lines = lines_of(told[:most], devices, width, is_ascii=is_ascii)
    rest = len(told) - len(lines)
    notes = [f"{plural(rest, 'more incident', 's')}: A lists them."] if rest > 0 else []
    notes = [next_step(told[0]), *notes] if told else notes
    notes += unkept_texts(row for row, _ in _processes(overview))
    if notes and (height >= _LEAST_HEIGHT or not lines):
        lines.append((Span(clipped(f" {' '.join(notes)}", width, is_ascii=is_ascii), Role.DIM),))
    return tuple(lines)


def chip_marks(frame: Frame) -> dict[str, Role]:
    """The ids of chips that had incidents; red where that is news."""
    if frame.overview is None or not any(row.incidents for row in frame.overview.processes):
        return {}
    from ttmem.view.incidents.lines import marked_chips, told_incidents

    return marked_chips(told_incidents(_processes(frame.overview), frame.overview.time_ns))


def fresh_count(frame: Frame) -> int:
    """How many incidents are news."""
    if frame.overview is None or not any(row.incidents for row in frame.overview.processes):
        return 0
    from ttmem.view.incidents.lines import told_incidents

    return sum(one.is_fresh for one in told_incidents(_processes(frame.overview), frame.overview.time_ns))


def _processes(overview: Snapshot) -> Sequence[tuple[ProcessUsage, bool]]:
    return [(row, row.state == "ended") for row in overview.processes if row.was_refused]
