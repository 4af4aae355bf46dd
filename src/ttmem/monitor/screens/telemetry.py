"""Telemetry: what the driver reports of its chips, measured and limit as tt-smi shows them, and who has them open.

Works without a single chip: then it says what is missing and where it was searched.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame, Pen, Wanted, shown_name
from ttmem.snapshot.identity import chip_of
from ttmem.snapshot.telemetry import ChipTelemetry, Sensor
from ttmem.view.table import Line, Role, Span, clipped, fitted, width_of
from ttmem.view.texts import UNKNOWN, device_word, ranges_text

__all__ = ["INITIAL", "TelemetryState", "acted", "draw", "pointed", "wanted"]

_GAPS = (2, 1)  # between columns: what they would like, and what they need
_WORD_MOST = 16
_CLOSE = 0.95  # of a limit


@dataclass(frozen=True, slots=True)
class TelemetryState:
    """How far the table is scrolled."""

    first: int = 0


class _Cell(NamedTuple):
    text: str
    limit: str = ""  # written behind the text, after a slash
    role: Role = Role.PLAIN

    @property
    def width(self) -> int:
        return width_of(self.text) + width_of(self.limit)


class _SensorColumn(NamedTuple):
    """A column; of those that do not fit, the ones with the highest rank are left out first."""

    title: str
    rank: int
    cell: Callable[[ChipTelemetry], _Cell]
    is_word: bool = False


INITIAL = TelemetryState()


def draw(frame: MonitorFrame, area: DrawArea, state: TelemetryState) -> Drawing:
    if not frame.telemetry:
        return Drawing(tuple(fitted(line, area.width) for line in _nothing(frame))[: max(0, area.height)])
    below = _openers(frame, area)
    rows = max(1, area.height - 1 - len(below) - (1 if below else 0))
    first = min(state.first, max(0, len(frame.telemetry) - rows))
    shown = frame.telemetry[first : first + rows]
    table = _table(_columns(frame), frame.telemetry, shown, area)
    lines = [*table, *([()] if below else []), *below]
    hits = {1 + at: chip.node for at, chip in enumerate(shown)}
    return Drawing(tuple(lines)[: max(0, area.height)], hits, hidden_count=len(frame.telemetry) - len(shown))


def acted(action: str, state: TelemetryState, frame: MonitorFrame, area: DrawArea) -> TelemetryState:
    hidden = draw(frame, area, state).hidden_count
    count = len(frame.telemetry or ())
    page = max(1, count - hidden)
    steps = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "home": -count, "end": count}
    if action not in steps or not hidden:
        return state
    first = max(0, min(hidden, min(state.first, hidden) + steps[action]))
    return state if first == state.first else replace(state, first=first)


def pointed(hit: int, state: TelemetryState) -> TelemetryState:
    return state


def wanted(frame: MonitorFrame, state: TelemetryState) -> Wanted:
    return Wanted(has_telemetry=True)


def _columns(frame: MonitorFrame) -> tuple[_SensorColumn, ...]:
    chips = _chip_words(frame)
    return (
        _SensorColumn("NODE", 0, lambda chip: _Cell(str(chip.node), role=Role.INDEX)),
        _SensorColumn("CHIP", 4, lambda chip: _word(chips.get(chip.node)), is_word=True),
        _SensorColumn("CARD", 5, lambda chip: _word(chip.card_type or chip.arch), is_word=True),
        _SensorColumn("BUS ID", 7, lambda chip: _word(chip.pci_bus_id), is_word=True),
        _SensorColumn("TEMP C", 0, lambda chip: _measured(chip.temperature, 1)),
        _SensorColumn("POWER W", 0, lambda chip: _measured(chip.power, 1)),
        _SensorColumn("CURR A", 1, lambda chip: _measured(chip.current, 0)),
        _SensorColumn("VOLT V", 1, lambda chip: _measured(chip.voltage, 2)),
        _SensorColumn("AICLK MHz", 0, lambda chip: _count(chip.aiclk_mhz)),
        _SensorColumn("FAN RPM", 2, lambda chip: _measured(chip.fan, 0)),
        _SensorColumn("HEARTBEAT", 3, _heartbeat),
        _SensorColumn("OPEN BY", 6, lambda chip: _count(None if chip.pids is None else len(chip.pids))),
        _SensorColumn("TRIPS", 8, lambda chip: _count(chip.thermal_trip_count)),
        _SensorColumn("FIRMWARE", 9, lambda chip: _word(chip.firmware), is_word=True),
        _SensorColumn("AXI MHz", 10, lambda chip: _count(chip.axiclk_mhz)),
        _SensorColumn("ARC MHz", 11, lambda chip: _count(chip.arcclk_mhz)),
        _SensorColumn("SERIAL", 12, lambda chip: _word(chip.serial), is_word=True),
    )


def _table(
    columns: Sequence[_SensorColumn], chips: Sequence[ChipTelemetry], shown: Sequence[ChipTelemetry], area: DrawArea
) -> list[Line]:
    """Titles and the chips that are shown; widths are those of all, so that scrolling moves nothing sideways."""
    cells = {column.title: [column.cell(chip) for chip in chips] for column in columns}
    widths = {title: max([len(title), *(cell.width for cell in found)]) for title, found in cells.items()}
    fitting, gap = _fitting(columns, widths, area.width)
    titles = {column.title: _Cell(column.title, role=Role.HEAD) for column in fitting}
    rows = [titles]
    places = {chip.node: at for at, chip in enumerate(chips)}
    rows += [{title: found[places[chip.node]] for title, found in cells.items()} for chip in shown]
    lines = []
    for row in rows:
        pen = Pen().put(" ")
        for at, column in enumerate(fitting):
            pen.put(" " * gap if at else "")
            _write(pen, row[column.title], column, widths[column.title], area)
        lines.append(fitted(pen.done(), area.width))
    return lines


def _fitting(
    columns: Sequence[_SensorColumn], widths: Mapping[str, int], width: int
) -> tuple[list[_SensorColumn], int]:
    """The columns that fit, and the gap between them: rather a narrow one than to lose what is measured."""
    fitting = list(columns)

    def taken(gap: int) -> int:
        return 1 + sum(widths[column.title] for column in fitting) + gap * (len(fitting) - 1)

    while len(fitting) > 1 and taken(_GAPS[1]) > width:
        fitting.remove(max(fitting, key=lambda column: column.rank))
    return fitting, _GAPS[0] if taken(_GAPS[0]) <= width else _GAPS[1]


def _write(pen: Pen, cell: _Cell, column: _SensorColumn, width: int, area: DrawArea) -> None:
    if column.is_word:
        pen.name(cell.text, width, cell.role, is_ascii=area.is_ascii)
    else:
        pen.put(" " * (width - cell.width)).put(cell.text, cell.role).put(cell.limit, Role.DIM)


def _measured(sensor: Sensor | None, digits: int) -> _Cell:
    """The value and its limit."""
    if sensor is None:
        return _Cell(UNKNOWN, role=Role.DIM)
    limit = "" if sensor.limit is None else f"/{sensor.limit:.6g}"
    return _Cell(f"{sensor.value:.{digits}f}", limit, _role_of(sensor))


def _role_of(sensor: Sensor) -> Role:
    """What is close to its limit stands out. Not as an alarm: chips run warm, and at almost the highest voltage."""
    if not sensor.limit:
        return Role.PLAIN
    return Role.NOTICE if sensor.value / sensor.limit >= _CLOSE else Role.PLAIN


def _heartbeat(chip: ChipTelemetry) -> _Cell:
    """One that stands still is marked: the firmware does not run."""
    still = chip.heartbeat_still_seconds
    return _count(chip.heartbeat) if still is None else _Cell(f"still {still} s", role=Role.NOTICE)


def _count(number: int | None) -> _Cell:
    return _Cell(UNKNOWN, role=Role.DIM) if number is None else _Cell(str(number))


def _word(text: str | None) -> _Cell:
    if not text:
        return _Cell(UNKNOWN, role=Role.DIM)
    return _Cell(clipped(shown_name(text, is_ascii=True), _WORD_MOST, is_ascii=True))


def _chip_words(frame: MonitorFrame) -> dict[int, str]:
    """What the chips of the driver are called by those who report."""
    found: dict[int, str] = {}
    for usage in frame.overview.devices if frame.overview else ():
        chip = chip_of(usage.device, frame.telemetry or ())
        if chip is not None:
            found[chip.node] = device_word(usage.device)
    return found


class _Opener(NamedTuple):
    pid: int
    nodes: list[int]
    command: str


def _openers(frame: MonitorFrame, area: DrawArea) -> list[Line]:
    """Who has chips open by the driver's lists, those who do not report first; at most a third of the screen."""
    notes = [f"{chip.dev_node}: {note}" for chip in frame.telemetry or () for note in chip.notes]
    found: dict[int, _Opener] = {}
    for chip in frame.telemetry or ():
        commands = dict(zip(chip.pids or (), chip.commands, strict=False))
        for pid in chip.pids or ():
            found.setdefault(pid, _Opener(pid, [], commands.get(pid, ""))).nodes.append(chip.node)
    reporting = {row.pid: row for row in frame.overview.processes if row.is_visible} if frame.overview else {}
    openers = sorted(found.values(), key=lambda one: (one.pid in reporting, one.pid))
    most = max(2, area.height // 3)
    lines: list[Line] = []
    if openers:
        lines.append((Span("     PID  OPENED       REPORTS  COMMAND", Role.HEAD),))
        for one in openers:
            row = reporting.get(one.pid)
            nodes = clipped(ranges_text(one.nodes), 11, is_ascii=True)
            said = Span("yes      ", Role.GOOD) if row else Span("no       ", Role.NOTICE)
            name = shown_name(one.command or (row.label if row else "") or UNKNOWN, area.is_ascii)
            lines.append((Span(f"{one.pid:>8}  {nodes:<11}  "), said, Span(name)))
    lines += [(Span(f" ! {shown_name(note, area.is_ascii)}", Role.HIGH),) for note in notes]
    if len(lines) > most:
        lines = [*lines[: most - 1], (Span(f" and {len(lines) - most + 1} more", Role.DIM),)]
    return [fitted(line, area.width) for line in lines]


def _nothing(frame: MonitorFrame) -> list[Line]:
    if frame.telemetry is None:
        return [(Span(" waiting for the driver", Role.DIM),)]
    if frame.is_recorded:
        return [
            (Span(" Sensors are not recorded.", Role.TITLE),),
            (),
            (Span(" A recording holds what happened to memory; temperature, power and clocks are known only now:"),),
            (Span(" ttmem top shows them of now, in this view."),),
        ]
    return [
        (Span(" The driver reports no chip here.", Role.TITLE),),
        (),
        (Span(" Searched for sensors and names in   /sys/class/tenstorrent/tenstorrent!N"),),
        (Span(" and for who has chips open in       /proc/driver/tenstorrent/N/pids"),),
        (Span(" (below $TTMEM_SYSFS_ROOT, if that is set)", Role.DIM),),
        (),
        (Span(" There is no card in this machine, or its driver (tt-kmd) is not loaded or old."),),
        (Span(" Figures of memory do not need it: they come from the programs that report."),),
    ]
