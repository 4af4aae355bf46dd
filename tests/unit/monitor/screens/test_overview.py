"""The overview: whatever there is to show, it fits, every chip is there, and figures are those of the snapshot."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.machine.driver_chips import a_driver_chip
from tests.support.simulated.figures import GIB, KIB, MIB
from tests.support.simulated.overviews import a_device_usage, a_history, a_pool, an_overview, some_findings
from tests.support.simulated.random_overviews import device_usages, overviews
from ttmem.devices import Kind, Pool
from ttmem.monitor.parts.chip_figures import figure_count, figures_of, pools_of
from ttmem.monitor.parts.drawing import DrawArea, Drawing, Layout, MonitorFrame
from ttmem.monitor.screens import overview as screen
from ttmem.snapshot import KindUsage
from ttmem.snapshot.host import Finding
from ttmem.snapshot.usage import DeviceUsage, Snapshot
from ttmem.snapshot.values import replace
from ttmem.view.table import Line
from ttmem.view.texts import size_text, tight_size_text

LAYOUTS: tuple[Layout, ...] = ("auto", "full", "compact")
AREAS = st.builds(DrawArea, st.integers(80, 220), st.integers(20, 70), st.booleans(), st.sampled_from(LAYOUTS))


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


@settings(max_examples=20)
@given(overviews(), AREAS)
def test_whatever_there_is_to_show_fits_the_screen(overview: Snapshot, area: DrawArea) -> None:
    drawing = drawn(overview, area)

    assert len(drawing.lines) <= area.height
    assert max(sum(span.width for span in line) for line in drawing.lines) <= area.width
    if area.is_ascii:
        assert all(text_of(line).isascii() for line in drawing.lines)


@settings(max_examples=40)
@given(st.integers(1, 32), st.integers(80, 220), st.integers(20, 70), st.sampled_from(["auto", "compact"]))
def test_every_chip_has_a_place_from_80_x_20_on(chips: int, width: int, height: int, layout: Layout) -> None:
    drawing = drawn(an_overview(chips, 9), DrawArea(width, height, False, layout))

    assert {spot.number for spot in drawing.spots} == set(range(chips))
    assert drawing.hidden_count == 0
    for spot in drawing.spots:
        assert text_of(drawing.lines[spot.row])[spot.begin - 2 : spot.begin].strip() == ""
    for number in range(chips):
        assert cell_of(drawing, number)[1:].split()[0] == str(number)
        if len(str(number)) == len(str(chips - 1)):
            assert cell_of(drawing, number)[1] == str(number)[0]  # where the columns of its cell begin


NUMBER = re.compile(r"[~≥]?\d[\d.,]*(?: ?[KMGTPE]i?B?\b| B\b|B\b|%)?")


@settings(max_examples=40)
@given(st.integers(1, 32), st.integers(80, 220), st.integers(20, 70), st.sampled_from(LAYOUTS))
def test_a_number_is_whole_or_not_there(chips: int, width: int, height: int, layout: Layout) -> None:
    overview = an_overview(chips, 0)
    devices = (with_core(usage) if usage.device.number % 3 else usage for usage in overview.devices)
    overview = replace(overview, devices=tuple(devices))
    drawing = drawn(overview, DrawArea(width, height, False, layout))
    known = {text for usage in overview.devices for text in numbers_of(usage)}

    for number in {spot.number for spot in drawing.spots}:
        cell = re.sub(r"0x[0-9a-f]{16}|n300|wormhole_b0|8x8|L1|60 s|core +\d+,\d+", "", cell_of(drawing, number))
        assert set(NUMBER.findall(cell)) <= known


def numbers_of(usage: DeviceUsage) -> set[str]:
    """Every way in which a figure of a chip may be written."""
    footprint = usage.activity.footprint
    assert footprint
    sizes = [usage.fullest_core_bytes, usage.core_bytes, usage.planned_core_bytes, usage.headroom_bytes]
    sizes += [usage.kernel_ring_bytes, 0]
    sizes += [footprint.planned_bytes, footprint.resident_bytes]
    for pool in usage.pools:
        sizes += [pool.used_bytes, pool.peak_bytes, pool.capacity_bytes]
    kernels = [kernel.used_bytes for kernel in usage.kernels]
    texts = {text(size) for size in (*sizes, *kernels) for text in (size_text, tight_size_text)}
    texts |= {"~" + text(size) for size in kernels for text in (size_text, tight_size_text)}
    texts |= {str(kernel.count) for kernel in usage.kernels} | {f"{usage.launch_count:,}"}
    pools = {pool.pool: pool for pool in usage.pools}
    shares = [pools[Pool.DRAM].share or 0, pools[Pool.L1].share or 0]
    shares.append((usage.fullest_core_bytes or 0) / (usage.core_bytes or 1))
    return texts | {f"{int(share * 100)}%" for share in shares} | {str(usage.device.index)}


@pytest.mark.parametrize(
    "area", [DrawArea(80, 22), DrawArea(120, 38), DrawArea(200, 58), DrawArea(100, 30, True, "full")]
)
def test_figures_are_those_of_the_snapshot_and_change_with_it(area: DrawArea) -> None:
    overview = an_overview(4, 0)
    before = cell_of(drawn(overview, area), 2)
    usage = overview.devices[2]
    for pool, size in ((Pool.DRAM, 7 * GIB), (Pool.L1, 33 * MIB)):
        pools = tuple(replace(one, used_bytes=size) if one.pool is pool else one for one in usage.pools)
        changed = replace(usage, pools=pools)
        devices = tuple(changed if one is usage else one for one in overview.devices)

        after = cell_of(drawn(replace(overview, devices=devices), area), 2)

        assert after != before
        assert size_text(size) in after or tight_size_text(size) in after


@pytest.mark.parametrize("area", [DrawArea(80, 22), DrawArea(120, 38), DrawArea(200, 58)])
def test_what_was_drawn_before_leaves_no_trace(area: DrawArea) -> None:
    overview = an_overview(4, 0)
    other = replace(
        overview,
        devices=tuple(
            replace(one, device=replace(one.device, number=3 - at)) for at, one in enumerate(overview.devices)
        ),
    )
    first = drawn(overview, area)

    drawn(other, area)
    drawn(overview, area._replace(width=area.width + 3))
    marked = drawn(overview, area, screen.OverviewState(chip=1))

    assert drawn(overview, area) == first
    assert marked != first


def test_the_headline_of_l1_is_the_fullest_core_now_and_buffers_stand_beside_it() -> None:
    usage = with_core(a_device_usage(0))

    cell = cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(80, 30)), 0)

    assert re.search(r"L1 .* 700 KiB / 1.40 MiB  48%", cell)
    for words in (r"planned +900 KiB", r"headroom +400 KiB", r"L1 buffers +20.0 MiB", r"fullest core +3,4"):
        assert re.search(words, cell)
    assert re.search(rf"kernel ring +{size_text(64 * 70_656)}", cell)
    assert re.search(rf"L1 total +{size_text(usage.device.capacity(Pool.L1))}", cell)


def test_headroom_below_0_is_shown_as_such() -> None:
    usage = with_core(a_device_usage(0), headroom_bytes=-4 * KIB)

    for area in (DrawArea(80, 30), DrawArea(160, 8)):
        cell = cell_of(drawn(an_overview(1, 0, devices=(usage,)), area), 0)

        assert re.search(r"-4.00 ?K", cell)


def test_where_the_fullest_core_is_not_known_buffers_are_shown_and_called_so() -> None:
    usage = replace(with_core(a_device_usage(0)), fullest_core_bytes=None)

    cell = cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(80, 30)), 0)

    assert re.search(rf"L1 buf .* 20.0 MiB / {size_text(usage.device.capacity(Pool.L1))}", cell)
    assert re.search(r"fullest core +\[N/A\]", cell)


def test_the_bar_of_l1_is_made_of_the_parts_of_that_core_to_scale() -> None:
    usage = with_core(a_device_usage(0))
    footprint = usage.activity.footprint
    assert footprint
    drawing = drawn(an_overview(1, 0, devices=(usage,)), DrawArea(200, 40, True))

    [bar] = re.findall(r"L1 +(#+k+c*:+\.+)", cell_of(drawing, 0))

    resident = min(footprint.worst_resident_bytes or 0, 700 * KIB - 70_656)
    sizes = {"#": 700 * KIB - 70_656 - resident, "k": 70_656, "c": resident, ":": 200 * KIB}
    for mark, size in sizes.items():
        assert abs(bar.count(mark) - size / (1430 * KIB) * len(bar)) <= 1.5, mark


def test_kernels_are_listed_by_type_with_their_counts() -> None:
    cell = cell_of(drawn(an_overview(1, 0), DrawArea(80, 30)), 0)

    for words in (r"app \(5\) +120 KiB", r"fabric \(2\) +~112 KiB", r"dispatch \(2\) +92.0 KiB"):
        assert re.search(words, cell)


def test_what_is_not_known_is_no_number() -> None:
    usage = replace(a_device_usage(0), pools=(), kinds=(), launch_count=None, doubt="uncounted")

    cell = cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(80, 30)), 0)

    assert "[N/A] / 12.0 GiB" in cell
    assert re.search(r"buffers +\[N/A\]", cell)
    assert "0 B" not in cell


def test_what_was_read_says_so_and_its_peak_is_a_lower_bound() -> None:
    pool = a_pool(Pool.DRAM, 3 * GIB, peak_bytes=4 * GIB, capacity_bytes=12 * GIB, origin="sample")
    usage = replace(a_device_usage(0), pools=(pool,))

    cell = cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(100, 40)), 0)

    assert "~3.00 GiB / 12.0 GiB  25% read" in cell
    assert re.search(r"DRAM peak +≥4.00 GiB", cell)


def test_what_is_held_beside_what_was_counted_is_shown_apart() -> None:
    pool = a_pool(Pool.DRAM, 3 * GIB, capacity_bytes=12 * GIB, read_bytes=GIB, stale_bytes=2 * GIB)
    usage = replace(a_device_usage(0), pools=(pool,))

    cell = cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(100, 40)), 0)

    assert "3.00 GiB / 12.0 GiB" in cell
    assert re.search(r"DRAM read +1.00 GiB", cell)
    assert re.search(r"DRAM stale +2.00 GiB", cell)


def test_where_there_is_no_room_a_mark_shows_that_something_is_held_beside_the_figures() -> None:
    overview = an_overview(32, 0)
    pools = (a_pool(Pool.DRAM, 3 * GIB, capacity_bytes=12 * GIB, read_bytes=GIB),)
    odd = [replace(overview.devices[0], pools=pools), replace(overview.devices[1], doubt="damaged")]

    drawing = drawn(replace(overview, devices=(*odd, *overview.devices[2:])), DrawArea(80, 22))

    assert [cell_of(drawing, number)[:4] for number in (0, 1, 2)] == ["  0+", "  1!", "  2 "]


def test_kernels_of_no_known_type_are_not_left_out() -> None:
    kinds = (KindUsage(Kind.KERNEL_UNKNOWN, 5 * MIB, 3, is_estimated=False),)

    cell = cell_of(drawn(an_overview(1, 0, devices=(replace(a_device_usage(0), kinds=kinds),)), DrawArea(100, 40)), 0)

    assert re.search(r"untyped \(3\) +5.00 MiB", cell)


def test_history_fills_its_width_and_its_highest_sample_its_height() -> None:
    overview = an_overview(1, 0)
    history = a_history(overview)
    rows = screen.draw(
        MonitorFrame(overview=overview, history=history), DrawArea(160, 50), screen.OverviewState()
    ).lines
    texts = [text_of(line).rstrip() for line in rows]
    first = next(at for at, text in enumerate(texts) if text.startswith("  DRAM")) + 1
    last = next(at for at, text in enumerate(texts) if text.strip().startswith("60 s"))

    assert texts[first].lstrip().startswith(f"{tight_size_text(overview.devices[0].pools[0].used_bytes)}")
    assert texts[first].endswith("█")
    assert texts[last][9:].count("█") > 100
    assert texts[last][9:25].strip() == ""  # no samples then


def test_the_node_of_the_driver_is_named_where_it_is_known() -> None:
    overview = an_overview(2, 0)
    telemetry = (a_driver_chip(5, asic_id=overview.devices[1].device.unique_id),)

    drawing = screen.draw(
        MonitorFrame(overview=overview, telemetry=telemetry), DrawArea(120, 40), screen.OverviewState()
    )

    assert "/dev/tenstorrent/5" in cell_of(drawing, 1)
    assert "/dev/tenstorrent" not in cell_of(drawing, 0)


def test_the_heading_says_who_counted_and_what_is_doubtful() -> None:
    overview = an_overview(4, 3)
    doubted = tuple(replace(row, findings=some_findings(2), reason="outrun") for row in overview.processes)

    heading = text_of(drawn(replace(overview, processes=doubted), DrawArea(120, 40)).lines[0])

    assert re.search(r"box · daemon pid 812 · 4 chips · 3 processes · 6 findings · incomplete: outrun", heading)


def test_the_heading_counts_a_finding_once() -> None:
    overview = an_overview(1, 1)
    rows = (replace(overview.processes[0], findings=some_findings(3)),)
    findings = (Finding("double_free", 3, rows[0].pid), Finding("damaged", 1, None, "/x.journal"))

    heading = text_of(drawn(replace(overview, processes=rows, findings=findings), DrawArea(120, 40)).lines[0])

    assert "4 findings" in heading


def test_history_is_of_a_minute_though_the_samples_of_an_hour_are_there() -> None:
    overview = an_overview(1, 1)
    [first, *others] = a_history(overview).series
    hour = tuple(replace(one, samples=(9 * GIB,) * 3000 + one.samples) for one in (first, *others))
    history = replace(a_history(overview), series=hour)

    assert screen.draw(
        MonitorFrame(overview=overview, history=history), DrawArea(120, 40), screen.OverviewState()
    ) == drawn(overview, DrawArea(120, 40))


def test_the_processes_that_hold_most_stand_below_the_chips() -> None:
    lines = [text_of(line) for line in drawn(an_overview(1, 40), DrawArea(120, 40)).lines]

    listed = [int(line.split()[0]) for line in lines if re.match(r" +4\d\d\d ", line)]
    rows = sorted(an_overview(1, 40).processes, key=lambda row: -sum(p.used_bytes for p in row.pools[:2]))
    assert listed == [row.pid for row in rows[: len(listed)]]
    assert len(listed) >= 2


def test_history_grows_tall_only_where_processes_have_their_place() -> None:
    lines = [text_of(line) for line in drawn(an_overview(2, 6), DrawArea(120, 38)).lines]

    assert sum(bool(re.match(r" +4\d\d\d ", line)) for line in lines) == 6


def test_a_pool_that_was_never_used_had_a_peak_of_nothing() -> None:
    usage = replace(a_device_usage(0), pools=(a_pool(Pool.DRAM, GIB),))

    assert re.search(r"L1 peak +0 B", cell_of(drawn(an_overview(1, 0, devices=(usage,)), DrawArea(80, 30)), 0))


@pytest.mark.parametrize(("width", "across"), [(80, 2), (120, 1)])
def test_arrows_go_from_chip_to_chip_as_they_stand(width: int, across: int) -> None:
    frame, area = MonitorFrame(overview=an_overview(32, 3)), DrawArea(width, 38 if width > 80 else 22)
    state = screen.acted("right", screen.OverviewState(), frame, area)

    assert state.chip == 0
    below = screen.acted("down", state, frame, area)
    assert below.chip == across
    assert screen.acted("up", below, frame, area) == state
    assert screen.acted("up", state, frame, area) is state
    assert screen.acted("end", state, frame, area).chip == 31
    assert screen.selected(below, frame) is frame.overview.devices[across] if frame.overview else False
    assert screen.acted("close", state, frame, area) == screen.OverviewState()
    assert screen.acted("zoom", state, frame, area) is state


def test_chips_that_do_not_fit_in_full_scroll_with_the_cursor() -> None:
    area = DrawArea(80, 24, layout="full")

    for number in (0, 17, 31):
        drawing = drawn(an_overview(32, 3), area, screen.OverviewState(chip=number))

        assert number in {spot.number for spot in drawing.spots}
        assert ">" in cell_of(drawing, number)
        assert drawing.hidden_count > 0


def test_without_chips_it_says_so() -> None:
    lines = [text_of(line) for line in drawn(an_overview(0, 0), DrawArea(80, 24)).lines]

    assert any("No chip is open" in line for line in lines)


@settings(max_examples=25)
@given(device_usages(0))
def test_figures_are_counted_as_they_are(usage: DeviceUsage) -> None:
    assert figure_count(usage) == len(list(figures_of(usage, pools_of(usage), is_ascii=True)))


def test_a_figure_that_only_one_chip_has_is_shown() -> None:
    overview = an_overview(4, 0)
    pools = (a_pool(Pool.DRAM, GIB, capacity_bytes=12 * GIB, read_bytes=GIB, stale_bytes=GIB, unattributed_bytes=GIB),)
    devices = (replace(overview.devices[0], pools=pools), *overview.devices[1:])

    cell = cell_of(drawn(replace(overview, devices=devices), DrawArea(120, 48)), 0)

    assert [word for word in ("DRAM read", "DRAM stale", "DRAM unattr") if word not in cell] == []


def test_every_figure_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[4] / "docs/reference/monitor-overview.md").read_text().replace("`", "")
    usage = a_device_usage(0)

    names = [figure.name.split(" (")[0] for figure in figures_of(usage, pools_of(usage), is_ascii=True)]
    assert [name for name in names if not re.search(rf"^\|[^|]*\b{name}\b", manual, re.M)] == []


@pytest.mark.parametrize("width", [80, 120, 148, 160, 200])
def test_a_chip_without_an_index_has_room_for_its_long_name(width: int) -> None:
    """Figures beside the bars give way to it."""
    overview = an_overview(7, 0)
    nameless = replace(overview.devices[0], device=replace(overview.devices[0].device, index=None))
    overview = replace(overview, devices=(nameless, *overview.devices[1:]))

    for height in (20, 30, 40):
        lines = drawn(overview, DrawArea(width, height)).lines
        assert max(sum(span.width for span in line) for line in lines) <= width


def test_where_nothing_ever_lay_the_largest_block_is_all_there_is() -> None:
    overview = an_overview(1, 0)
    [chip] = overview.devices
    untouched = replace(chip, pools=tuple(pool for pool in chip.pools if pool.pool is not Pool.L1))
    silent = replace(untouched, launch_count=None)
    shown = {one.name: one.tight for one in figures_of(untouched, pools_of(untouched), is_ascii=True)}
    unknown = {one.name: one.tight for one in figures_of(silent, pools_of(silent), is_ascii=True)}

    assert shown["L1 block"] == tight_size_text(chip.device.capacity(Pool.L1))
    assert unknown["L1 block"] == "[N/A]"
