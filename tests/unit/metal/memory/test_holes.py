"""Free blocks against a model that looks at every single byte."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem.metal.memory.holes import Holes

BANK_BYTES = 48
# What to do: take so many bytes from an end, or give back one of those that were taken.
TAKING = st.tuples(st.sampled_from(["lowest", "highest"]), st.integers(1, 12))
GIVING = st.tuples(st.just("back"), st.integers(0, 100))


class Bytes:
    """A bank as a list of bytes, free or not: slow, and hard to get wrong."""

    def __init__(self, size_bytes: int) -> None:
        self.is_free = [True] * size_bytes

    def take(self, size_bytes: int, end: str) -> int | None:
        places = range(len(self.is_free) - size_bytes + 1)
        for start in places if end == "lowest" else reversed(places):
            if all(self.is_free[start : start + size_bytes]):
                self.is_free[start : start + size_bytes] = [False] * size_bytes
                return start
        return None

    def put_back(self, start: int, size_bytes: int) -> None:
        assert not any(self.is_free[start : start + size_bytes])
        self.is_free[start : start + size_bytes] = [True] * size_bytes

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Starts and lengths of what is free, as long as they go."""
        runs: list[tuple[int, int]] = []
        for place, is_free in enumerate(self.is_free):
            if is_free and runs and sum(runs[-1]) == place:
                runs[-1] = (runs[-1][0], runs[-1][1] + 1)
            elif is_free:
                runs.append((place, 1))
        return runs


def taken_from(holes: Holes, size_bytes: int, end: str) -> int | None:
    return holes.take_lowest(size_bytes) if end == "lowest" else holes.take_highest(size_bytes)


@given(st.lists(TAKING | GIVING, max_size=80), st.integers(1, 4))
def test_every_step_does_what_it_does_to_a_list_of_bytes(steps: list[tuple[str, int]], chunk_length: int) -> None:
    holes, naive = Holes(BANK_BYTES, chunk_length=chunk_length), Bytes(BANK_BYTES)
    taken: list[tuple[int, int]] = []

    for word, number in steps:
        if word == "back":
            if taken:
                block = taken.pop(number % len(taken))
                holes.put_back(*block)
                naive.put_back(*block)
        else:
            start = taken_from(holes, number, word)
            assert start == naive.take(number, word)
            if start is not None:
                taken.append((start, number))
        assert list(holes) == naive.runs
        assert holes.largest_bytes == max((size for _, size in naive.runs), default=0)


@given(st.lists(TAKING, max_size=40), st.randoms(use_true_random=False))
def test_everything_put_back_in_any_order_is_one_block_again(
    steps: list[tuple[str, int]], shuffler: random.Random
) -> None:
    holes = Holes(BANK_BYTES, chunk_length=2)
    taken = []
    for word, number in steps:
        start = taken_from(holes, number, word)
        if start is not None:
            taken.append((start, number))
    shuffler.shuffle(taken)

    for block in taken:
        holes.put_back(*block)

    assert list(holes) == [(0, BANK_BYTES)]


@pytest.mark.parametrize("end", ["lowest", "highest"])
def test_many_holes_are_searched_as_few_are(end: str) -> None:
    """Enough of them for many chunks, compared with a list of bytes."""
    size_bytes, chooser = 6_000, random.Random(7)
    holes, naive = Holes(size_bytes), Bytes(size_bytes)
    singles = [taken_from(holes, 1, "lowest") for _ in range(size_bytes)]
    naive.is_free = [False] * size_bytes
    for start in chooser.sample(singles, 4_500):
        assert start is not None
        holes.put_back(start, 1)
        naive.put_back(start, 1)
    assert list(holes) == naive.runs
    assert len(naive.runs) > 1_000

    for _ in range(150):
        size = chooser.randint(1, 9)
        assert taken_from(holes, size, end) == naive.take(size, end)
    assert list(holes) == naive.runs


def test_a_bank_of_no_bytes_has_no_holes() -> None:
    holes = Holes(0)

    assert list(holes) == []
    assert holes.largest_bytes == 0
    assert holes.take_lowest(1) is holes.take_highest(1) is None
