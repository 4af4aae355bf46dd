"""The telemetry screen: all that is measured at every size, unknown told apart from 0, and who does not report."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.simulated.courses import a_telemetry, some_chips
from tests.support.simulated.sights import a_row, an_overview
from ttmem.monitor.screens.frame import Drawing, Frame, Look
from ttmem.monitor.screens.telemetry import State, acted, draw, pointed, wanted
from ttmem.snapshot.telemetry import Sensor
from ttmem.snapshot.values import replace
from ttmem.view.spans import Role, plain

SIZES = [Look(80, 22), Look(120, 38), Look(200, 58)]
CHIPS = {count: some_chips(count) for count in (0, 1, 4, 32)}
OVERVIEW = an_overview(32, 1)


def text(drawing: Drawing) -> str:
    return plain(list(drawing.lines))


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(CHIPS)),
    st.builds(Look, st.integers(1, 210), st.integers(0, 60), st.booleans()),
    st.integers(0, 99),
)
def test_no_drawing_is_larger_than_asked(count: int, look: Look, first: int) -> None:
    drawing = draw(Frame(overview=OVERVIEW, telemetry=CHIPS[count]), look, State(first))

    assert max((sum(span.width for span in line) for line in drawing.lines), default=0) <= look.width
    assert len(drawing.lines) <= look.height
    assert text(drawing).isascii() or not look.is_ascii


@pytest.mark.parametrize("look", SIZES, ids=str)
def test_everything_measured_is_shown_at_every_size(look: Look) -> None:
    shown = text(draw(Frame(overview=OVERVIEW, telemetry=CHIPS[4]), look, State()))

    for figure in ("42/75", "32.0/150", "41/240", "0.72/0.9", "1350", "1870", "1002", "p150a"):
        assert figure in shown.replace("42.0/75", "42/75")


def test_a_wide_screen_names_the_card_in_full() -> None:
    shown = text(draw(Frame(overview=OVERVIEW, telemetry=CHIPS[4]), Look(200, 58), State()))

    for word in ("0000:03:00.0", "19.6.0.0", "0100040331914102"):
        assert word in shown


def test_what_the_driver_does_not_tell_is_not_zero() -> None:
    chip = a_telemetry(fan=None, heartbeat=None, temperature=None, pids=None, commands=())

    shown = text(draw(Frame(telemetry=(chip,)), Look(200, 58), State()))

    assert shown.count("[N/A]") == 5  # and the chip, of which nobody reports


def test_a_limit_that_is_not_known_is_left_out() -> None:
    shown = text(draw(Frame(telemetry=(a_telemetry(power=Sensor(30.0)),)), Look(80, 22), State()))

    assert " 30.0 " in shown


@pytest.mark.parametrize(("value", "role"), [(60.0, Role.GOOD), (74.0, Role.HIGH), (75.0, Role.FULL)])
def test_a_chip_at_its_limit_is_shown_so(value: float, role: Role) -> None:
    drawing = draw(Frame(telemetry=(a_telemetry(temperature=Sensor(value, 75.0)),)), Look(80, 22), State())

    assert [span.role for line in drawing.lines for span in line if span.text == f"{value}"] == [role]


def test_chips_are_called_as_those_call_them_who_report() -> None:
    lines = text(draw(Frame(overview=an_overview(2), telemetry=CHIPS[4]), Look(120, 38), State())).splitlines()

    assert [line.split()[1] for line in lines[1:5]] == ["0", "1", "[N/A]", "[N/A]"]


def test_who_has_a_chip_open_and_does_not_report_comes_first() -> None:
    overview = replace(an_overview(1), processes=(a_row(1, pid=4001),))

    shown = text(draw(Frame(overview=overview, telemetry=CHIPS[1]), Look(120, 38), State()))

    silent, reporting = shown.splitlines()[-2:]
    assert silent.split() == ["5000", "0", "no", "tt-smi"]
    assert reporting.split()[:3] == ["4001", "0", "yes"]


def test_what_makes_no_sense_is_told() -> None:
    shown = text(draw(Frame(telemetry=(a_telemetry(notes=("tt_aiclk: 'x' is no figure",)),)), SIZES[0], State()))

    assert "/dev/tenstorrent/0: tt_aiclk: 'x' is no figure" in shown


def test_without_a_chip_it_says_what_is_missing_and_where_it_looked() -> None:
    shown = text(draw(Frame(telemetry=()), Look(80, 22), State()))

    assert "/sys/class/tenstorrent" in shown
    assert "/proc/driver/tenstorrent" in shown
    assert "..." not in shown


def test_before_the_first_look_it_waits() -> None:
    assert "waiting" in text(draw(Frame(), Look(80, 22), State()))


def test_what_does_not_fit_is_reached_by_scrolling() -> None:
    frame, look = Frame(overview=OVERVIEW, telemetry=CHIPS[32]), SIZES[0]
    opened = draw(frame, look, State())
    state = acted("page_down", State(), frame, look)
    end = acted("end", state, frame, look)

    assert opened.hidden_count > 0
    assert draw(frame, look, state).hits[1] == len(opened.hits)
    assert max(draw(frame, look, end).hits.values()) == 31
    assert acted("home", end, frame, look) == State()
    assert acted("up", State(), frame, look) == State()


def test_only_telemetry_and_the_overview_are_asked_for() -> None:
    asked = wanted(Frame(), State())

    assert (asked.has_telemetry, asked.has_overview, asked.history_seconds, asked.chip) == (True, True, None, None)


def test_a_click_and_an_unknown_action_change_nothing() -> None:
    state = State()

    assert pointed(1, state) is state
    assert acted("tree", state, Frame(telemetry=CHIPS[32]), SIZES[0]) is state
