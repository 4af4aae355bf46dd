"""Rules of room: what lies between holes, which buffer is the lowest, how much of a region was reached."""

from hypothesis import given
from hypothesis import strategies as st

from ttmem.analysis.room.advice import farthest
from ttmem.analysis.room.floor import PlacedBuffer, Stay, floors
from ttmem.analysis.room.holes import FreeSpan, pinned

END = 100
_blocks = st.lists(st.integers(0, 9), unique=True, max_size=8).map(
    lambda tens: [(10 * ten, 10 * ten + 10) for ten in tens]
)


def test_what_has_a_hole_on_both_sides_pins_them() -> None:
    found, holes = pinned([FreeSpan(10, 20, 1), FreeSpan(20, 30, 2), FreeSpan(50, 60, 3)], 0, 100)

    assert found == [(1, {0, 1}), (2, {0, 1}), (3, {1, 2})]
    assert holes == [10, 20, 40]


def test_what_lies_at_an_end_pins_nothing() -> None:
    found, holes = pinned([FreeSpan(0, 30, 1), FreeSpan(90, 100, 2)], 0, 100)

    assert (found, [hole for hole in holes if hole]) == ([], [60])


@given(_blocks)
def test_holes_and_blocks_are_all_there_is(blocks: list[tuple[int, int]]) -> None:
    found, holes = pinned([FreeSpan(begin, end, owner) for owner, (begin, end) in enumerate(blocks)], 0, END)

    assert sum(holes) + sum(end - begin for begin, end in blocks) == END
    assert {owner for owner, _ in found} <= set(range(len(blocks)))
    for owner, beside in found:
        assert all(holes[hole] for hole in beside), owner


def test_the_floor_is_the_lowest_of_those_alive() -> None:
    placed = [PlacedBuffer(1, 0, 500), PlacedBuffer(2, 4, 300), PlacedBuffer(3, 6, 200)]

    assert floors(placed, 9) == [Stay(1, 2, 0), Stay(2, 3, 1), Stay(3, 6, 2), Stay(6, 9, 0)]


_lives = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(0, 5)).map(
        lambda one: PlacedBuffer(one[0], one[0] + one[1], one[2])
    ),
    max_size=10,
)


@given(_lives)
def test_at_every_moment_it_is(placed: list[PlacedBuffer]) -> None:
    stays = floors(placed, 40)

    for moment in range(40):
        alive = [one.address for one in placed if one.begin_ns <= moment < one.end_ns]
        told = [stay.place for stay in stays if stay.begin_ns <= moment < stay.end_ns]
        lowest = placed[told[0]].address if told and told[0] is not None else None
        assert lowest == min(alive, default=None)


def test_a_region_was_reached_from_the_end_at_which_the_runtime_begins() -> None:
    assert farthest(100, 200, 120, 150, is_from_top=False) == 50
    assert farthest(100, 200, 120, 150, is_from_top=True) == 80
