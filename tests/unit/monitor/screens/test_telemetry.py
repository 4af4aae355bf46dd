"""The telemetry screen: all that is measured at every size, unknown is not 0, and who does not report."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.simulated.histories import a_telemetry, some_chips
from tests.support.simulated.overviews import a_row, an_overview
from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame
from ttmem.monitor.screens.telemetry import TelemetryState, acted, draw, pointed, wanted
from ttmem.snapshot.telemetry import Sensor
from ttmem.snapshot.values import replace
from ttmem.view.table import Role, plain

SIZES = [DrawArea(80, 22), DrawArea(120, 38), DrawArea(200, 58)]
CHIPS = {count: some_chips(count) for count in (0, 1, 4, 32)}
OVERVIEW = an_overview(32, 1)


def text(drawing: Drawing) -> str:
    return plain(list(drawing.lines))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(CHIPS)),
    st.builds(DrawArea, st.integers(1, 210), st.integers(0, 60), st.booleans()),
    st.integers(0, 99),
)
def test_no_drawing_is_larger_than_asked(count: int, area: DrawArea, first: int) -> None:
    drawing = draw(MonitorFrame(overview=OVERVIEW, telemetry=CHIPS[count]), area, TelemetryState(first))

    assert max((sum(span.width for span in line) for line in drawing.lines), default=0) <= area.width
    assert len(drawing.lines) <= area.height
    assert text(drawing).isascii() or not area.is_ascii


@pytest.mark.parametrize("area", SIZES, ids=str)
def test_everything_measured_is_shown_at_every_size(area: DrawArea) -> None:
    shown = text(draw(MonitorFrame(overview=OVERVIEW, telemetry=CHIPS[4]), area, TelemetryState()))

    for figure in ("42/75", "32.0/150", "41/240", "0.72/0.9", "1350", "1870", "1002", "p150a"):
        assert figure in shown.replace("42.0/75", "42/75")


def test_a_wide_screen_names_the_card_in_full() -> None:
    shown = text(draw(MonitorFrame(overview=OVERVIEW, telemetry=CHIPS[4]), DrawArea(200, 58), TelemetryState()))

    for word in ("0000:03:00.0", "19.6.0.0", "0100040331914102"):
        assert word in shown


def test_what_the_driver_does_not_report_is_not_zero() -> None:
    chip = a_telemetry(fan=None, heartbeat=None, temperature=None, pids=None, commands=())

    shown = text(draw(MonitorFrame(telemetry=(chip,)), DrawArea(200, 58), TelemetryState()))

    assert shown.count("[N/A]") == 5  # and the chip, of which no process reports


def test_a_limit_that_is_not_known_is_left_out() -> None:
    shown = text(draw(MonitorFrame(telemetry=(a_telemetry(power=Sensor(30.0)),)), DrawArea(80, 22), TelemetryState()))

    assert " 30.0 " in shown


@pytest.mark.parametrize(("value", "role"), [(60.0, Role.PLAIN), (74.0, Role.NOTICE), (75.0, Role.NOTICE)])
def test_a_chip_at_its_limit_is_shown_so(value: float, role: Role) -> None:
    drawing = draw(
        MonitorFrame(telemetry=(a_telemetry(temperature=Sensor(value, 75.0)),)), DrawArea(80, 22), TelemetryState()
    )

    assert [span.role for line in drawing.lines for span in line if span.text == f"{value}"] == [role]


def test_chips_are_called_as_those_call_them_who_report() -> None:
    lines = text(
        draw(MonitorFrame(overview=an_overview(2), telemetry=CHIPS[4]), DrawArea(120, 38), TelemetryState())
    ).splitlines()

    assert [line.split()[1] for line in lines[1:5]] == ["0", "1", "[N/A]", "[N/A]"]


def test_who_has_a_chip_open_and_does_not_report_comes_first() -> None:
    overview = replace(an_overview(1), processes=(a_row(1, pid=4001),))

    shown = text(draw(MonitorFrame(overview=overview, telemetry=CHIPS[1]), DrawArea(120, 38), TelemetryState()))

    silent, reporting = shown.splitlines()[-2:]
    assert silent.split() == ["5000", "0", "no", "tt-smi"]
    assert reporting.split()[:3] == ["4001", "0", "yes"]


def test_what_makes_no_sense_is_reported() -> None:
    shown = text(
        draw(MonitorFrame(telemetry=(a_telemetry(notes=("tt_aiclk: 'x' is no figure",)),)), SIZES[0], TelemetryState())
    )

    assert "/dev/tenstorrent/0: tt_aiclk: 'x' is no figure" in shown


def test_without_a_chip_it_says_what_is_missing_and_where_it_was_searched() -> None:
    shown = text(draw(MonitorFrame(telemetry=()), DrawArea(80, 22), TelemetryState()))

    assert "/sys/class/tenstorrent" in shown
    assert "/proc/driver/tenstorrent" in shown
    assert "..." not in shown


def test_before_the_first_query_it_waits() -> None:
    assert "waiting" in text(draw(MonitorFrame(), DrawArea(80, 22), TelemetryState()))


def test_what_does_not_fit_is_reached_by_scrolling() -> None:
    frame, area = MonitorFrame(overview=OVERVIEW, telemetry=CHIPS[32]), SIZES[0]
    opened = draw(frame, area, TelemetryState())
    state = acted("page_down", TelemetryState(), frame, area)
    end = acted("end", state, frame, area)

    assert opened.hidden_count > 0
    assert draw(frame, area, state).hits[1] == len(opened.hits)
    assert max(draw(frame, area, end).hits.values()) == 31
    assert acted("home", end, frame, area) == TelemetryState()
    assert acted("up", TelemetryState(), frame, area) == TelemetryState()


def test_only_telemetry_and_the_overview_are_asked_for() -> None:
    asked = wanted(MonitorFrame(), TelemetryState())

    assert (asked.has_telemetry, asked.has_overview, asked.history_seconds, asked.chip) == (True, True, None, None)


def test_a_click_and_an_unknown_action_change_nothing() -> None:
    state = TelemetryState()

    assert pointed(1, state) is state
    assert acted("tree", state, MonitorFrame(telemetry=CHIPS[32]), SIZES[0]) is state
