"""The screen as a whole: two lines around a view, at every size; what is lost is grey; clicks find what they hit."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.machine.driver_chips import a_driver_chip
from tests.support.simulated.figure_queries import a_frame
from tests.support.simulated.figures import GIB, a_device, a_process, a_snapshot, an_incident
from tests.support.simulated.overviews import a_device_usage, an_overview, some_findings
from tests.unit.monitor.test_every_key import a_state, text_of
from ttmem.collector.rows.sums import overview_of
from ttmem.devices import Pool
from ttmem.monitor.header_footer import TITLES
from ttmem.monitor.parts.drawing import MonitorFrame
from ttmem.monitor.settings import VIEWS, Settings, load
from ttmem.monitor.state import MonitorState
from ttmem.snapshot.host import Finding
from ttmem.snapshot.values import replace
from ttmem.view.table import Role

FRAME = a_frame()
BANNER = "demo: simulated chips"


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 220),
    st.integers(1, 70),
    st.sampled_from(VIEWS),
    st.booleans(),
    st.sampled_from(["", "f1", "f2", "f6", "f9", "/", "A", "o", "u", "e", "enter"]),
)
def test_the_screen_is_exactly_as_large_as_the_terminal(
    width: int, height: int, view: str, is_ascii: bool, key: str
) -> None:
    state = MonitorState(Settings(view=view, ascii=is_ascii), {}, is_readonly=False, banner=BANNER)
    state.resize(width, height)
    state.take(FRAME)
    state.press(key)

    lines = state.picture()

    assert len(lines) == height
    assert max(sum(span.width for span in line) for line in lines) <= width
    if is_ascii:
        assert all(span.text.isascii() for line in lines for span in line)


@pytest.mark.parametrize("width", [30, 80, 120, 200])
def test_a_banner_is_always_on_screen(width: int) -> None:
    state = MonitorState(Settings(), {}, is_readonly=False, banner=BANNER)
    state.resize(width, 24)
    for frame in (MonitorFrame(), FRAME, FRAME._replace(trouble="gone " * 60)):
        state.take(frame)
        assert BANNER in text_of(state.picture())
    state.note = "something to say " * 20
    assert BANNER in text_of(state.picture())
    state.take(FRAME)
    for key in ("2", "/", *"user==ada"):
        state.press(key)
    assert "user==ada" in text_of(state.picture())
    assert BANNER in text_of(state.picture()) or width < 60


def test_before_the_first_figures_it_says_so(tmp_path: Path) -> None:
    state = MonitorState(Settings(), {}, is_readonly=False, banner="")

    assert "Waiting for figures ..." in text_of(state.picture())


def test_lost_figures_stay_to_be_read_in_grey(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    before = text_of(state.picture()[1:-1])
    state.take(state.frame._replace(trouble="the daemon is gone"))

    lines = state.picture()

    assert text_of(lines[1:-1]) == before
    assert {span.role for line in lines[1:-1] for span in line} == {Role.LOST}
    assert "lost" in text_of(lines[:1])
    assert "no new figures, trying again: the daemon is gone" in text_of(lines[-1:])


def test_figures_that_do_not_come_in_time_are_lost_unless_that_is_meant(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    state.press("Z")
    state.miss(4)
    assert "no answer" not in text_of(state.picture())

    state.press("Z")
    state.miss(4)
    assert "no answer for 4 s" in text_of(state.picture())
    state.take(a_frame())
    assert "no answer" not in text_of(state.picture())


def test_a_change_of_the_source_of_figures_is_noted(tmp_path: Path) -> None:
    state, frame = a_state(tmp_path), a_frame()
    assert frame.overview is not None

    state.take(frame._replace(overview=replace(frame.overview, source="embedded collector")))

    assert state.note == "figures come from: embedded collector (before: daemon pid 812)"


def test_a_click_on_a_tab_or_a_key_at_the_foot_is_as_good_as_the_key(tmp_path: Path) -> None:
    state = a_state(tmp_path, "overview")
    for number, title in enumerate(TITLES):
        column = text_of(state.picture()[:1]).index(title)
        state.click(column, 0)
        assert state.view == VIEWS[number]
    foot = text_of(state.picture()[-1:])
    state.click(foot.index("Help"), 29)
    assert "This list of keys." in text_of(state.picture())


def test_a_click_chooses_a_chip_and_a_second_one_opens_its_map(tmp_path: Path) -> None:
    state = a_state(tmp_path, "overview")
    state.picture()
    spot = next(spot for spot in state._drawing.spots if spot.number == 2)

    state.click(spot.begin, spot.row + 1)
    assert state.views.state("overview").chip == 2
    state.click(spot.begin, spot.row + 1, count=2)
    assert state.view == "l1_map"
    assert state.wanted().chip == "2"
    state.press("4")
    assert state.wanted().kernels == "2"


def test_a_click_beside_everything_does_nothing(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    before = state.picture()

    state.click(119, 20)
    state.click(500, 500)

    assert state.picture() == before


def test_alerts_and_the_footer_show_incidents(tmp_path: Path) -> None:
    state, frame = a_state(tmp_path), a_frame()
    assert frame.overview is not None
    refused = a_snapshot(
        devices=[a_device(0), a_device(1)],
        processes=[a_process(1, incidents=[an_incident()], incident_count=1)],
    )
    rows = overview_of(refused).processes
    state.take(frame._replace(overview=replace(frame.overview, processes=rows)))
    assert "✖ 1 incident" in text_of(state.picture()[-1:])
    assert "7 Incidents 1" in text_of(state.picture()[:1])

    state.press("A")

    assert "Out of memory in L1" in text_of(state.picture())
    state.press("v")
    assert "✖" not in text_of(state.picture())
    assert "7 Incidents 1" in text_of(state.picture()[:1])


def test_alerts_say_once_whose_findings_they_are(tmp_path: Path) -> None:
    state, frame = a_state(tmp_path), a_frame()
    assert frame.overview is not None
    rows = (replace(frame.overview.processes[0], findings=some_findings(1)), *frame.overview.processes[1:])
    findings = (Finding("double_free", 1, rows[0].pid),)
    state.take(frame._replace(overview=replace(frame.overview, processes=rows, findings=findings)))

    state.press("A")

    text = text_of(state.picture())
    assert "pid 4001 resnet50: free of something already freed" in text
    assert "lists them" not in text


def test_alerts_are_shown_to_the_end(tmp_path: Path) -> None:
    state, frame = a_state(tmp_path), a_frame()
    assert frame.overview is not None
    finding = Finding("damaged", 1, None, "/dev/shm/ttmem-0/1.journal", "word " * 60 + "end")
    state.take(frame._replace(overview=replace(frame.overview, findings=(finding,))))

    state.press("A")

    assert "word end" in text_of(state.picture())


def test_alerts_name_findings_and_what_may_not_be_read(tmp_path: Path) -> None:
    state, frame = a_state(tmp_path), a_frame()
    assert frame.overview is not None
    first, *others = frame.overview.processes
    rows = (replace(first, findings=some_findings(3), reason="damaged"), *others)
    state.take(frame._replace(overview=replace(frame.overview, processes=rows)))

    state.press("A")

    text = text_of(state.picture())
    assert "incomplete: damaged" in text
    assert "pid 4001 resnet50: 3 findings" in text


def test_settings_that_did_not_change_are_not_written(tmp_path: Path) -> None:
    state = a_state(tmp_path, "overview")

    for key in ("f2", "down", "up", "escape"):
        state.press(key)

    assert not list(tmp_path.rglob("monitor.json"))


def test_settings_change_at_once_and_are_saved_when_the_panel_is_left(tmp_path: Path) -> None:
    state = a_state(tmp_path, "overview")

    for key in ("f2", "down", "down", "right", "down", "space", "down", "right", "down", "enter", "escape"):
        state.press(key)

    assert (state.settings.theme, state.settings.ascii, state.settings.interval) == ("light", True, 2.0)
    assert state.views.state("processes").is_tree
    assert state.note.startswith("saved in ")
    assert '"theme": "light"' in (tmp_path / "ttmem" / "monitor.json").read_text()


def test_settings_that_cannot_be_saved_are_reported(tmp_path: Path) -> None:
    (tmp_path / "ttmem").write_text("in the way")
    state = a_state(tmp_path)

    state.press("f12")

    assert state.note.startswith("the settings could not be saved: ")


def test_read_only_does_not_reset_peaks(tmp_path: Path) -> None:
    state = a_state(tmp_path, is_readonly=True)

    state.press("x")

    assert state.requests == []
    assert state.note == "--readonly: peaks stay as they are"


def test_processes_open_as_the_settings_say() -> None:
    state = MonitorState(Settings(view="processes", sort="pid", tree=True), {}, is_readonly=False, banner="")

    assert state.views.state("processes").sort == "pid"
    assert state.views.state("processes").is_tree


def test_the_mouse_answers_no_question_and_types_no_key(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    for key in ("f9", "/"):
        state.press(key)
        before = state.picture()
        state.wheel(1)
        state.click(23, 0)
        assert state.picture() == before
        state.press("escape")


def test_a_click_on_a_tab_leaves_a_page(tmp_path: Path) -> None:
    state = a_state(tmp_path, "overview")
    state.press("f1")

    state.wheel(1)
    assert "Keys  4-" in text_of(state.picture())
    state.click(23, 0)

    assert state.view == "processes"
    assert "This list of keys." not in text_of(state.picture())


def test_a_limit_is_set_in_the_settings_and_marks_what_is_beyond_at_once(tmp_path: Path) -> None:
    state = MonitorState(Settings(), {"XDG_CONFIG_HOME": str(tmp_path)}, is_readonly=False, banner="")
    state.resize(120, 40)
    usage = a_device_usage(0)
    dram = replace(usage.pools[0], pool=Pool.DRAM, used_bytes=6 * GIB + GIB // 2, capacity_bytes=12 * GIB)  # 54 %
    state.take(MonitorFrame(overview=an_overview(0, 0, devices=(replace(usage, pools=(dram,)),))))
    before = text_of(state.picture())
    for key in ("f2", "up", "right"):
        state.press(key)
    chosen = text_of(state.picture())
    state.press("escape")

    assert "54%" in before
    assert "▲54%" not in before
    assert re.search(r"Mark memory from % \(0: never\) +< +50 +>", chosen)
    assert "▲54%" in text_of(state.picture())
    assert "▲ chip 0 over your 50% limit" in text_of(state.picture())
    assert load({"XDG_CONFIG_HOME": str(tmp_path)})[0].limit == 50


def test_fullness_alone_has_no_alarm_colour(tmp_path: Path) -> None:
    state = MonitorState(Settings(), {}, is_readonly=False, banner="")
    state.resize(120, 40)
    usage = a_device_usage(0)
    dram = replace(usage.pools[0], pool=Pool.DRAM, used_bytes=12 * GIB, capacity_bytes=12 * GIB)
    usage = replace(usage, pools=(dram,), core_bytes=100, fullest_core_bytes=100, planned_core_bytes=100)
    state.take(MonitorFrame(overview=an_overview(0, 0, devices=(usage,))))

    roles = {span.role for line in state.picture()[:-3] for span in line}  # without the legend

    assert not roles & {Role.FULL, Role.HIGH, Role.BADGE, Role.BAR_FULL, Role.BAR_HIGH, Role.MARK_LIMIT}


def test_rows_that_do_not_fit_are_counted_at_the_foot(tmp_path: Path) -> None:
    state = MonitorState(Settings(view="telemetry"), {}, is_readonly=False, banner="")
    state.take(
        MonitorFrame(overview=an_overview(1, 0), telemetry=tuple(a_driver_chip(node, pids=()) for node in range(32)))
    )
    state.resize(80, 24)
    assert text_of(state.picture()[-1:]).startswith(" 11 more")

    state.click(2, 23)
    assert text_of(state.picture()[2:3]).split()[0] == "1"  # one further down
    state.press("f1")
    assert " more" not in text_of(state.picture()[-1:])
    state.press("escape")
    state.resize(80, 40)
    assert " more" not in text_of(state.picture()[-1:])


def test_d_on_the_empty_screen_asks_for_the_demo_and_elsewhere_changes_colours(tmp_path: Path) -> None:
    state = a_state(tmp_path, "overview")
    state.press("d")
    with_programs = (state.settings.theme, state.is_over)
    state.take(MonitorFrame(overview=an_overview(0, 0)))
    shown = text_of(state.picture())
    state.press("d")

    assert with_programs == ("light", False)
    assert "d Start the demo" in shown
    assert (state.settings.theme, state.is_over, state.has_asked_for_demo) == ("light", True, True)
