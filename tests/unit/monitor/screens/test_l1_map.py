"""The map of a chip: to scale, in words, and never larger than the screen."""

import re
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.simulated.chip_views import L1_BASE, L1_END, a_map, maps
from tests.support.simulated.figures import KIB
from tests.support.simulated.overviews import an_overview
from ttmem.monitor.parts.drawing import DrawArea, MonitorFrame
from ttmem.monitor.parts.map_bars import SORTS, MapPart, parts_of, scaled
from ttmem.monitor.screens import l1_map
from ttmem.monitor.screens.l1_map import L1MapState
from ttmem.snapshot.chip_map import ChipMap, Stretch
from ttmem.snapshot.values import replace
from ttmem.view.table import plain

SIZES = (DrawArea(80, 22), DrawArea(120, 38), DrawArea(200, 58))
areas = st.builds(DrawArea, st.integers(1, 220), st.integers(0, 60), is_ascii=st.booleans())
lowers = st.sampled_from(get_args(l1_map.Lower))


def drawn(chip: ChipMap, area: DrawArea, state: L1MapState | None = None) -> str:
    return plain(list(l1_map.draw(MonitorFrame(chip=chip), area, state or L1MapState()).lines))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(chip=maps(), area=areas, lower=lowers, first=st.integers(0, 40))
def test_a_map_is_never_larger_than_the_screen(chip: ChipMap, area: DrawArea, lower: l1_map.Lower, first: int) -> None:
    drawing = l1_map.draw(MonitorFrame(chip=chip), area, L1MapState(lower=lower, first=first))

    assert len(drawing.lines) <= area.height
    assert all(sum(span.width for span in line) <= area.width for line in drawing.lines)
    if area.is_ascii:
        assert plain(list(drawing.lines)).isascii()


@pytest.mark.parametrize("area", SIZES)
@pytest.mark.parametrize("is_ascii", [False, True])
def test_every_size_shows_both_memories_every_core_and_all_sorts(area: DrawArea, is_ascii: bool) -> None:
    text = drawn(a_map(), area._replace(is_ascii=is_ascii))

    assert "L1 of core 3,2, the fullest: 525 KiB of 1.40 MiB 36% planned, now 365 KiB" in text
    assert "largest free 300 MiB" in text
    for sort in ("reserved", "ring_live", "ring_retired", "ring", "cb", "planned", "buffer"):
        assert f"{SORTS[sort].letter} {SORTS[sort].word} " in text
    assert "[36]" in text
    assert "…" not in text
    assert len(re.findall(r"\b(18|23)\b", text)) >= 63


@pytest.mark.parametrize("area", SIZES)
@pytest.mark.parametrize("lower", get_args(l1_map.Lower))
@settings(max_examples=5, deadline=None, phases=[Phase.generate])
@given(chip=maps())
def test_nothing_is_cut_at_the_usual_sizes(area: DrawArea, lower: l1_map.Lower, chip: ChipMap) -> None:
    text = drawn(chip, area, L1MapState(lower=lower))

    assert "..." not in text
    assert "…" not in text


def test_a_bar_is_to_scale_and_shows_the_smallest_of_things() -> None:
    parts = [MapPart(SORTS["reserved"], 0, 100), MapPart(SORTS["free"], 100, 900), MapPart(SORTS["buffer"], 900, 901)]
    parts += [MapPart(SORTS["free"], 901, 1000)]

    assert plain([scaled(parts, 1000, 10, is_ascii=True)]) == "R........b\n"


@settings(max_examples=30, deadline=None)
@given(
    cuts=st.lists(st.integers(0, 5_000), max_size=20),
    width=st.integers(1, 200),
    is_ascii=st.booleans(),
    sorts=st.lists(st.sampled_from(sorted(SORTS)), min_size=22, max_size=22),
)
def test_a_bar_has_exactly_its_width_whatever_lies_there(
    cuts: list[int], width: int, is_ascii: bool, sorts: list[str]
) -> None:
    edges = sorted({0, 5_000, *cuts})
    parts = [MapPart(SORTS[sort], *edge) for edge, sort in zip(pairwise(edges), sorts, strict=False)]

    line = scaled(parts, 5_000, width, is_ascii=is_ascii)

    assert sum(span.width for span in line) == width


def test_parts_of_a_core_lie_side_by_side_and_divide_the_ring() -> None:
    chip = a_map()
    assert chip.l1 is not None
    parts = parts_of(chip, chip.l1)

    assert [part.begin for part in parts[1:]] == [part.end for part in parts[:-1]]
    sizes = {part.sort.word: part.size_bytes for part in parts}
    assert sizes["ring live"] == 24 * KIB
    assert sizes["ring retired"] == 12 * KIB
    assert sizes["CBs"] == 96 * KIB
    assert sizes["CBs planned"] == 160 * KIB
    assert parts[-1].end == L1_END
    assert next(part for part in parts if part.sort is SORTS["cb"]).begin == L1_BASE


def test_lists_show_addresses_and_scroll() -> None:
    state = l1_map.acted("next_pool", L1MapState(), MonitorFrame(chip=a_map()), SIZES[0])

    text = drawn(a_map(), SIZES[0], state)

    assert state.lower == "l1"
    assert f"{L1_BASE:#x}" in text
    assert "CBs of the program that ran last" in text
    small = DrawArea(80, 16)
    down = l1_map.acted("end", state, MonitorFrame(chip=a_map()), small)
    assert down.first > 0
    assert "buffer" in drawn(a_map(), small, down).splitlines()[-1]
    assert l1_map.acted("home", down, MonitorFrame(chip=a_map()), small).first == 0


def test_arrows_lead_from_chip_to_chip_and_around() -> None:
    frame = MonitorFrame(overview=an_overview(chips=3, processes=0))

    assert l1_map.wanted(frame, L1MapState()).chip == "0"
    right = l1_map.acted("right", L1MapState(), frame, SIZES[0])
    assert l1_map.wanted(frame, right).chip == "1"
    assert l1_map.wanted(frame, l1_map.acted("left", L1MapState(), frame, SIZES[0])).chip == "2"
    alone = L1MapState()
    assert l1_map.acted("right", alone, MonitorFrame(), SIZES[0]) is alone


def test_a_chip_that_is_not_there_is_said_in_a_line() -> None:
    text = plain(list(l1_map.draw(MonitorFrame(), SIZES[0], L1MapState()).lines))

    assert "No chip is known here yet" in text


def test_a_chip_without_a_map_says_why() -> None:
    text = drawn(replace(a_map(), dram=None, l1=None, cores=()), SIZES[0])

    assert "no map of L1 and DRAM: the opener of the chip did not report its architecture" in text
    assert "no map of DRAM: " in drawn(replace(a_map(), dram=None), SIZES[1])
    assert "no map" not in drawn(a_map(), SIZES[0])


def test_one_is_not_said_in_the_plural() -> None:
    chip = a_map()
    assert chip.dram is not None
    trace = Stretch("trace", chip.dram.end - 10, chip.dram.end, 1)

    text = drawn(replace(chip, dram=replace(chip.dram, stretches=(trace,))), SIZES[2])

    assert "1 trace\n" in text
    assert "1 buffer\n" in text
    assert not re.search(r"\b1 \w+s\b", text)


def test_what_is_missing_from_a_map_is_said() -> None:
    chip = a_map()
    assert chip.dram is not None
    doubtful = replace(chip, dram=replace(chip.dram, is_complete=False, reason="unplaced"))

    assert "incomplete: some did not say where they lie" in drawn(doubtful, SIZES[1])
