"""The overview: whatever there is to show, it fits, every chip is there, and figures are those of the snapshot."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.machine.driver_chips import a_driver_chip
from tests.support.simulated.figures import GIB, KIB, MIB
from tests.support.simulated.overviews import (
    a_chip,
    a_device_usage,
    a_history,
    a_pool,
    a_row,
    ago,
    an_overview,
    some_findings,
)
from tests.support.simulated.random_overviews import overviews
from ttmem.devices import Pool
from ttmem.monitor.parts.chips.figures import figures_of, of_text
from ttmem.monitor.parts.drawing import DrawArea, Drawing, Layout, MonitorFrame
from ttmem.monitor.screens import overview as screen
from ttmem.snapshot.history import LaunchSeries
from ttmem.snapshot.host import Finding, Foreign
from ttmem.snapshot.telemetry import Sensor
from ttmem.snapshot.usage import DeviceUsage, Snapshot
from ttmem.snapshot.values import replace
from ttmem.view.table import Line, Role
from ttmem.view.texts import plural, share_text, size_text

LAYOUTS: tuple[Layout, ...] = ("auto", "full", "compact")
LIMITS = st.none() | st.floats(0.01, 1)
AREAS = st.builds(
    DrawArea, st.integers(80, 220), st.integers(20, 70), st.booleans(), st.sampled_from(LAYOUTS), st.booleans(), LIMITS
)


def drawn(overview: Snapshot, area: DrawArea, state: screen.OverviewState | None = None) -> Drawing:
    return screen.draw(
        MonitorFrame(overview=overview, history=a_history(overview)), area, state or screen.OverviewState()
    )


def with_core(usage: DeviceUsage, **changes: Any) -> DeviceUsage:
    """The same chip with a fullest core."""
    core = {"core_bytes": 1430 * KIB, "fullest_core_bytes": 700 * KIB, "fullest_core": (3, 4)}
    return replace(usage, **{**core, "planned_core_bytes": 900 * KIB, "headroom_bytes": 400 * KIB, **changes})


def text_of(line: Line) -> str:
    return "".join(span.text for span in line)


def cell_of(drawing: Drawing, number: int) -> str:
    """What is written of one chip."""
    rows = [spot for spot in drawing.spots if spot.number == number]
    return "\n".join(text_of(drawing.lines[spot.row])[spot.begin : spot.end] for spot in rows)


@settings(max_examples=20, deadline=None)
@given(overviews(), AREAS)
def test_whatever_there_is_to_show_fits_the_screen(overview: Snapshot, area: DrawArea) -> None:
    drawing = drawn(overview, area)

    assert len(drawing.lines) <= area.height
    assert max(sum(span.width for span in line) for line in drawing.lines) <= area.width
    if area.is_ascii:
        assert all(text_of(line).isascii() for line in drawing.lines)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 32), st.integers(80, 220), st.integers(20, 70), st.sampled_from(LAYOUTS))
def test_every_chip_is_shown_or_counted(chips: int, width: int, height: int, layout: Layout) -> None:
    overview = an_overview(chips, 9)
    area = DrawArea(width, height, False, layout)
    drawing = drawn(overview, area, screen.OverviewState(is_grouped=False))

    shown = {spot.number for spot in drawing.spots}
    assert len(shown) + drawing.hidden_count == chips
    if layout == "auto" and chips <= 8:
        assert drawing.hidden_count == 0
    for number in shown:
        assert re.match(rf"\W*{number}\b", cell_of(drawing, number))
    if drawing.hidden_count:
        hidden = plural(drawing.hidden_count, "more chip", "s")
        assert f" {hidden}, PgDn and PgUp" in map(text_of, drawing.lines)


NUMBER = re.compile(r"[~≥-]?\d[\d.,]*(?: [KMGTPE]?i?B\b|%)")


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(80, 220), st.integers(20, 70), st.sampled_from(LAYOUTS))
def test_a_number_is_whole_or_not_there(chips: int, width: int, height: int, layout: Layout) -> None:
    overview = an_overview(chips, 0)
    devices = (with_core(usage) if usage.device.number % 3 else usage for usage in overview.devices)
    overview = replace(overview, devices=tuple(devices))
    state = screen.OverviewState(is_grouped=False)
    drawing = drawn(overview, DrawArea(width, height, False, layout), state)

    for number in {spot.number for spot in drawing.spots}:
        usage = overview.devices[number]
        assert set(NUMBER.findall(cell_of(drawing, number))) <= numbers_of(usage)


def numbers_of(usage: DeviceUsage) -> set[str]:
    """Every way in which a figure of a chip may be written."""
    texts = {figure.value for figure in figures_of(usage, is_ascii=False)}
    sizes = [usage.fullest_core_bytes, usage.core_bytes, *(pool.used_bytes for pool in usage.pools)]
    sizes += [pool.capacity_bytes for pool in usage.pools]
    texts |= {size_text(size) for size in sizes}
    shares = [usage.fullest_core_share, *(pool.share for pool in usage.pools)]
    if usage.planned_core_bytes is not None and usage.core_bytes:
        shares.append(usage.planned_core_bytes / usage.core_bytes)
    return texts | {share_text(share) for share in shares}


@pytest.mark.parametrize(
    "area", [DrawArea(80, 22), DrawArea(120, 38), DrawArea(200, 58), DrawArea(100, 30, True, "full")]
)
def test_figures_are_those_of_the_snapshot_and_change_with_it(area: DrawArea) -> None:
    overview = replace(an_overview(4, 0), devices=tuple(map(with_core, an_overview(4, 0).devices)))
    usage = overview.devices[2]
    pools = tuple(replace(one, used_bytes=7 * GIB) if one.pool is Pool.DRAM else one for one in usage.pools)
    for changed, text in (
        (replace(usage, pools=pools), "7.00"),
        (replace(usage, fullest_core_bytes=333 * KIB), "333 KiB"),
    ):
        before = cell_of(drawn(overview, area, screen.OverviewState(chip=2)), 2)
        devices = tuple(changed if one is usage else one for one in overview.devices)
        after = cell_of(drawn(replace(overview, devices=devices), area, screen.OverviewState(chip=2)), 2)

        assert text not in before
        assert text in after


@pytest.mark.parametrize("area", [DrawArea(80, 22), DrawArea(120, 38), DrawArea(200, 58)])
def test_what_was_drawn_before_leaves_no_trace(area: DrawArea) -> None:
    overview = an_overview(4, 0)
    first = drawn(overview, area)

    drawn(an_overview(2, 3), area)
    drawn(overview, area._replace(width=area.width + 3))
    marked = drawn(overview, area, screen.OverviewState(chip=1))

    assert drawn(overview, area) == first
    assert marked != first


def test_the_headline_of_l1_is_the_fullest_core_now_and_planned_stands_beside_it() -> None:
    usage = with_core(a_device_usage(0))

    card = cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(120, 38)), 0)

    assert re.search(r"L1 .* 48%", card)
    assert re.search(r"now +700 KiB of 1.40 MiB on core 3,4 +headroom 400 KiB +planned 62%", card)


def test_headroom_below_0_is_shown_as_such_and_is_no_alarm() -> None:
    usage = with_core(a_device_usage(0), headroom_bytes=-4 * KIB, planned_core_bytes=1430 * KIB)

    for area in (DrawArea(80, 22), DrawArea(120, 38)):
        drawing = drawn(an_overview(1, 0, devices=(usage,)), area)

        assert "headroom -4.00 KiB" in cell_of(drawing, 0)
        assert "planned 100%" in cell_of(drawing, 0)
        assert not any(span.role in (Role.FULL, Role.BADGE) for line in drawing.lines for span in line)


def test_where_the_fullest_core_is_not_known_buffers_are_shown_and_called_so() -> None:
    usage = replace(with_core(a_device_usage(0)), fullest_core_bytes=None)

    card = cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(120, 38)), 0)

    assert "20.0 of 85.0 MiB of L1 buffers" in card


@pytest.mark.parametrize("area", [DrawArea(120, 38, True), DrawArea(120, 38, is_colourless=True)])
def test_the_bar_of_l1_is_made_of_the_parts_of_that_core_to_scale(area: DrawArea) -> None:
    usage = with_core(a_device_usage(0))
    footprint = usage.activity.footprint
    assert footprint
    card = cell_of(drawn(an_overview(1, 0, devices=(usage,)), area), 0)

    [bar] = re.findall(r"L1 +(K+C*B+[.░]*[:┊][.░]*)", card)

    resident = min(footprint.worst_resident_bytes or 0, 700 * KIB - 70_656)
    sizes = {"B": 700 * KIB - 70_656 - resident, "K": 70_656, "C": resident}
    for mark, size in sizes.items():
        assert abs(bar.count(mark) - size / (1430 * KIB) * len(bar)) <= 1.5, mark
    planned = bar.index(":" if area.is_ascii else "┊")
    assert abs(planned - 900 / 1430 * len(bar)) <= 1


def test_what_is_not_known_is_no_number() -> None:
    usage = replace(a_device_usage(0), pools=(), kinds=(), launch_count=None, doubt="uncounted")

    card = cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(120, 38)), 0)

    assert "not known of 12.0 GiB" in card
    assert "launches/s not known" in card
    assert "0 B" not in card
    assert card.splitlines()[0].split()[1] == "0?"


def test_what_was_read_says_so() -> None:
    pool = a_pool(Pool.DRAM, 3 * GIB, peak_bytes=4 * GIB, capacity_bytes=12 * GIB, origin="sample")
    usage = replace(a_device_usage(0), pools=(pool,))

    card = cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(120, 40)), 0)

    assert "~3.00 of 12.0 GiB read" in card


def test_holes_are_counted_where_free_space_is_split() -> None:
    pool = a_pool(Pool.DRAM, 9 * GIB, capacity_bytes=12 * GIB, largest_free_bytes=38 * MIB, hole_count=55)
    split = replace(a_device_usage(0), pools=(pool,))
    whole = replace(split, pools=(replace(pool, hole_count=1),))

    for area in (DrawArea(80, 22), DrawArea(120, 38)):
        assert "55 holes, largest 38.0 MiB" in cell_of(drawn(an_overview(1, 0, devices=(split,)), area), 0)
        assert "largest block 38.0 MiB" in cell_of(drawn(an_overview(1, 0, devices=(whole,)), area), 0)


def test_launches_and_how_long_a_chip_has_been_idle() -> None:
    overview = an_overview(2, 1)
    launches = tuple(
        LaunchSeries(usage.device.number, usage.device.uuid, (None, 7, rate), ago(14))
        for usage, rate in zip(overview.devices, (4_310, 0), strict=True)
    )
    frame = MonitorFrame(overview=overview, history=replace(a_history(overview), launches=launches))
    drawing = screen.draw(frame, DrawArea(120, 38), screen.INITIAL)

    assert "4,310 launches/s" in cell_of(drawing, 0)
    assert "idle" not in cell_of(drawing, 0)
    assert "0 launches/s" in cell_of(drawing, 1)
    assert "idle 14 s" in cell_of(drawing, 1)


def test_sensors_stand_in_the_title_where_the_driver_has_them() -> None:
    overview = an_overview(2, 0)
    chip = a_driver_chip(5, asic_id=overview.devices[1].device.unique_id, temperature=Sensor(47.6), aiclk_mhz=1000)

    drawing = screen.draw(MonitorFrame(overview=overview, telemetry=(chip,)), DrawArea(120, 40), screen.INITIAL)

    assert re.search(r"48 °C .*1000 MHz", cell_of(drawing, 1).splitlines()[0])
    assert "°C" not in cell_of(drawing, 0)
    assert "sensors: remote" in cell_of(drawing, 0)


def test_a_chip_of_which_the_driver_may_have_the_sensors_is_not_called_remote() -> None:
    drawing = screen.draw(
        MonitorFrame(overview=an_overview(2, 0), telemetry=(a_driver_chip(5),)), DrawArea(120, 40), screen.INITIAL
    )

    assert "sensors: unmatched" in cell_of(drawing, 0)


def test_more_than_eight_chips_are_rows_equal_ones_folded_the_fullest_first() -> None:
    equal = [replace(a_device_usage(0), device=a_chip(number)) for number in range(12)]
    dram = a_pool(Pool.DRAM, 9 * GIB, capacity_bytes=12 * GIB)
    equal[7] = replace(equal[7], pools=(dram, *equal[7].pools[1:]))
    overview = an_overview(0, 0, devices=tuple(equal))
    lines = [text_of(line) for line in drawn(overview, DrawArea(120, 38)).lines]

    assert lines[2].split()[:2] == ["7", "≠"]
    assert lines[3].split()[:2] == ["0-6,8-11", "each"]
    assert lines[4].split()[0] == "all"
    total = sum(pool.used_bytes for usage in equal for pool in usage.pools if pool.pool is Pool.DRAM)
    assert size_text(total) in lines[4]
    assert "all alike" in lines[4]


def test_order_and_groups_are_a_key_away() -> None:
    overview = an_overview(0, 0, devices=tuple(replace(a_device_usage(0), device=a_chip(n)) for n in range(12)))
    frame, area = MonitorFrame(overview=overview), DrawArea(120, 38)
    apart = screen.acted("group", screen.INITIAL, frame, area)

    assert len(screen.draw(frame, area, screen.INITIAL).spots) == 1
    assert len(screen.draw(frame, area, apart).spots) == 12
    assert screen.acted("group", apart, frame, area).is_grouped is True
    assert screen.acted("order", screen.INITIAL, frame, area).order == "number"
    few = MonitorFrame(overview=an_overview(4, 0))
    fullest = screen.acted("order", screen.INITIAL, few, area)
    assert screen.draw(few, area, fullest).spots[0].number == 3


def test_the_heading_says_what_is_doubtful() -> None:
    overview = an_overview(4, 3)
    doubted = tuple(replace(row, findings=some_findings(2), reason="outrun") for row in overview.processes)

    heading = text_of(drawn(replace(overview, processes=doubted), DrawArea(120, 40)).lines[0])

    assert "4 chips, 3 processes on box  figures incomplete: outrun  6 findings (7)" in heading
    assert heading.rstrip().endswith("no incidents")


def test_the_heading_counts_a_finding_once() -> None:
    overview = an_overview(1, 1)
    rows = (replace(overview.processes[0], findings=some_findings(3)),)
    findings = (Finding("double_free", 3, rows[0].pid), Finding("damaged", 1, None, "/x.journal"))

    heading = text_of(drawn(replace(overview, processes=rows, findings=findings), DrawArea(120, 40)).lines[0])

    assert "4 findings" in heading


@pytest.mark.parametrize("width", [80, 120])
def test_the_processes_that_hold_most_stand_below_the_chips_and_the_others_are_counted(width: int) -> None:
    lines = [text_of(line) for line in drawn(an_overview(1, 40), DrawArea(width, 40)).lines]

    listed = [int(found[1]) for line in lines if (found := re.match(r"\W*(4\d\d\d) ", line))]
    rows = sorted(an_overview(1, 40).processes, key=lambda row: -(row.used_bytes(Pool.DRAM) or 0))
    assert listed == [row.pid for row in rows[: len(listed)]]
    assert len(listed) >= 2
    assert any(f"{40 - len(listed)} more, press 2" in line for line in lines)
    assert any("40 processes" in line for line in lines[5:])


def test_the_chart_of_dram_is_scaled_to_all_there_is() -> None:
    overview = an_overview(2, 0)
    lines = [text_of(line) for line in drawn(overview, DrawArea(120, 38)).lines]
    used = sum(pool.used_bytes for usage in overview.devices for pool in usage.pools if pool.pool is Pool.DRAM)

    assert any(f"{of_text(used, 24 * GIB)}, last 60 s" in line for line in lines)


@pytest.mark.parametrize(("chips", "width", "across"), [(8, 120, 2), (32, 120, 1), (4, 80, 1)])
def test_arrows_go_from_chip_to_chip_as_they_stand(chips: int, width: int, across: int) -> None:
    frame = MonitorFrame(overview=an_overview(chips, 3))
    area = DrawArea(width, 60, layout="full" if across == 2 else "auto")
    start = screen.OverviewState(order="number", is_grouped=False)
    state = screen.acted("right", start, frame, area)

    assert state.chip == 0
    below = screen.acted("down", state, frame, area)
    assert below.chip == across
    assert screen.acted("up", below, frame, area) == state
    assert screen.acted("up", state, frame, area) is state
    assert screen.acted("end", state, frame, area).chip == chips - 1
    assert screen.selected(below, frame) is frame.overview.devices[across] if frame.overview else False
    assert screen.acted("close", state, frame, area) == start
    assert screen.acted("zoom", state, frame, area) is state


def test_chips_that_do_not_fit_in_full_scroll_with_the_cursor() -> None:
    area = DrawArea(80, 24, layout="full")

    for number in (0, 17, 31):
        drawing = drawn(an_overview(32, 3), area, screen.OverviewState(chip=number))

        assert number in {spot.number for spot in drawing.spots}
        assert ">" in cell_of(drawing, number)
        assert drawing.hidden_count > 0


def test_without_programs_it_says_what_to_type_and_what_was_looked_at() -> None:
    overview = replace(an_overview(0, 0), foreign=(Foreign("/dev/shm/ttmem-1001", 1001, "grace"),))
    text = "\n".join(text_of(line) for line in drawn(overview, DrawArea(80, 24)).lines)

    for part in ("ttmem run -- python model.py", "ttmem demo", "ttmem doctor", "none found", "none reports", "grace"):
        assert part in text


def test_without_programs_chips_of_the_driver_are_shown_with_who_has_them_open() -> None:
    chips = (a_driver_chip(0, pids=()), a_driver_chip(1, pids=(1 << 22,), commands=("mystery",)))
    frame = MonitorFrame(overview=an_overview(0, 0), telemetry=chips)
    text = "\n".join(text_of(line) for line in screen.draw(frame, DrawArea(120, 38), screen.INITIAL).lines)

    assert "2 found  /dev/tenstorrent/0-1" in text
    assert "nobody" in text
    assert f"pid {1 << 22} mystery (unknown user)" in text


def test_the_last_run_and_how_it_ended_are_told() -> None:
    ended = a_row(1, state="ended", label="model.py", last_event_time_ns=ago(720), refusal_count=1, chips=())
    frame = MonitorFrame(overview=replace(an_overview(0, 0), processes=(ended,)))
    text = "\n".join(text_of(line) for line in screen.draw(frame, DrawArea(120, 38), screen.INITIAL).lines)

    assert re.search(r"last run +model.py +ended 12 min ago: incidents, details lost, press 7", text)


def test_all_figures_of_a_chip_are_there_for_who_wants_them() -> None:
    overview = an_overview(1, 0, devices=(with_core(a_device_usage(0)),))
    pools = (a_pool(Pool.DRAM, GIB, capacity_bytes=12 * GIB, read_bytes=GIB, stale_bytes=GIB, unattributed_bytes=GIB),)
    odd = replace(overview.devices[0], pools=pools)

    for usage in (overview.devices[0], odd):
        card = cell_of(drawn(replace(overview, devices=(usage,)), DrawArea(120, 48, layout="full")), 0)
        missing = [
            one
            for one in figures_of(usage, is_ascii=False)
            if not re.search(rf"{re.escape(one.name)} +{re.escape(one.value)}", card)
        ]
        assert missing == []


def test_every_figure_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[4] / "docs/reference/monitor-overview.md").read_text().replace("`", "")
    usage = a_device_usage(0)

    names = [figure.name.partition(" (")[0] for figure in figures_of(usage, is_ascii=True)]
    assert [name for name in names if not re.search(rf"^\|[^|]*\b{name}\b", manual, re.M)] == []


@pytest.mark.parametrize("width", [80, 120, 148, 160, 200])
def test_a_chip_without_an_index_has_room_for_its_long_name(width: int) -> None:
    overview = an_overview(7, 0)
    nameless = replace(overview.devices[0], device=replace(overview.devices[0].device, index=None))
    overview = replace(overview, devices=(nameless, *overview.devices[1:]))

    for height in (20, 30, 40):
        lines = drawn(overview, DrawArea(width, height)).lines
        assert max(sum(span.width for span in line) for line in lines) <= width


def test_where_nothing_ever_lay_the_largest_block_is_all_there_is() -> None:
    [chip] = an_overview(1, 0).devices
    untouched = replace(chip, pools=tuple(pool for pool in chip.pools if pool.pool is not Pool.L1))
    silent = replace(untouched, launch_count=None)
    shown = {one.name: one.value for one in figures_of(untouched, is_ascii=True)}
    unknown = {one.name: one.value for one in figures_of(silent, is_ascii=True)}

    assert shown["L1 block"] == size_text(chip.device.capacity(Pool.L1))
    assert unknown["L1 block"] == "[N/A]"
