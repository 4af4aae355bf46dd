"""The pen: where it is, and what becomes of what does not fit."""

from hypothesis import given
from hypothesis import strategies as st

from tests.support.simulated.random_rows import TEXTS
from ttmem.monitor.parts.drawing import Pen
from ttmem.view.table import width_of


def text_of(pen: Pen) -> str:
    return "".join(span.text for span in pen.done())


def test_a_number_that_is_too_wide_is_left_out_and_never_cut() -> None:
    assert text_of(Pen().right("12345", 4).left("67890", 4).put("|")) == "        |"
    assert text_of(Pen().right("1234", 4).left("6789", 5).put("|")) == "12346789 |"


@given(TEXTS, st.integers(0, 20), st.booleans())
def test_a_name_takes_exactly_its_columns(name: str, width: int, is_ascii: bool) -> None:
    pen = Pen().name(name, width, is_ascii=is_ascii)

    assert width_of(text_of(pen)) == pen.at == width
    assert text_of(pen).isprintable()
    assert text_of(pen).isascii() or not is_ascii


def test_a_cut_name_shows_that_it_was_cut() -> None:
    assert text_of(Pen().name("whisper", 4)) == "whi…"
    assert text_of(Pen().name("whisper", 4, is_ascii=True)) == "whi~"


def test_it_goes_on_to_a_column_and_never_back() -> None:
    assert text_of(Pen().put("ab").to(4).put("c").to(2)) == "ab  c"
