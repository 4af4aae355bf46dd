"""Sparklines: as wide as asked, no spike lost, nothing and unknown told apart."""

from hypothesis import given
from hypothesis import strategies as st

from ttmem.view.texts import sparkline

SAMPLES = st.lists(st.none() | st.integers(0, 1 << 40), max_size=100)


@given(SAMPLES, st.integers(0, 60), st.booleans())
def test_a_sparkline_is_as_wide_as_asked(samples: list[int | None], width: int, is_ascii: bool) -> None:
    text = sparkline(samples, width, is_ascii)

    assert len(text) == width
    assert text.isascii() or not is_ascii


@given(st.integers(2, 40), st.integers(0, 199))
def test_a_spike_is_never_lost(width: int, at: int) -> None:
    samples = [1] * at + [1000] + [1] * (199 - at)

    assert sparkline(samples, width).count("█") == 1


def test_nothing_is_the_lowest_and_unknown_is_blank() -> None:
    assert sparkline([None, 0, 1, 50, 100], 5) == " ▁▂▄█"


def test_a_few_samples_stand_on_the_right() -> None:
    assert sparkline([4, 4], 5) == "   ██"


def test_against_a_capacity_only_a_full_pool_is_full() -> None:
    assert sparkline([50, 99, 100], 3, top=100) == "▄▇█"
    assert sparkline([50, 99, 100], 3, True, top=100) == "=%#"
