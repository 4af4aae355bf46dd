"""No program reports: what to do next, what was looked at, and the chips that the driver knows."""

from collections.abc import Iterator, Sequence

from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame, shown_name
from ttmem.monitor.parts.news import KIND_WORDS, ago_text
from ttmem.snapshot.telemetry import ChipTelemetry
from ttmem.snapshot.usage import ProcessUsage, Snapshot
from ttmem.sources.procfs import uids_of, user_name
from ttmem.view.table import Column, Line, Role, Span, cell, clipped, fitted, table
from ttmem.view.texts import label_text, plural, ranges_text

__all__ = ["draw"]

_INDENT = 8
_COMMANDS = (
    ("Start a program so that ttmem sees it:", "ttmem run -- python model.py", "nothing to change in it"),
    ("Or look around without a device:", "ttmem demo", "a simulated Llama on 4 chips"),
    ("A program runs and is not here?", "ttmem doctor", "shows what is missing"),
)
_CHIPS_MOST = 8


def draw(frame: MonitorFrame, area: DrawArea) -> Drawing:
    assert frame.overview is not None
    if frame.is_recorded:
        return _nothing_yet(frame.overview, area)
    lines: list[Line] = [(Span(" No program uses a device now", Role.TITLE),), ()]
    for title, command, text in _COMMANDS:
        lines.append((Span(" " * _INDENT + title, Role.TITLE),))
        lines.append(
            (Span(f"{' ' * (_INDENT + 2)}{command:30}", Role.GOOD), Span(text if area.width >= 64 else "", Role.DIM))
        )
        lines += [()] if area.height >= 20 else []
    indent = " " * _INDENT
    rule = ("-" if area.is_ascii else "─") * max(0, min(44, area.width - _INDENT - 20))
    lines.append((Span(f"{indent}What ttmem looked at ", Role.DIM), Span(rule, Role.FRAME)))
    for word, found, more in _looked_at(frame, frame.overview):
        text = shown_name(more, area.is_ascii)
        lines.append((Span(f"{indent}{word:10}", Role.DIM), Span(found), Span(f"  {text}" if text else "", Role.DIM)))
    chips = frame.telemetry or ()
    if chips and area.height - len(lines) >= 4:
        lines += [(), *_chip_table(chips, frame.overview, area, area.height - len(lines) - 2)]
    shown = tuple(fitted(line, area.width) for line in lines[: area.height])
    return Drawing(shown, hidden_count=max(0, len(lines) - area.height))


def _nothing_yet(overview: Snapshot, area: DrawArea) -> Drawing:
    """A moment of a recording before the first program, or after the last."""
    word = "any more" if overview.ended else "yet"
    lines = [
        (Span(f" At this moment of the recording no program uses a device {word}", Role.TITLE),),
        (),
        (Span(f"{' ' * _INDENT}{'Space':8}", Role.GOOD), Span("plays on", Role.DIM)),
        (Span(f"{' ' * _INDENT}{'Right':8}", Role.GOOD), Span("goes on by a second, Left back by one", Role.DIM)),
        (Span(f"{' ' * _INDENT}{'n':8}", Role.GOOD), Span("goes to the next incident or phase", Role.DIM)),
    ]
    return Drawing(tuple(fitted(line, area.width) for line in lines[: area.height]))


def _looked_at(frame: MonitorFrame, overview: Snapshot) -> Iterator[tuple[str, str, str]]:
    chips = frame.telemetry or ()
    if chips:
        heat = [f"{chip.temperature.value:.0f} °C" for chip in chips[:4] if chip.temperature]
        more = ", ".join(heat) + (" ..." if heat and len(chips) > 4 else "")
        yield "devices", f"{len(chips)} found", f"/dev/tenstorrent/{ranges_text([chip.node for chip in chips])}  {more}"
    else:
        yield "devices", "none found", "by the driver in /sys/class/tenstorrent"
    yield "programs", "none reports", f"(looked in {', '.join(overview.places) or 'no directory'})"
    if overview.foreign:
        users = ", ".join(sorted({one.user for one in overview.foreign}))
        yield "others", f"{plural(len(overview.foreign), 'place', 's')} not readable", f"of {users}"
    is_daemon = overview.source.startswith("daemon")
    yield "daemon", overview.source if is_daemon else "not running", "" if is_daemon else "(not needed; keeps history)"
    last = max(overview.ended, key=lambda row: row.last_event_time_ns or 0, default=None)
    if last is None:
        yield "last run", "none known", ""
    else:
        yield "last run", label_text(last.label or last.command), _ending_text(frame, overview, last)


def _ending_text(frame: MonitorFrame, overview: Snapshot, last: ProcessUsage) -> str:
    """When it ended, and with what."""
    when = "" if last.last_event_time_ns is None else f"ended {ago_text(overview.time_ns - last.last_event_time_ns)}"
    own = [one for one in frame.incidents if one.pid == last.pid]
    if not own and not last.was_refused:
        return f"{when}, no incidents" if when else "no incidents"
    what = KIND_WORDS[own[0].incident.kind] if own else "incidents, details lost"
    return f"{when}: {what}, press 7" if when else f"{what}, press 7"


def _chip_table(chips: Sequence[ChipTelemetry], overview: Snapshot, area: DrawArea, room: int) -> list[Line]:
    """Sensors of the chips, and who has them open."""
    degree = "C" if area.is_ascii else "°C"
    columns = [
        Column("CHIP", is_right=True),
        Column("BOARD"),
        Column(degree, is_right=True),
        Column("W", is_right=True),
        Column("MHz", is_right=True),
        Column("OPEN BY", least=10),
    ]
    names = {row.pid: row.user for row in overview.processes}
    shown = chips[: max(1, min(_CHIPS_MOST, room - 1))]
    rows = [
        [
            cell(str(chip.node), Role.INDEX),
            cell(shown_name(chip.card_type or chip.arch or "", area.is_ascii), Role.DIM),
            cell(f"{chip.temperature.value:.0f}" if chip.temperature else ""),
            cell(f"{chip.power.value:.0f}" if chip.power else ""),
            cell("" if chip.aiclk_mhz is None else str(chip.aiclk_mhz), Role.DIM),
            cell(clipped(_openers(chip, names, area), max(10, area.width - 40), is_ascii=area.is_ascii), Role.DIM),
        ]
        for chip in shown
    ]
    lines = table(columns, rows, width=area.width - _INDENT + 1)
    lines = [(Span(" " * (_INDENT - 1)), *line) for line in lines]
    hidden = len(chips) - len(shown)
    return [*lines, (Span(f"{' ' * _INDENT}{hidden} more, press 6", Role.DIM),)] if hidden else lines


def _openers(chip: ChipTelemetry, names: dict[int, str], area: DrawArea) -> str:
    """Who has it open; of a process that may not be seen the user is not known."""
    if chip.pids is None:
        return "not known"
    if not chip.pids:
        return "nobody"
    commands = dict(zip(chip.pids, chip.commands, strict=False))
    texts = []
    for pid in chip.pids:
        user = names.get(pid) or _user_of(pid) or "unknown user"
        command = label_text(commands.get(pid) or "")
        texts.append(f"pid {pid} {shown_name(command, area.is_ascii)} ({user})".replace("  ", " "))
    return ", ".join(texts)


def _user_of(pid: int) -> str:
    """The user of a process; empty if that cannot be known."""
    found = uids_of(pid)
    return user_name(found.effective) if found else ""
