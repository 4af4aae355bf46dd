"""What is painted: rows of the picture, in colours that suit the terminal, or in none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Region

from ttmem.monitor.app import Canvas, joined, strip_of, theme
from ttmem.view.table import Line, Role, Span, width_of

DARK = theme(is_light=False, has_colour=True)
SPANS = st.builds(Span, st.text(st.sampled_from("ab █漢"), max_size=8), st.sampled_from(Role))
LINES = st.lists(SPANS, max_size=8).map(tuple)


@given(LINES, st.integers(1, 40))
def test_a_row_is_exactly_as_wide_as_the_terminal_and_says_what_the_line_says(line: Line, width: int) -> None:
    text = "".join(span.text for span in line)

    strip = strip_of(line, DARK, width)

    assert strip.cell_length == sum(segment.cell_length for segment in strip) == width
    if width_of(text) <= width:
        assert strip.text == text + " " * (width - width_of(text))
    else:
        assert text.startswith(strip.text.rstrip())


@given(LINES)
def test_pieces_of_one_style_are_joined_and_letters_keep_theirs(line: Line) -> None:
    def seen(parts: object) -> list[tuple[str, Role | bool]]:
        return [
            (character, role if character != " " else role is Role.SELECTED)
            for text, role in parts  # type: ignore[attr-defined]
            for character in text
        ]

    pieces = joined(line)

    assert seen(pieces) == seen(line)
    assert len(pieces) <= len(line)


class Watched(Canvas):
    """Notes what textual is asked to paint; nothing: all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[Region, ...]] = []

    def refresh(self, *regions: Region, **flags: bool) -> "Watched":
        self.asked.append(regions)
        return self


def picture(numbers: list[int]) -> tuple[Line, ...]:
    return tuple((Span(str(number)),) for number in numbers)


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_only_rows_that_differ_are_painted(before: list[int], after: list[int]) -> None:
    canvas = Watched()
    canvas.show(picture(before), DARK, 10)
    canvas.asked.clear()

    canvas.show(picture(after), DARK, 10)

    longest = max(len(before), len(after))
    changed = [row for row in range(longest) if before[row : row + 1] != after[row : row + 1]]
    assert [region for regions in canvas.asked for region in regions] == [Region(0, row, 10, 1) for row in changed]
    assert all(canvas.asked)
    assert [canvas.render_line(row).text.strip() for row in range(12)] == [
        *map(str, after),
        *[""] * (12 - len(after)),
    ]


@given(st.lists(st.lists(st.integers(0, 3), max_size=12), min_size=1, max_size=4))
def test_rows_that_were_drawn_before_are_those_of_a_canvas_without_them(pictures: list[list[int]]) -> None:
    canvas, fresh = Watched(), Watched()
    for numbers in pictures:
        canvas.show(picture(numbers), DARK, 10)

    fresh.show(picture(pictures[-1]), DARK, 10)

    assert [canvas.render_line(row) for row in range(12)] == [fresh.render_line(row) for row in range(12)]


def test_another_theme_or_width_paints_all_of_it() -> None:
    canvas = Watched()
    light = theme(is_light=True, has_colour=True)
    for styles, width in ((DARK, 10), (light, 10), (light, 12)):
        canvas.asked.clear()
        canvas.show(picture([1, 2]), styles, width)
        assert () in canvas.asked
        assert canvas.render_line(1) == strip_of(picture([2])[0], styles, width)


@pytest.mark.parametrize("is_light", [False, True])
def test_without_colours_nothing_has_one_and_the_cursor_is_still_to_be_seen(is_light: bool) -> None:
    styles = theme(is_light=is_light, has_colour=False)

    assert set(styles) == set(Role)
    assert all(style.color is None and style.bgcolor is None for style in styles.values())
    assert styles[Role.SELECTED].reverse


@pytest.mark.parametrize("is_light", [False, True])
def test_every_role_stands_out_from_its_background(is_light: bool) -> None:
    for role, style in theme(is_light=is_light, has_colour=True).items():
        assert style.color is not None
        assert style.bgcolor is not None
        front, back = (style.color.get_truecolor(), style.bgcolor.get_truecolor())
        is_drawn = role.is_bar or role is Role.COURSE
        least = 1.4 if is_drawn else 3.0  # bars have their length; words have to be read
        assert contrast(front, back) >= least, role


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """As the web's accessibility guidelines have it: 1 is none, 21 is black on white."""

    def light(rgb: tuple[int, int, int]) -> float:
        parts = [value / 255 for value in rgb]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    brighter, darker = sorted((light(one), light(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)
