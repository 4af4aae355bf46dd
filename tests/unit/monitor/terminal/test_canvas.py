"""What is painted: rows as the desk draws them, in colours that suit the terminal, or in none."""

import io
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ttmem.monitor.terminal import stage
from ttmem.monitor.terminal.canvas import Canvas, _differing, _joined
from ttmem.monitor.terminal.stage import ENTER, LEAVE, STAGE, first_picture, staged
from ttmem.monitor.terminal.themes import codes, theme
from ttmem.view.colours import Depth
from ttmem.view.spans import Line, Role, Span, width_of

SPANS = st.builds(Span, st.text(st.sampled_from("ab █漢"), max_size=8), st.sampled_from(Role))
LINES = st.lists(SPANS, max_size=8).map(tuple)


@given(LINES, st.integers(1, 40))
def test_a_row_is_exactly_as_wide_as_the_terminal_and_says_what_the_line_says(line: Line, width: int) -> None:
    text = "".join(span.text for span in line)

    strip = painted_by_toolkit(line, width).render_line(0)

    assert strip.cell_length == sum(segment.cell_length for segment in strip) == width
    if width_of(text) <= width:
        assert strip.text == text + " " * (width - width_of(text))
    else:
        assert text.startswith(strip.text.rstrip())


def painted_by_toolkit(line: Line, width: int) -> Canvas:
    canvas = Canvas(theme(is_light=False, has_colour=True))
    canvas._lines, canvas._width = (line,), width
    return canvas


@given(LINES, st.integers(1, 40), st.sampled_from(["standard", "256", "truecolor"]))
def test_a_row_that_is_written_looks_as_when_the_toolkit_paints_it(line: Line, width: int, system: Any) -> None:
    canvas = painted_by_toolkit(line, width)
    console = Console(color_system=system, force_terminal=True, file=io.StringIO(), _environ={})
    canvas._codes = codes(canvas._theme, console)

    place, *written = looks(canvas._written(0))

    assert place == ("\x1b[1;1H", "")
    assert written == looks(canvas.render_line(0).render(console))


def looks(text: str) -> list[tuple[str, str]]:
    """Each character and the style it has on a terminal."""
    found, style = [], ""
    for part in re.findall(r"\x1b\[[0-9;]*m|\x1b\[[0-9;]*H|.", text):
        if part.endswith("m") and part.startswith("\x1b"):
            style = part[2:-1].removeprefix("0").removeprefix(";")
        else:
            found.append((part, style))
    return found


@given(LINES)
def test_pieces_that_look_alike_are_one_and_letters_keep_their_looks(line: Line) -> None:
    def seen(pieces: object) -> list[tuple[str, Role | bool]]:
        return [
            (character, role if character != " " else role is Role.SELECTED)
            for text, role in pieces  # type: ignore[attr-defined]
            for character in text
        ]

    joined = _joined(line)

    assert seen(joined) == seen(line)
    assert len(joined) <= len(line)


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_only_rows_that_differ_are_painted(before: list[int], after: list[int]) -> None:
    def picture(numbers: list[int]) -> tuple[Line, ...]:
        return tuple((Span(str(number)),) for number in numbers)

    rows = _differing(picture(before), picture(after))

    longest = max(len(before), len(after))
    assert rows == [row for row in range(longest) if before[row : row + 1] != after[row : row + 1]]


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


@pytest.fixture
def painted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    texts: list[str] = []
    monkeypatch.setattr(stage, "_write", texts.append)
    yield texts
    STAGE.is_entered = False


@pytest.mark.parametrize("depth", Depth)
@pytest.mark.parametrize("is_light", [False, True])
def test_the_first_picture_has_the_words_and_only_colours_the_terminal_knows(
    painted: list[str], depth: Depth, is_light: bool
) -> None:
    lines = [tuple(Span(role.value, role) for role in Role), (Span("second"),)]

    first_picture(lines, depth=depth, is_light=is_light)

    [text] = painted
    assert text.startswith(ENTER)
    words = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
    assert words == "".join(role.value for role in Role) + "\r\nsecond"
    assert ("38;2;" in text) == (depth is Depth.TRUE)
    assert ("38;5;" in text) == (depth is Depth.INDEXED)
    codes = re.findall(r"\x1b\[([0-9;]*)m", text)
    assert (depth is Depth.NONE) == all(set(code.split(";")) <= {"0", "1", "7"} for code in codes)


def test_what_was_entered_is_left_whatever_happens(painted: list[str]) -> None:
    def breaking() -> None:
        with staged():
            first_picture([(Span("x"),)], depth=Depth.NONE, is_light=False)
            raise RuntimeError("a fault")

    with pytest.raises(RuntimeError, match="a fault"):
        breaking()

    assert LEAVE in painted[-1]
    assert painted[-1].endswith("\x1b[?25h")
    with staged():
        pass
    assert sum(LEAVE in text for text in painted) == 1  # what was not entered is not left


def test_standard_output_that_is_gone_is_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "__stdout__", full)
        stage._write("x")
