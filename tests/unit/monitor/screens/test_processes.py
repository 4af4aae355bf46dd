"""The list of processes: sorted, filtered, as a tree, marked; the cursor stays on the same process when rows move."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.machine.driver_chips import a_driver_chip
from tests.support.simulated.figures import GIB, MIB
from tests.support.simulated.overviews import a_detail, a_history, a_pool, a_row, ago, an_overview, some_findings
from tests.support.simulated.random_overviews import overviews
from ttmem.devices import Pool
from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame
from ttmem.monitor.parts.process_entries import entries_of, stamp_of
from ttmem.monitor.parts.process_list import COLUMNS, ListedEntry, table_for
from ttmem.monitor.screens import processes as screen
from ttmem.snapshot.history import ProcessRates
from ttmem.snapshot.host import Foreign
from ttmem.snapshot.incidents import Incident
from ttmem.snapshot.usage import ProcessUsage, Snapshot
from ttmem.snapshot.values import replace
from ttmem.view.table import Line, Role
from ttmem.view.texts import size_text

AREA = DrawArea(120, 30)
FULL = DrawArea(300, 30, layout="full")
AREAS = st.builds(DrawArea, st.integers(80, 220), st.integers(20, 60), st.booleans())
STATES = st.builds(
    screen.ProcessesState,
    top=st.integers(0, 50),
    sort=st.sampled_from(screen.SORTS),
    is_inverted=st.booleans(),
    is_tree=st.booleans(),
    query=st.sampled_from(["", "dram>1GiB", "((", "ada"]),
    search=st.sampled_from(["", "ada"]),
)


def text_of(line: Line) -> str:
    return "".join(span.text for span in line)


def a_frame(*rows: ProcessUsage) -> MonitorFrame:
    return MonitorFrame(overview=replace(an_overview(4, 0), processes=rows))


def rows_of(drawing: Drawing) -> list[str]:
    return [text_of(drawing.lines[row]) for row in drawing.hits]


def pids_of(frame: MonitorFrame, state: screen.ProcessesState, area: DrawArea = AREA) -> list[int]:
    return [int(found[0]) for row in rows_of(screen.draw(frame, area, state)) if (found := re.search(r"\d+", row))]


def pressed(
    frame: MonitorFrame, *actions: str, state: screen.ProcessesState | None = None, area: DrawArea = AREA
) -> screen.ProcessesState:
    state = state or screen.ProcessesState()
    for action in actions:
        state = screen.acted(action, state, frame, area)
    return state


@settings(max_examples=20)
@given(overviews(), AREAS, STATES)
def test_whatever_there_is_to_list_fits_the_screen(
    overview: Snapshot, area: DrawArea, state: screen.ProcessesState
) -> None:
    drawing = screen.draw(MonitorFrame(overview=overview), area, state)

    assert len(drawing.lines) <= area.height
    assert max(sum(span.width for span in line) for line in drawing.lines) <= area.width
    if area.is_ascii:
        assert all(text_of(line).isascii() for line in drawing.lines)


def a_busy_frame(row: ProcessUsage, **changes: Any) -> MonitorFrame:
    """With what the history says of it: it launches, and takes of the host."""
    known: dict[str, Any] = {
        "key": row.key,
        "pid": row.pid,
        "launches_per_second": 8_640,
        "launched_time_ns": ago(0),
        "host_cpu_share": 1.12,
        "host_memory_bytes": 3 * GIB,
        "growth_bytes": 5 * MIB,
    }
    frame = a_frame(row)
    assert frame.overview is not None
    history = replace(a_history(frame.overview), processes=(ProcessRates(**(known | changes)),))
    return frame._replace(history=history)


def test_in_80_columns_stands_what_matters_most_with_its_figures() -> None:
    row = a_row(1, pid=4_194_304, user="ada", label="llama-70b", chips=(0, 1, 2, 3))
    drawing = screen.draw(a_busy_frame(row), DrawArea(80, 24), screen.ProcessesState())

    titles = "PID USER PROGRAM CHIPS DRAM▼ L1 CORE LAUNCH/s CPU HOST MEM"
    assert " ".join(text_of(drawing.lines[1]).split()) == titles
    dram = size_text(row.used_bytes(Pool.DRAM))
    assert " ".join(rows_of(drawing)[0].split()) == f"4194304 ada llama-70b 0-3 {dram} shared 8,640 112% 3.00 GiB"


def test_every_column_is_there_for_experts_with_its_figure() -> None:
    row = a_row(1, pid=4_194_304, user="ada", label="llama-70b", chips=(0, 1, 2, 3), cb_planned_bytes=3 * MIB)
    area = DrawArea(300, 24, layout="full")
    drawing = screen.draw(a_busy_frame(row), area, screen.ProcessesState())

    titles = text_of(drawing.lines[1])
    assert [column.title for column in COLUMNS if column.title not in titles] == []
    sizes = {pool.pool: pool.used_bytes for pool in row.pools}
    total = sizes[Pool.DRAM] + sizes[Pool.L1]
    peak = sum(pool.peak_bytes for pool in row.pools if pool.pool in (Pool.DRAM, Pool.L1))
    figures = (sizes[Pool.DRAM], peak, sizes[Pool.L1], 3 * MIB, sizes[Pool.KERNEL], total)
    shown = rows_of(drawing)[0]
    assert [size_text(size) for size in figures if size_text(size) not in shown] == []
    for text in ("8,640", "112%", "3.00 GiB", "+5.00 MiB", "2 min", "running", row.command):
        assert text in shown


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({}, "running"),
        ({"launches_per_second": 0, "launched_time_ns": ago(14)}, "idle 14 s"),
        ({"launches_per_second": 0, "launched_time_ns": None}, "idle"),
        ({"launches_per_second": None}, "live"),
    ],
)
def test_a_process_runs_or_is_idle_since_its_last_launch(changes: dict[str, Any], word: str) -> None:
    drawing = screen.draw(a_busy_frame(a_row(1), **changes), AREA, screen.ProcessesState())

    assert rows_of(drawing)[0].rstrip().endswith(word)


def test_the_core_of_a_process_is_known_where_it_shares_no_chip() -> None:
    alone, sharing, other = a_row(1, chips=(0,)), a_row(2, chips=(1, 2)), a_row(3, chips=(2, 3))
    overview = replace(an_overview(4, 0), processes=(alone, sharing, other))
    cores = [replace(usage, fullest_core_bytes=100 + usage.device.number) for usage in overview.devices]
    entries = entries_of(MonitorFrame(overview=replace(overview, devices=tuple(cores))))

    assert [entry.core_bytes for entry in entries] == [100, None, None]


def test_the_last_row_has_the_sums_of_those_that_live() -> None:
    rows = (a_row(1), a_row(2), a_row(3, state="ended"))
    drawing = screen.draw(a_frame(*rows), AREA, screen.ProcessesState())

    total = size_text(sum(row.used_bytes(Pool.DRAM) or 0 for row in rows[:2]))
    assert f"2 processes {total}" in " ".join(" ".join(text_of(line).split()) for line in drawing.lines[5:6])


def test_a_total_is_what_is_held_and_no_inventory() -> None:
    held = {Pool.DRAM: 3, Pool.TRACE: 5, Pool.L1: 7, Pool.L1_SMALL: 11, Pool.CB: 13, Pool.KERNEL: 17, Pool.ETH: 19}
    [entry] = entries_of(a_frame(a_row(1, pools=tuple(a_pool(pool, size) for pool, size in held.items()))))

    assert entry.total_bytes == 3 + 5 + 7 + 11
    assert entry.kernel_bytes == 17 + 19


def test_figures_that_are_not_known_do_not_touch_each_other() -> None:
    frame = a_frame(a_row(1))._replace(telemetry=(a_driver_chip(0, pids=(77,), commands=("mystery",)),))

    assert re.search(r"\[N/A\] +\[N/A\]", "\n".join(rows_of(screen.draw(frame, FULL, screen.ProcessesState()))))


def test_a_long_name_of_a_user_takes_no_column_away() -> None:
    drawing = screen.draw(a_frame(a_row(1, user="a" * 60)), DrawArea(80, 24), screen.ProcessesState())

    titles = text_of(drawing.lines[1]).split()
    assert titles[:5] == ["PID", "USER", "PROGRAM", "CHIPS", "DRAM▼"]


def test_circular_buffers_are_what_cores_give_up_never_their_sum_over_programs() -> None:
    row = a_row(1, cb_planned_bytes=None)

    [unknown] = rows_of(screen.draw(a_frame(row), FULL, screen.ProcessesState()))
    [known] = rows_of(screen.draw(a_frame(replace(row, cb_planned_bytes=MIB)), FULL, screen.ProcessesState()))

    assert "[N/A]" in unknown
    assert "[N/A]" not in known
    assert "1.00 MiB" in known


@pytest.mark.parametrize("pool", [Pool.DRAM, Pool.L1, Pool.KERNEL])
def test_a_column_of_figures_sorts_the_largest_first_and_inverted_the_smallest(pool: Pool) -> None:
    frame = MonitorFrame(overview=an_overview(4, 20))
    held = {row.pid: row.used_bytes(pool) or 0 for row in an_overview(4, 20).processes}
    state = pressed(frame, f"sort:{pool.word}")

    falling = [held[pid] for pid in pids_of(frame, state)]
    rising = [held[pid] for pid in pids_of(frame, pressed(frame, "sort_invert", state=state))]

    assert falling == sorted(held.values(), reverse=True)
    assert rising == sorted(held.values())


def test_by_age_the_oldest_stand_first() -> None:
    frame = MonitorFrame(overview=an_overview(4, 5))

    assert pids_of(frame, pressed(frame, "sort:time")) == [4005, 4004, 4003, 4002, 4001]


def test_sorting_by_a_name_is_by_the_alphabet() -> None:
    frame = a_frame(a_row(1, label="beta"), a_row(2, label="Alpha"), a_row(3, label="gamma"))

    assert pids_of(frame, pressed(frame, "sort:name")) == [4002, 4001, 4003]


def test_unknown_is_less_than_nothing_and_the_dead_stand_last() -> None:
    nothing = a_row(2, pools=(a_pool(Pool.DRAM, 0),))
    unknown = a_row(1, pools=(), origin="unknown")
    dead = a_row(3, pools=(a_pool(Pool.DRAM, 99 * GIB),), state="ended")
    some = a_row(4, pools=(a_pool(Pool.DRAM, GIB),))

    assert pids_of(a_frame(unknown, dead, nothing, some), screen.ProcessesState()) == [4004, 4002, 4001, 4003]


def test_the_columns_to_the_left_and_right_are_a_key_away() -> None:
    frame = MonitorFrame(overview=an_overview(4, 3))

    assert pressed(frame, "sort_next").sort == "peak"
    assert pressed(frame, "sort_previous").sort == "chips"
    assert pressed(frame, "sort:memory", "sort:nonsense") == screen.ProcessesState()


def test_the_cursor_stays_on_its_process_when_rows_move() -> None:
    first, second, third = (a_row(key, pools=(a_pool(Pool.DRAM, key * GIB),)) for key in (1, 2, 3))
    state = pressed(a_frame(first, second, third), "down")
    assert screen.selected(state, a_frame(first, second, third)) == second

    grown = replace(second, key=77, pools=(a_pool(Pool.DRAM, 9 * GIB),))

    drawing = screen.draw(a_frame(grown, third, first), AREA, state)
    assert screen.selected(state, a_frame(grown, third, first)) == grown
    selected = [row for row in drawing.hits if drawing.lines[row][0].role is Role.SELECTED]
    assert [drawing.hits[row] for row in selected] == [stamp_of(second)]


def test_the_list_scrolls_with_the_cursor_and_back() -> None:
    frame, area = MonitorFrame(overview=an_overview(4, 200)), DrawArea(80, 24)
    everything = pids_of(frame, screen.ProcessesState(), DrawArea(80, 203))
    state = pressed(frame, "end", area=area)
    assert pids_of(frame, state, area)[-1] == everything[-1]

    state = pressed(frame, "up", "page_up", state=state, area=area)
    assert screen.selected(state, frame).pid == everything[200 - 2 - 21]  # type: ignore[union-attr]
    assert pids_of(frame, pressed(frame, "home", state=state, area=area), area) == everything[:21]
    assert screen.draw(frame, area, state).hidden_count == 200 - 21


def test_moving_up_within_the_page_does_not_scroll() -> None:
    frame, area = MonitorFrame(overview=an_overview(4, 100)), DrawArea(80, 24)
    state = pressed(frame, *["down"] * 30, area=area)

    assert pids_of(frame, pressed(frame, "up", state=state, area=area), area) == pids_of(frame, state, area)


def test_tags_mark_processes_and_are_what_signals_go_to() -> None:
    frame = MonitorFrame(overview=an_overview(4, 4))
    order = pids_of(frame, screen.ProcessesState())
    state = pressed(frame, "tag", "down", "tag")

    assert [row.pid for row in screen.tagged(state, frame)] == sorted([order[0], order[2]])
    assert rows_of(screen.draw(frame, AREA, state))[0].lstrip().startswith("*")
    assert pressed(frame, "up", "tag", state=state).tags < state.tags
    untagged = pressed(frame, "tag_none", state=state)
    assert not untagged.tags
    assert [row.pid for row in screen.tagged(untagged, frame)] == [order[3]]


def test_children_hang_below_their_parents() -> None:
    rows = [
        a_row(1, pid=10, parent_pid=1, label="shell", pools=(a_pool(Pool.DRAM, 0),)),
        a_row(2, pid=11, parent_pid=10, label="first", pools=(a_pool(Pool.DRAM, GIB),)),
        a_row(3, pid=12, parent_pid=10, label="second", pools=(a_pool(Pool.DRAM, 2 * GIB),)),
        a_row(4, pid=13, parent_pid=12, label="third", pools=(a_pool(Pool.DRAM, 0),)),
        a_row(5, pid=14, parent_pid=9, label="other", pools=(a_pool(Pool.DRAM, 9 * GIB),)),
    ]
    frame = a_frame(*rows)
    state = pressed(frame, "tree")

    lines = rows_of(screen.draw(frame, AREA, state))

    assert [int(line.split()[0]) for line in lines] == [14, 10, 12, 13, 11]
    labels = [re.search(r"(\W*)(other|shell|second|third|first)", line[12:]) for line in lines]
    assert [found[1].strip(" ") for found in labels if found] == ["", "", "├", "│ └", "└"]
    assert pids_of(frame, pressed(frame, "tree", state=state)) == [14, 12, 11, 10, 13]


def test_parents_that_are_each_others_children_are_listed_once() -> None:
    frame = a_frame(a_row(1, pid=10, parent_pid=11), a_row(2, pid=11, parent_pid=10), a_row(3, pid=12, parent_pid=12))

    assert sorted(pids_of(frame, pressed(frame, "tree"))) == [10, 11, 12]


def test_a_filter_leaves_those_that_match_and_says_how_many() -> None:
    frame = MonitorFrame(overview=an_overview(4, 9))
    state = pressed(frame, "filter: user==ada & dram>4GiB ")

    rows = [row for row in frame.overview.processes if row.user == "ada" and row.pools[0].used_bytes > 4 * GIB]  # type: ignore[union-attr]
    assert sorted(pids_of(frame, state)) == [row.pid for row in rows]
    held = size_text(sum(row.used_bytes(Pool.DRAM) or 0 for row in rows))
    heading = text_of(screen.draw(frame, AREA, state).lines[0])
    assert heading.startswith(f" {len(rows)} of 9 processes  DRAM {held}  L1 ")
    assert heading.endswith("filter user==ada & dram>4GiB")


def test_a_bad_filter_hides_nothing_and_says_what_is_wrong() -> None:
    frame = MonitorFrame(overview=an_overview(4, 9))
    drawing = screen.draw(frame, AREA, pressed(frame, "filter:dramm>4GiB"))

    assert len(drawing.hits) == 9
    assert "no field dramm" in text_of(drawing.lines[-1])


def test_one_users_processes_can_be_had_alone() -> None:
    frame = MonitorFrame(overview=an_overview(4, 9))

    assert screen.users_of(frame) == ("ada", "grace", "linus")
    assert {row.split()[1] for row in rows_of(screen.draw(frame, AREA, pressed(frame, "user:grace")))} == {"grace"}


def test_search_goes_from_match_to_match_and_around() -> None:
    frame = a_frame(*(a_row(key, label="gold" if key in (3, 7) else "tin") for key in range(1, 10)))
    state = pressed(frame, "sort:pid", "search:GOLD")

    assert screen.selected(state, frame).pid == 4003  # type: ignore[union-attr]
    state = pressed(frame, "search:GOLD", state=state)
    assert screen.selected(state, frame).pid == 4007  # type: ignore[union-attr]
    state = pressed(frame, "search:GOLD", state=state)
    assert screen.selected(state, frame).pid == 4003  # type: ignore[union-attr]
    assert pressed(frame, "search:silver", state=state).cursor == state.cursor


def test_escape_clears_tags_then_the_search_then_the_filter() -> None:
    frame = MonitorFrame(overview=an_overview(4, 9))
    state = pressed(frame, "filter:ada", "search:a", "tag")

    state = pressed(frame, "close", state=state)
    assert not state.tags
    assert state.search == "a"
    state = pressed(frame, "close", state=state)
    assert (state.search, state.query) == ("", "ada")
    state = pressed(frame, "close", state=state)
    assert state.query == ""
    assert pressed(frame, "close", state=state) is state


def test_directories_that_may_not_be_read_are_listed_as_foreign() -> None:
    foreign = Foreign("/dev/shm/ttmem-1001", 1001, "grace")
    frame = MonitorFrame(overview=replace(an_overview(4, 1), foreign=(foreign,)))
    state = pressed(frame, "end")

    row = rows_of(screen.draw(frame, DrawArea(200, 30), screen.ProcessesState()))[-1]

    assert row.split()[:6] == ["-", "grace", "journals", "in", "/dev/shm/ttmem-1001", "[N/A]"]
    assert "foreign" in row
    assert screen.selected(state, frame) is None
    assert screen.tagged(state, frame) == ()
    assert pressed(frame, "open", state=state) is state


def test_processes_that_only_the_driver_knows_are_listed_without_figures() -> None:
    overview = an_overview(4, 1)
    telemetry = (a_driver_chip(0, pids=(4001, 77), commands=("python", "mystery")),)

    rows = rows_of(screen.draw(MonitorFrame(overview=overview, telemetry=telemetry), FULL, screen.ProcessesState()))

    assert len(rows) == 2
    assert rows[1].split()[:3] == ["77", "mystery", "[N/A]"]
    assert "driver" in rows[1]


def test_a_pid_of_another_namespace_is_marked_and_doubts_show() -> None:
    frame = a_frame(a_row(1, is_visible=False, findings=some_findings(3)))

    [row] = rows_of(screen.draw(frame, AREA, screen.ProcessesState()))

    assert row.split()[0] == "4001?"
    assert "? resnet50" in row


@pytest.mark.parametrize(
    ("age_seconds", "changes", "role"),
    [
        (59, {}, Role.FULL),
        (61, {}, Role.DIM),
        (61, {"state": "ended"}, Role.DIM),
        (59, {"findings": some_findings(1)}, Role.FULL),
    ],
)
def test_the_mark_of_an_incident_is_red_for_a_minute_and_then_quiet(
    age_seconds: int, changes: dict[str, Any], role: Role
) -> None:
    incident = a_refusal(time_ns=ago(age_seconds), operations_since=9)
    frame = a_frame(a_row(1, incidents=(incident,), incident_count=1, **changes))

    assert mark_of(frame) == ("✖", role)


def test_the_mark_of_a_program_that_ended_with_its_incident_stays_red() -> None:
    last = a_refusal(time_ns=ago(3600), operations_since=0)

    assert mark_of(a_frame(a_row(1, state="ended", incidents=(last,), incident_count=1))) == ("✖", Role.FULL)
    assert mark_of(a_frame(a_row(1, incidents=(last,), incident_count=1))) == ("✖", Role.DIM)


def test_refusals_of_which_only_a_count_is_known_are_a_quiet_mark() -> None:
    assert mark_of(a_frame(a_row(1, refusal_count=1))) == ("✖", Role.DIM)
    assert mark_of(a_frame(a_row(1))) == (" ", Role.PLAIN)
    assert mark_of(a_frame(a_row(1, findings=some_findings(1)))) == ("?", Role.NOTICE)


def a_refusal(**changes: Any) -> Incident:
    known: dict[str, Any] = {
        "number": 1,
        "kind": "out_of_memory",
        "memory": "dram",
        "device_ids": ("0x1",),
        "is_mesh": False,
    }
    return Incident(**(known | changes))


def mark_of(frame: MonitorFrame) -> tuple[str, Role]:
    [entry] = entries_of(frame)
    line = table_for([entry], "dram", AREA.width, is_ascii=False).line(ListedEntry(entry))
    return next(((span.text[0], span.role) for span in line if span.text in ("✖ ", "? ")), (" ", Role.PLAIN))


def test_what_was_read_is_marked_and_its_peak_a_lower_bound() -> None:
    pools = (a_pool(Pool.DRAM, 2 * GIB, peak_bytes=3 * GIB, origin="sample"),)
    frame = a_frame(a_row(1, source="runtime", origin="read", pools=pools))

    [row] = rows_of(screen.draw(frame, FULL, screen.ProcessesState()))

    assert "~2.00 GiB" in row
    assert "≥3.00 GiB" in row
    assert "[N/A]" in row


def test_a_process_whose_journal_is_damaged_does_not_hold_nothing() -> None:
    frame = a_frame(a_row(1, state="stale", reason="damaged", pools=(), cb_planned_bytes=None))

    [row] = rows_of(screen.draw(frame, FULL, screen.ProcessesState()))

    assert "0 B" not in row
    assert row.count("[N/A]") >= 6


def test_only_what_is_a_sample_is_marked_as_one() -> None:
    pools = (a_pool(Pool.DRAM, 2 * GIB, origin="read"), a_pool(Pool.CB, 3 * MIB, origin="sample"))
    frame = a_frame(a_row(1, source="runtime", origin="read", pools=pools, cb_planned_bytes=None))

    [row] = rows_of(screen.draw(frame, FULL, screen.ProcessesState()))

    assert "~3.00 MiB" in row
    assert row.count("~") == 1


def test_opening_a_process_asks_for_it_by_its_newest_key() -> None:
    row = a_row(1)
    state = pressed(a_frame(row), "open")

    assert screen.wanted(a_frame(row), state).detail == 1
    assert screen.wanted(a_frame(replace(row, key=9)), state).detail == 9
    assert screen.wanted(a_frame(), state).detail is None
    assert pressed(a_frame(row), "close", state=state).opened is None


def test_an_opened_process_shows_its_own_page_or_says_that_it_is_gone() -> None:
    detail = a_detail()
    frame = a_frame(detail.process, a_row(2))._replace(detail=detail)
    state = pressed(frame, "sort:pid", "open")
    assert "4001 resnet50" in text_of(screen.draw(frame, AREA, state).lines[0])

    other = replace(detail, process=a_row(2))
    assert "Waiting for figures" in text_of(screen.draw(frame._replace(detail=other), AREA, state).lines[1])
    assert "no longer known" in text_of(screen.draw(a_frame(a_row(2)), AREA, state).lines[1])


def test_a_process_that_was_born_again_with_the_same_pid_is_another() -> None:
    old = a_row(1, start_time_ns=ago(100), state="ended")
    new = a_row(2, pid=old.pid, start_time_ns=ago(5))

    assert stamp_of(old) != stamp_of(new)


def test_a_click_moves_the_cursor() -> None:
    frame = MonitorFrame(overview=an_overview(4, 5))
    drawing = screen.draw(frame, AREA, screen.ProcessesState())
    third = list(drawing.hits)[2]

    state = screen.pointed(drawing.hits[third], screen.ProcessesState())

    assert screen.draw(frame, AREA, state).lines[third][0].role is Role.SELECTED


def test_every_column_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[4] / "docs/reference/monitor-processes.md").read_text()
    columns = manual.split("## Columns")[1].split("## Order")[0]

    assert [column.title for column in COLUMNS if not re.search(rf"^\|[^|]*\b{column.title}\b", columns, re.M)] == []


@pytest.mark.parametrize("rows", [(), (a_row(),)])
def test_what_is_wrong_with_a_filter_fits_into_80_columns(rows: tuple[ProcessUsage, ...]) -> None:
    drawing = screen.draw(a_frame(*rows), DrawArea(80, 22), screen.ProcessesState(query="dram>lots"))

    shown = "column 6: expected a size as 512, 64KiB or 1.5GiB, found lots"
    assert text_of(drawing.lines[-1]).strip() == shown
