"""Text on its way to a terminal: its width, its cuts, and nothing in it that a terminal would obey."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttmem.view.table import Span, broken, clean, clipped, plain, width_of


def test_what_changes_the_width_of_its_neighbour_is_not_passed_on() -> None:
    assert clean("RTL\ufe0f 1\ufe0f\u20e3 \U0001f44d\U0001f3fd \u1112\u1161") == "RTL? 1?? \U0001f44d? \u1112?"
    assert width_of("\u0e01\u0e34") == 1  # a vowel sign that stands above its letter


def test_wide_characters_take_two_columns_and_accents_none() -> None:
    assert (width_of("abc"), width_of("日本"), width_of("e\u0301")) == (3, 4, 1)


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
    ],
)
def test_a_cut_text_fits_and_shows_that_it_was_cut(text: str, width: int, cut: str) -> None:
    assert clipped(text, width) == cut
    assert width_of(clipped(text, width)) <= width


def test_a_cut_can_be_ascii() -> None:
    assert clipped("abcd", 3, is_ascii=True) == "ab~"


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\rb", "a\nb", "\x9b2J", "\u202eabc"])
def test_what_a_terminal_would_obey_is_replaced(text: str) -> None:
    assert clean(text).isprintable()


def test_lines_lose_the_blanks_at_their_ends() -> None:
    assert plain([(Span("a "), Span("  ")), ()]) == "a\n\n"


@given(text=st.text("ab -,\t\n·"), width=st.integers(1, 12))
def test_a_sentence_breaks_as_textwrap_breaks_it(text: str, width: int) -> None:
    assert broken(text, width) == textwrap.wrap(text, width)
    assert broken(text, None) == textwrap.wrap(text, 10_000)
