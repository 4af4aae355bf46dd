"""Charts: every size and every number of chips, no spike lost, and every figure where it belongs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.simulated.figures import MIB
from tests.support.simulated.histories import a_busy_history
from tests.support.simulated.overviews import an_overview
from ttmem.devices import Pool
from ttmem.monitor.parts.chart import scale_top
from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame
from ttmem.monitor.screens.charts import ChartsState, acted, draw, pointed, wanted
from ttmem.snapshot.history import History, Mark
from ttmem.snapshot.values import TimeNs, replace
from ttmem.view.table import Role, plain

SIZES = [DrawArea(80, 22), DrawArea(120, 38), DrawArea(200, 58)]
FRAMES = {(chips, seconds): None for chips in (1, 4, 32) for seconds in (60, 3600)}


def a_frame(chips: int = 4, seconds: int = 60) -> MonitorFrame:
    overview = an_overview(chips)
    return MonitorFrame(overview=overview, history=a_busy_history(overview, seconds))


KNOWN = {key: a_frame(*key) for key in FRAMES}


def text(drawing: Drawing) -> str:
    return plain(list(drawing.lines))


def widest(drawing: Drawing) -> int:
    return max((sum(span.width for span in line) for line in drawing.lines), default=0)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(KNOWN)),
    st.builds(DrawArea, st.integers(1, 210), st.integers(0, 60), st.booleans()),
    st.builds(
        ChartsState, st.sampled_from(["", "#0", "3"]), st.sampled_from(["", "l1", "trace"]), first=st.integers(0, 9)
    ),
)
def test_no_drawing_is_larger_than_asked(key: tuple[int, int], area: DrawArea, state: ChartsState) -> None:
    drawing = draw(KNOWN[key], area, state)

    assert widest(drawing) <= area.width
    assert len(drawing.lines) <= area.height
    assert text(drawing).isascii() or not area.is_ascii
    assert all(spot.row < area.height and spot.end <= area.width for spot in drawing.spots)


@pytest.mark.parametrize("area", SIZES, ids=str)
@pytest.mark.parametrize("chips", [1, 4, 32])
def test_every_chip_has_a_chart_at_every_size(area: DrawArea, chips: int) -> None:
    drawing = draw(KNOWN[chips, 60], area, ChartsState())

    assert drawing.hidden_count == 0
    assert {spot.number for spot in drawing.spots} == set(range(chips))


@pytest.mark.parametrize("area", SIZES, ids=str)
@pytest.mark.parametrize("chips", [1, 4, 8, 32])
@pytest.mark.parametrize("seconds", [60, 3600])
def test_nothing_is_cut_but_names(area: DrawArea, chips: int, seconds: int) -> None:
    lines = text(draw(a_frame(chips, seconds), area, ChartsState(seconds=seconds))).splitlines()

    assert [line for line in lines if "..." in line or "…" in line] == []


def test_a_chart_says_what_is_used_of_how_much_and_the_highest() -> None:
    shown = text(draw(a_frame(1), DrawArea(200, 58), ChartsState()))

    assert "0 n300 DRAM 910 MiB 7% of 12.0 GiB  highest 910 MiB" not in shown  # the latest is not the highest
    assert "highest" in shown
    for pool in ("DRAM", "L1", "L1_SMALL", "TRACE", "CB", "KERNEL"):
        assert f"n300 {pool} " in shown


def with_samples(frame: MonitorFrame, samples: tuple[int | None, ...], pool: Pool = Pool.DRAM) -> MonitorFrame:
    assert frame.history is not None
    series = tuple(
        replace(one, samples=samples) if (one.device, one.pool) == (0, pool) else one for one in frame.history.series
    )
    return frame._replace(history=replace(frame.history, series=series))


def test_a_figure_changed_by_a_little_is_shown_changed() -> None:
    frame = a_frame(1)
    one = text(draw(with_samples(frame, (5 << 30,) * 60), DrawArea(120, 38), ChartsState()))
    other = text(draw(with_samples(frame, ((5 << 30) + (11 << 20),) * 60), DrawArea(120, 38), ChartsState()))

    assert "DRAM 1.00 GiB 8% of 12.0 GiB  highest 5.00 GiB" in one
    assert "DRAM 1.00 GiB 8% of 12.0 GiB  highest 5.01 GiB" in other


def test_what_is_used_now_is_what_the_other_views_say() -> None:
    frame = a_frame(1)
    assert frame.overview is not None
    [usage] = frame.overview.devices
    pools = tuple(replace(pool, used_bytes=3 << 30) if pool.pool is Pool.DRAM else pool for pool in usage.pools)
    now = frame._replace(overview=replace(frame.overview, devices=(replace(usage, pools=pools),)))

    assert "DRAM 3.00 GiB 25% of 12.0 GiB  highest 5.00 GiB" in text(
        draw(with_samples(now, (5 << 30,) * 60), DrawArea(120, 38), ChartsState())
    )


@pytest.mark.parametrize("area", SIZES, ids=str)
@pytest.mark.parametrize("at", [0, 7, 151, 299])
def test_a_spike_of_one_sample_fills_a_column(area: DrawArea, at: int) -> None:
    samples = [1 << 30] * 300
    samples[at] = 12 << 30

    shown = draw(with_samples(a_frame(1, 300), tuple(samples)), area, ChartsState(pool="dram"))

    assert sum(span.text.count("█") for line in shown.lines[2:3] for span in line if span.role is Role.COURSE_DRAM) == 1


def test_panels_of_a_pool_share_one_scale() -> None:
    frame = with_samples(a_frame(4), (12 << 30,) * 60)

    shown = text(draw(frame, DrawArea(120, 38), ChartsState(pool="dram")))

    assert shown.count("12.0 GiB ┤") == 4


def test_without_samples_the_chart_is_blank() -> None:
    frame = with_samples(a_frame(1), (None,) * 30 + (12 << 30,) * 30)

    line = plain([draw(frame, DrawArea(90, 20), ChartsState(pool="dram")).lines[3]])

    assert line[10:48].strip() == ""
    assert set(line[52:88].strip()) == {"█"}


def test_what_was_refused_is_marked_on_the_pool_it_was_refused_in() -> None:
    lines = text(draw(a_frame(4), DrawArea(200, 58), ChartsState())).splitlines()
    titles = {line.split()[2]: line for line in lines if " n300 " in line and line.startswith("0 n300 DRAM")}

    assert "!" not in titles["DRAM"].split("0 n300 L1")[0]
    assert "!2" in titles["DRAM"].split("0 n300 L1")[1]


def test_phases_are_named_on_the_axis_of_time() -> None:
    shown = text(draw(a_frame(1), DrawArea(120, 38), ChartsState()))

    assert "|prefill" in shown
    assert "|décode" in shown


def test_phases_of_many_chips_are_on_small_screens_too() -> None:
    """Under the marks where there is no line of their own, and in words where there is room."""
    lines = text(draw(a_frame(4), DrawArea(80, 22), ChartsState())).splitlines()
    axes = [line for line in lines if line.strip().startswith("└")]

    assert len(axes) == 4
    assert any("|prefill" in line for line in axes)
    assert "| phase" in text(draw(a_frame(1), DrawArea(120, 38), ChartsState()))


def test_phases_of_a_process_are_on_its_own_chips_alone() -> None:
    frame = a_frame(4)
    assert frame.overview is not None
    assert frame.history is not None
    row = frame.overview.processes[0]
    there, elsewhere = row.chips[0], next(n for n in range(4) if n not in row.chips)
    marks = (Mark(TimeNs(frame.history.begin_ns + 10**9), "phase_began", "prefill", row.pid),)
    frame = frame._replace(history=replace(frame.history, marks=marks))
    shown = {n: text(draw(frame, DrawArea(120, 38), ChartsState(device=f"#{n}"))) for n in (there, elsewhere)}

    assert "|prefill" in shown[there]
    assert "|prefill" not in shown[elsewhere]


def test_without_chips_the_page_is_cut_nowhere() -> None:
    history = History(end_ns=TimeNs(60 * 10**9), interval_ns=TimeNs(10**9), series=(), marks=())

    assert "..." not in text(draw(MonitorFrame(history=history), DrawArea(80, 22), ChartsState()))


def test_a_phase_that_began_before_the_span_covers_its_beginning() -> None:
    frame = a_frame(1)
    assert frame.history is not None
    early = tuple(mark for mark in frame.history.marks if mark.what != "phase_began")
    shown = text(
        draw(frame._replace(history=replace(frame.history, marks=early)), DrawArea(120, 38), ChartsState(pool="dram"))
    )

    assert " " * 10 + "|prefill" in shown


def test_events_are_listed_in_words_newest_first() -> None:
    shown = text(draw(a_frame(4), DrawArea(200, 58), ChartsState())).split("| phase\n")[1]

    assert "! out of memory  L1 64.0 MiB wanted  chip 0  pid 4001  llama-70b" in shown
    assert shown.index("< ended  ") < shown.index("x clash  ") < shown.index("> began  ")


def test_figures_that_were_read_say_so() -> None:
    frame = a_frame(1)
    assert frame.history is not None
    read = tuple(replace(one, origin="read") for one in frame.history.series)

    assert " read" in text(
        draw(frame._replace(history=replace(frame.history, series=read)), DrawArea(120, 38), ChartsState())
    )


@pytest.mark.parametrize("history", [None, History(end_ns=TimeNs(9), interval_ns=TimeNs(1), series=(), marks=())])
def test_without_samples_it_says_why(history: History | None) -> None:
    shown = text(draw(MonitorFrame(overview=an_overview(0), history=history), DrawArea(80, 22), ChartsState()))

    assert shown.strip()
    assert "None" not in shown


def test_keys_zoom_between_a_minute_and_an_hour() -> None:
    frame, area = a_frame(1), SIZES[0]
    states = [ChartsState()]
    for action in ("zoom_in", "zoom_out", "zoom_out", "zoom_out", "zoom_in"):
        states.append(acted(action, states[-1], frame, area))

    assert [state.seconds for state in states] == [60, 60, 300, 3600, 3600, 300]
    assert states[1] is states[0]
    assert [wanted(frame, state).history_seconds for state in states[2:4]] == [300, 3600]


def test_keys_go_from_chip_to_chip_and_round() -> None:
    frame, area = a_frame(2), SIZES[0]
    right = [ChartsState()]
    for _ in range(3):
        right.append(acted("right", right[-1], frame, area))

    assert [state.device for state in right] == ["", "#0", "#1", ""]
    assert acted("left", ChartsState(), frame, area).device == "#1"
    assert acted("close", right[1], frame, area) == ChartsState()
    assert text(draw(frame, area, right[2])).count("\n1 ") >= 3


def test_the_next_pool_is_one_in_which_something_lies() -> None:
    frame, area = a_frame(1), SIZES[0]
    states = [ChartsState()]
    for _ in range(7):
        states.append(acted("next_pool", states[-1], frame, area))

    assert [state.pool for state in states] == ["", "dram", "trace", "l1", "l1_small", "cb", "kernel", ""]


def test_a_click_shows_one_chip_and_another_shows_all() -> None:
    alone = pointed(3, ChartsState())

    assert (alone.device, pointed(3, alone).device) == ("#3", "")


def test_what_does_not_fit_is_reached_by_scrolling() -> None:
    frame, area = KNOWN[32, 60], DrawArea(40, 12)
    opened = draw(frame, area, ChartsState())
    seen = {spot.number for spot in opened.spots}
    state = ChartsState()
    for _ in range(12):
        state = acted("down", state, frame, area)
        seen |= {spot.number for spot in draw(frame, area, state).spots}

    assert opened.hidden_count > 0
    assert seen == set(range(32))
    assert acted("home", state, frame, area).first == 0
    assert acted("end", ChartsState(), frame, area) == state


def test_an_unknown_action_changes_nothing() -> None:
    state = ChartsState()

    assert acted("tree", state, a_frame(1), SIZES[0]) is state


def test_a_pool_in_which_nothing_ever_lay_is_drawn_on_all_of_its_capacity() -> None:
    assert scale_top(0, 100 * MIB) == 100 * MIB
    assert scale_top(3 * MIB, 100 * MIB) < 10 * MIB
