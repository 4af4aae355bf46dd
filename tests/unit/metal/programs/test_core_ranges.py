"""Sets of cores: their text, their rectangles, and that they are sets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem.metal.programs import ProgramMisuse
from ttmem.metal.programs.core_ranges import CoreRange, CoreRanges

cores = st.tuples(st.integers(0, 13), st.integers(0, 11))
core_sets = st.frozensets(cores, max_size=60)


def test_a_set_reads_as_its_rectangles() -> None:
    ranges = CoreRanges([CoreRange(0, 8, 3, 8), CoreRange(0, 0, 7, 7)])

    assert str(ranges) == "0,0-7,7;0,8-3,8"
    assert ranges.core_count == 68


def test_rows_of_equal_width_become_one_rectangle() -> None:
    assert CoreRanges([CoreRange(2, 0, 5, 0), CoreRange(2, 1, 5, 3)]).ranges == (CoreRange(2, 0, 5, 3),)


def test_cores_of_a_grid_are_taken_row_by_row() -> None:
    assert str(CoreRanges.first(11, (8, 8))) == "0,0-7,0;0,1-2,1"


@pytest.mark.parametrize("core_count", [0, 65])
def test_no_more_cores_are_taken_than_there_are(core_count: int) -> None:
    with pytest.raises(ProgramMisuse, match="of a grid of 8x8"):
        CoreRanges.first(core_count, (8, 8))


@pytest.mark.parametrize("corners", [(1, 0, 0, 0), (0, 1, 0, 0), (-1, 0, 0, 0), (0, 0, 32, 0)])
def test_corners_in_the_wrong_order_are_no_rectangle(corners: tuple[int, int, int, int]) -> None:
    with pytest.raises(ProgramMisuse, match="no rectangle"):
        CoreRange(*corners)


@pytest.mark.parametrize("sides", [(0, 0), (8, 0), (-1, 2), (1.5, 2), (True, 2), ("8", 8)])
def test_a_grid_has_a_column_and_a_row_at_least(sides: tuple[int, int]) -> None:
    with pytest.raises(ProgramMisuse, match="at least one column and one row"):
        CoreRanges.grid(*sides)


@pytest.mark.parametrize("text", ["0,0", "0,0-7", "a,b-c,d", "0,0-7,7,7"])
def test_a_text_that_is_no_set_of_cores_is_refused_with_one_that_is(text: str) -> None:
    with pytest.raises(ProgramMisuse, match="write them like 0,0-7,7"):
        CoreRanges.parse(text)


@given(core_sets)
def test_rectangles_cover_every_core_exactly_once(wanted: frozenset[tuple[int, int]]) -> None:
    ranges = CoreRanges.at(*wanted)

    covered = [
        (x, y)
        for one in ranges.ranges
        for x in range(one.first_x, one.last_x + 1)
        for y in range(one.first_y, one.last_y + 1)
    ]
    assert sorted(covered) == sorted(wanted)
    assert ranges.core_count == len(wanted)


@given(core_sets)
def test_the_text_of_a_set_is_read_back(wanted: frozenset[tuple[int, int]]) -> None:
    ranges = CoreRanges.at(*wanted)

    assert CoreRanges.parse(str(ranges)) == ranges


@given(core_sets, core_sets)
def test_sets_behave_as_sets(left: frozenset[tuple[int, int]], right: frozenset[tuple[int, int]]) -> None:
    union = CoreRanges.at(*left) | CoreRanges.at(*right)

    assert set(union) == left | right
    assert (CoreRanges.at(*left) == CoreRanges.at(*right)) == (left == right)
    assert all(core in union for core in left)
    assert (20, 20) not in union
