"""Bars: as wide as asked for, true to what they show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem.view.bars import Part, Ticks, bar, filled_columns, meter, stacked_bar
from ttmem.view.table import Line, Role

FRACTIONS = st.floats(0, 3, allow_nan=False)


def text_of(line: Line) -> str:
    return "".join(span.text for span in line)


@given(FRACTIONS, FRACTIONS, st.integers(1, 60), st.booleans())
def test_a_bar_is_exactly_as_wide_as_asked_for(used: float, peak: float, width: int, is_ascii: bool) -> None:
    assert sum(span.width for span in bar(used, peak, width, is_ascii=is_ascii)) == width


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 60))
def test_only_what_is_full_looks_full(used: float, width: int) -> None:
    [first, *_] = bar(used, used, width)

    assert filled_columns(first.text) < width or first.role in (Role.BAR_REST, Role.BAR_PEAK)


@pytest.mark.parametrize("is_ascii", [False, True])
def test_a_little_is_not_nothing(is_ascii: bool) -> None:
    assert bar(1e-9, 1e-9, 10, is_ascii=is_ascii)[0].role is Role.BAR_GOOD


@pytest.mark.parametrize(
    ("used", "peak", "text"),
    [
        (0, 0, "░░░░░░░░"),
        (0.5, 0.5, "████░░░░"),
        (0.5, 0.75, "████▒▒░░"),
        (0.55, 0.75, "████▍▒░░"),
        (0.5, 0.51, "████▒░░░"),
        (1, 1, "████████"),
        (1.2, 1.2, "████████"),
    ],
)
def test_a_bar_shows_used_peak_and_rest(used: float, peak: float, text: str) -> None:
    assert text_of(bar(used, peak, 8)) == text


def test_a_bar_can_do_without_block_characters() -> None:
    assert text_of(bar(0.5, 0.75, 8, is_ascii=True)) == "####==.."
    assert text_of(bar(0.55, 0.55, 8, is_ascii=True)) == "####...."


@pytest.mark.parametrize(
    ("used", "role"),
    [(0.59, Role.BAR_GOOD), (0.6, Role.BAR_BUSY), (0.8, Role.BAR_HIGH), (0.95, Role.BAR_FULL), (2.0, Role.BAR_FULL)],
)
def test_a_bar_is_coloured_by_how_full_it_is(used: float, role: Role) -> None:
    assert bar(used, used, 10)[0].role is role


A, B = Part(0.25, Role.BAR_BUFFER), Part(0.25, Role.BAR_CB, "▓", "c")


@pytest.mark.parametrize(
    ("parts", "peak", "text"),
    [
        ((), 0, "........"),
        ((A, B), 0.5, "##cc...."),
        ((A, B), 0.75, "##cc==.."),
        ((A, Part(0, Role.BAR_CB), B), 0.5, "##cc...."),
        ((A, Part(1e-9, Role.BAR_CB, "▓", "c"), A), 0, "##c#...."),
        ((A, A, A, A, B), 1.25, "########"),
    ],
)
def test_parts_of_a_bar_stand_in_their_order_and_to_scale(parts: tuple[Part, ...], peak: float, text: str) -> None:
    assert text_of(stacked_bar(parts, peak, 8, is_ascii=True)) == text


@given(st.lists(st.floats(0, 3), max_size=6), st.floats(0, 9), st.integers(1, 60))
def test_a_bar_of_parts_is_as_wide_as_it_should_be(fractions: list[float], peak: float, width: int) -> None:
    parts = [Part(fraction, Role.BAR_BUFFER) for fraction in fractions]

    assert len(text_of(stacked_bar(parts, peak, width))) == width


@pytest.mark.parametrize("is_ascii", [False, True])
def test_a_tick_of_a_meter_stands_where_its_share_lies_or_not_at_all(is_ascii: bool) -> None:
    for width in (7, 8, 40):
        for used, peak in ((0.40, 0.42), (0.40, 0.56), (0.0, 0.3), (0.99, 1.0), (0.12, 0.9), (1.0, 1.0)):
            line = meter([Part(used, Role.BAR_DRAM)], width, Ticks(peak=peak), is_ascii=is_ascii)

            text = "".join(span.text for span in line)
            at = text.find("|" if is_ascii else "│")
            filled = sum(span.width for span in line if span.role is Role.BAR_DRAM)
            assert at in (-1, min(width - 1, int(peak * width)))
            assert (at == -1) == (int(peak * width) < filled or filled == width)
