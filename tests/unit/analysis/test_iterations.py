"""Rounds are found in what is launched: the longest stretch that repeats at least three times."""

import pytest

from ttmem.analysis.growth import repeated

LAYERS = [1, 2, 3] * 8


@pytest.mark.parametrize(
    ("launches", "first", "length", "rounds"),
    [
        ([5, 6, 7] * 4, 0, 3, 4),
        ([9, 9, 8, *[5, 6, 7] * 4, 4], 3, 3, 4),
        ([*[0, *LAYERS, 4] * 3, 7], 0, 26, 3),  # a round of layers within a round
        ([1, 1, 2, 2] * 5, 0, 4, 5),  # nothing is launched once in a round
        ([3] * 6, 0, 1, 6),
        ([8, *[1, 2] * 3, 8, *[4, 5, 6] * 9], 8, 3, 9),  # the longer of two
    ],
)
def test_rounds_are_found(launches: list[int], first: int, length: int, rounds: int) -> None:
    found = repeated(launches)

    assert found == (first, length, rounds)


@pytest.mark.parametrize("launches", [[], [1], [1, 2, 1, 2], list(range(20)), [1, 2, 3, 4, 1, 2, 9, 1]])
def test_what_does_not_repeat_three_times_has_no_rounds(launches: list[int]) -> None:
    assert repeated(launches) is None
