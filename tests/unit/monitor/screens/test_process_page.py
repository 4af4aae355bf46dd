"""One process close up: everything that is known of it is on the page, and the page scrolls."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.simulated.figures import GIB, MIB, NOON_NS
from tests.support.simulated.overviews import a_chip, a_detail, a_detailed_process, ago, an_allocation
from ttmem.devices import BufferLayout, Kind, Pool
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame
from ttmem.monitor.screens import process_page as screen
from ttmem.snapshot.host import Finding
from ttmem.snapshot.incidents import Frame, Incident, Site
from ttmem.snapshot.process_detail import Holding, ProcessDetail, SiteSum
from ttmem.snapshot.values import TimeNs, replace
from ttmem.view.table import width_of
from ttmem.view.texts import FINDINGS


def of_process(**changes: Any) -> ProcessDetail:
    return a_detail(process=a_detailed_process(**changes))


def lines_of(detail: ProcessDetail, area: DrawArea, state: screen.ProcessPageState | None = None) -> list[str]:
    drawing = screen.draw(MonitorFrame(detail=detail), area, state or screen.ProcessPageState())
    return ["".join(span.text for span in line) for line in drawing.lines]


@settings(max_examples=30)
@given(st.integers(80, 220), st.integers(20, 60), st.booleans(), st.integers(0, 80), st.integers(0, 200))
def test_a_page_fits_the_screen(width: int, height: int, is_ascii: bool, holdings: int, top: int) -> None:
    process = a_detailed_process(label="名前" * 50, command="\x1b[31m" * 40)
    detail = a_detail(holdings, process=process)
    lines = lines_of(detail, DrawArea(width, height, is_ascii), screen.ProcessPageState(top=top))

    assert len(lines) <= height
    assert max(map(width_of, lines)) <= width
    assert all(line.isprintable() and (line.isascii() or not is_ascii) for line in lines)


@pytest.mark.parametrize("width", [80, 140])
def test_all_that_is_known_is_on_the_page(width: int) -> None:
    page = "\n".join(lines_of(a_detail(), DrawArea(width, 80)))

    for words in (
        r"4001 resnet50 · grace · live · journal · 2 min · 41 alive · 100 launches",
        r"python serve.py --job 1",
        r"0-1 +2.00 ?G(iB)? +2.40 ?G(iB)? +0 ?B +5.00 ?M(iB)? +6.00 ?M(iB)? +0 ?B +21.0 ?M(iB)? +~301 ?K(iB)? +50",
        r"0 +dram +5.00 GiB +\d\d:\d\d:\d\d +3 +prefill",
        r"1 +l1 +≥31.0 MiB +\d\d:\d\d:\d\d +64 +decode",
        r"0 +l1 +asked 40.0 MiB, free 48.0 MiB, largest 13.0 MiB",
        r"1 +program 7 32.0 KiB into the buffer at 0x90000",
        r"2 x free of something already freed",
        r"900 MiB +1x +model.py:40 attention",
        r"900 MiB +5s +l1 +0 +0x200000 +(buffer, interleaved  )?model.py:40 attention",
        r"33 more are alive",
    ):
        assert re.search(words, page), words


def test_what_is_held_by_line_comes_first_and_then_all_else() -> None:
    sites = tuple(SiteSum((f"/app/model.py:{at} f", "/app/run.py:1 main"), (20 - at) * MIB, at) for at in range(1, 13))
    lines = lines_of(replace(a_detail(), sites=sites, more_site_count=30), DrawArea(120, 90))

    assert lines[3].strip() == "HELD BY LINE"
    assert [line.split() for line in lines[4:6]] == [
        ["19.0", "MiB", "1x", "model.py:1", "f", "<", "run.py:1", "main"],
        ["18.0", "MiB", "2x", "model.py:2", "f", "<", "run.py:1", "main"],
    ]
    assert lines[12].strip() == "and 34 more lines, below"
    more = lines.index(next(line for line in lines if line.strip() == "MORE LINES"))
    assert "model.py:9 f" in lines[more + 1]
    assert lines[more + 5].strip() == "30 more lines"
    assert lines.index(next(line for line in lines if "ON EACH CHIP" in line)) < more


def test_a_process_whose_lines_cannot_be_read_says_why() -> None:
    process = a_detailed_process(sites_off="CPython 3.14 is not known")
    lines = lines_of(a_detail(process=process, sites=()), DrawArea(120, 80))

    assert lines[3].strip() == "no lines: CPython 3.14 is not known, see ttmem doctor"


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (140, "1x1x32x14336 bfloat16, width sharded  model.py:40 attention < run.py:7 main  ttnn.matmul"),
        (120, "1x1x32x14336 bfloat16, width sharded  model.py:40 attention"),
        (90, "1x1x32x14336 bfloat16  model.py:40"),
        (80, "1x1x32x14336 bfloat16  model.py:40"),
    ],
)
def test_what_a_buffer_is_and_who_asked_take_the_room_there_is(width: int, words: str) -> None:
    buffer = an_allocation(
        1,
        stack=("/app/model.py:40 attention", "/app/run.py:7 main"),
        tensor="1x1x32x14336 bfloat16 tile",
        operation="ttnn.matmul",
        layout=BufferLayout.WIDTH_SHARDED,
    )
    page = lines_of(replace(a_detail(0), largest=(Holding((0,), buffer),)), DrawArea(width, 80))

    line = next(line for line in reversed(page) if line.startswith("     899 MiB"))
    assert line.rstrip().endswith(f" {words}")
    assert (hex(buffer.address or 0) in line) is (width >= 100)


def test_incidents_come_before_all_else_with_the_line_that_asked() -> None:
    site = Site((Frame("app/model.py", 118, "forward"),))
    incident = Incident(
        number=2,
        kind="out_of_memory",
        memory="dram",
        time_ns=NOON_NS,
        device_ids=(a_chip(0).uuid or "",),
        is_mesh=False,
        requested_bytes=56 * MIB,
        site=site,
    )
    process = a_detailed_process(incidents=(incident,), incident_count=1)
    lines = lines_of(a_detail(process=process), DrawArea(100, 80))

    assert lines[3].strip() == "INCIDENTS"
    assert lines[4].split("  ")[1:6] == [
        " OUT OF MEMORY",
        "chip 0",
        "pid 4001-2",
        "asked 56.0 MiB of DRAM",
        "model.py:118 forward",
    ]
    assert not [line for line in lines if "MEMORY REFUSED" in line]


def test_chips_on_which_the_same_is_held_share_a_line_and_others_do_not() -> None:
    first, second = a_detailed_process().devices
    other = replace(second, launch_count=51)
    page = "\n".join(lines_of(of_process(devices=(first, other)), DrawArea(80, 80)))

    assert re.search(r"^ +0 +2.00G .* 50 *$", page, re.MULTILINE)
    assert re.search(r"^ +1 +2.00G .* 51 *$", page, re.MULTILINE)


def test_phases_stand_in_the_order_in_which_they_came() -> None:
    phase = a_detailed_process().phases[0]
    came = {"load": TimeNs(1), "compile": TimeNs(2), "prefill": TimeNs(3), "decode": TimeNs(4), "unknown": None}
    shuffled = tuple(replace(phase, name=name, time_ns=came[name]) for name in sorted(came))

    page = "\n".join(lines_of(of_process(phases=shuffled), DrawArea(80, 80)))

    assert re.findall(r"(load|compile|prefill|decode|unknown)\b *$", page, re.MULTILINE) == list(came)


def test_a_short_name_leaves_no_gap_behind_it() -> None:
    detail = of_process(label="a")

    assert lines_of(detail, DrawArea(80, 24))[0].startswith(" 4001 a · ")


def test_a_phase_that_never_ended_is_listed_with_its_peak_if_that_came_since() -> None:
    [on_first, _] = a_detailed_process().devices
    first = on_first.pools[0]
    came_since = replace(first, pool=Pool.DRAM, peak_bytes=7 * GIB, peak_time_ns=ago(1))
    before = replace(first, pool=Pool.L1, used_bytes=3 * MIB, peak_time_ns=ago(9))
    held = replace(on_first, pools=(came_since, before))
    lines = lines_of(of_process(phases=(), devices=(held,)), DrawArea(80, 80))

    [exact, at_least] = [line for line in lines if "sampling" in line]

    assert exact.split()[:3] == ["0", "dram", "7.00"]
    assert "open" in exact
    assert at_least.split()[1:3] == ["l1", "≥3.00"]
    assert "[N/A]" in at_least


def test_a_phase_that_used_nothing_is_listed_without_a_peak() -> None:
    lines = lines_of(of_process(phases=(), devices=()), DrawArea(80, 80))

    [line] = [line for line in lines if "sampling" in line]

    assert line.split()[:3] == ["[N/A]", "[N/A]", "open"]


def test_peaks_of_inventories_are_left_out_of_phases() -> None:
    phase = a_detailed_process().phases[0]
    detail = of_process(phases=(phase, replace(phase, pool=Pool.CB, peak_bytes=77 * MIB)))

    page = "\n".join(lines_of(detail, DrawArea(80, 80)))

    assert "5.00 GiB" in page
    assert "77.0 MiB" not in page


def test_allocations_are_listed_by_size_or_by_age() -> None:
    frame, area = MonitorFrame(detail=a_detail()), DrawArea(80, 80)
    turned = screen.acted("right", screen.ProcessPageState(), frame, area)

    largest, oldest = ("\n".join(lines_of(a_detail(), area, state)) for state in (screen.ProcessPageState(), turned))

    assert largest.index("0x200000") < largest.index("0x207000")
    assert oldest.index("0x200000") > oldest.index("0x207000")
    assert "LARGEST FIRST" in largest
    assert "OLDEST FIRST" in oldest
    assert screen.acted("left", turned, frame, area) == screen.ProcessPageState()


def test_views_estimates_and_kernels_are_marked() -> None:
    kernel = an_allocation(1, kind=Kind.KERNEL_FABRIC, name="router", stack=(), address=None, is_estimated=True)
    view = an_allocation(2, is_view=True, size_bytes=0)
    detail = replace(a_detail(0), largest=(Holding((0,), kernel), Holding((0, 1), view)))

    page = "\n".join(lines_of(detail, DrawArea(120, 80)))

    assert re.search(r"~899 MiB .* router  kernel fabric", page)
    assert re.search(r"  view +7s .* 0-1 ", page)


def test_words_are_left_out_rather_than_cut() -> None:
    detail = of_process(findings=tuple(Finding(name, 3) for name in FINDINGS), reason="outrun")
    page = "\n".join(lines_of(detail, DrawArea(80, 200)))

    assert "…" not in page
    assert re.search(r"0x200000 +model.py:40 attention *$", page, re.MULTILINE)
    assert "damaged journal)" in page


def test_the_page_scrolls_to_its_end_and_no_further() -> None:
    frame, area = MonitorFrame(detail=a_detail(40)), DrawArea(80, 24)
    end = screen.acted("end", screen.ProcessPageState(), frame, area)

    assert lines_of(a_detail(40), area, end)[-1].strip().endswith("are listed")
    assert screen.acted("down", end, frame, area) is end
    assert screen.acted("page_up", end, frame, area).top == end.top - 21
    assert screen.acted("home", end, frame, area) == screen.ProcessPageState()
    assert screen.acted("up", screen.ProcessPageState(), frame, area) == screen.ProcessPageState()
    assert screen.draw(frame, area, screen.ProcessPageState()).hidden_count == end.top


def test_a_process_of_which_nothing_came_yet_says_so() -> None:
    [_, line] = screen.draw(MonitorFrame(), DrawArea(80, 24), screen.ProcessPageState()).lines

    assert "Waiting for figures" in line[0].text


def test_the_page_of_a_process_changes_with_its_figures() -> None:
    before = lines_of(a_detail(), DrawArea(80, 80))
    held, *others = a_detailed_process().devices
    more = replace(held, pools=tuple(replace(pool, used_bytes=pool.used_bytes + 300 * MIB) for pool in held.pools))

    after = lines_of(of_process(devices=(more, *others)), DrawArea(80, 80))

    assert [line for line in after if line not in before]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_figures_on_a_chip_stand_apart_and_whole(width: int) -> None:
    """A number is left out rather than cut, and never touches its neighbour."""
    first, second = a_detailed_process().devices
    detail = of_process(devices=(replace(first, launch_count=331_521), second))
    lines = lines_of(detail, DrawArea(width, 80))
    at = next(number for number, line in enumerate(lines) if line.startswith("   CHIP"))
    titles, row = (re.split(" {2,}", line.strip()) for line in lines[at : at + 2])

    assert len(titles) == len(row)
    assert all(re.fullmatch(r"[≥~]?[\d.,]+( ?[BKMGk](iB)?)?", word) for word in row[1:])
    assert (row[-1] in ("331k", "331,521")) == (width >= 80)


def test_many_chips_are_named_where_there_is_room() -> None:
    first = a_detailed_process().devices[0]
    chips = [replace(first, device=replace(first.device, number=n, index=n)) for n in range(0, 32, 2)]
    detail = a_detail(process=a_detailed_process(devices=tuple(chips)), sites=())
    wide, narrow = (lines_of(detail, DrawArea(width, 80))[5] for width in (200, 80))

    assert "16x" in narrow
    assert wide.rstrip().endswith("2,4,6,8,10,12,14,16,18,20,22,24,26,28,30")
