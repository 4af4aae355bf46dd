"""Panels take keys and pass on what was chosen; boxes lie over lines without moving what is beside them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttmem.monitor.panels.menu import Menu, SortLetter
from ttmem.monitor.panels.page import TextPage
from ttmem.monitor.panels.panel import Panel, Question, boxed, overlaid
from ttmem.monitor.panels.prompt import Prompt
from ttmem.monitor.parts.drawing import DrawArea
from ttmem.view.table import Line, Role, Span, width_of

AREA = DrawArea(60, 12)
WORDS = st.text(st.sampled_from("ab █é漢"), max_size=30)


def plain(line: Line) -> str:
    return "".join(span.text for span in line)


def pressed(panel: Panel, *keys: str) -> bool:
    """Whether it is still open."""
    return [panel.press(key, AREA) for key in keys][-1]


@settings(max_examples=50, deadline=None)
@given(st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=12), st.integers(8, 60), st.integers(3, 12))
def test_a_box_covers_the_middle_and_nothing_else(inside: list[str], below: list[str], width: int, height: int) -> None:
    area = DrawArea(width, height)
    lines = [(Span(text),) for text in below][:height]
    box = boxed("Title", [(Span(text),) for text in inside], area)

    whole = overlaid(lines, box, area)

    assert len(whole) == height
    assert len({sum(span.width for span in line) for line in box}) == 1
    widest = max([width, *(width_of(plain(line)) for line in lines)])
    assert all(width_of(plain(line)) <= widest for line in whole)
    shown = [plain(line) for line in whole]
    assert sum("Title" in text for text in shown) == 1 or width < 11


def test_a_prompt_is_typed_into_as_everywhere() -> None:
    chosen_values: list[str] = []
    prompt = Prompt("Filter", chosen_values.append, text="old")

    assert pressed(prompt, "ctrl+u", *"abc", "left", "left", "X", "end", "space", "d", "home", "delete", "right")
    assert chosen_values[-1] == "Xbc d"
    assert pressed(prompt, "backspace", "end", "ctrl+w", "f7", "漢")
    assert chosen_values[-1] == "bc 漢"
    assert not pressed(prompt, "escape")
    assert chosen_values[-1] == "old"


def test_the_cursor_of_a_prompt_stays_visible() -> None:
    prompt = Prompt("Filter", lambda text: None)
    pressed(prompt, *("x" * 200), "Y")

    [line] = prompt.draw(AREA)

    assert plain(line).startswith(" Filter: ")
    assert "Y" in plain(line)
    assert sum(span.width for span in line) <= AREA.width
    assert any(span.role is Role.SELECTED for span in line)


@pytest.mark.parametrize(("keys", "chosen"), [(["enter"], "b"), (["down", "enter"], "c"), (["home", "enter"], "a"),
                                              (["c", "enter"], "c"), (["up", "up", "up", "enter"], "a"),
                                              (["end", "pageup", "enter"], "a")])  # fmt: skip
def test_a_menu_passes_on_what_was_chosen(keys: list[str], chosen: str) -> None:
    chosen_values: list[str] = []
    menu = Menu("Pick", [("a", "apple"), ("b", "bear"), ("c", "cat")], chosen_values.append, chosen="b")

    assert not pressed(menu, *keys)
    assert chosen_values == [chosen]


def test_a_menu_that_is_left_passes_on_nothing() -> None:
    chosen_values: list[str] = []
    menu = Menu("Pick", [("a", "apple")], chosen_values.append)

    assert pressed(menu, "x", "left")
    assert not pressed(menu, "escape")
    assert chosen_values == []


def test_a_menu_longer_than_the_screen_shows_what_the_cursor_is_on() -> None:
    menu = Menu("Pick", [(str(at), f"entry {at}") for at in range(100)], lambda value: None)
    pressed(menu, *["down"] * 57)

    lines = menu.draw(AREA)

    assert len(lines) <= AREA.height
    assert any("entry 57" in plain(line) and Role.SELECTED in [span.role for span in line] for line in lines)


def test_a_letter_goes_from_one_column_to_the_next_that_begins_with_it() -> None:
    chosen_values: list[str] = []
    for chosen in ("pid", "peak", "dram"):
        pressed(SortLetter(["pid", "dram", "peak"], chosen_values.append, chosen=chosen), "P")
    pressed(SortLetter(["pid"], chosen_values.append, chosen="pid"), "x")

    assert chosen_values == ["peak", "pid", "pid"]


def test_a_question_with_more_lines_than_room_says_how_many_it_leaves_out() -> None:
    question = Question("Sure?", [(Span(f"line {at}"),) for at in range(30)], lambda: None, lambda: None)

    text = "\n".join(map(plain, question.draw(AREA)))

    assert "... and 23 more" in text
    assert "line 6" in text
    assert "line 7" not in text


def test_a_page_scrolls_within_its_lines_and_is_left_by_many_keys() -> None:
    page = TextPage("Title", lambda area: [(Span(f"line {at}"),) for at in range(40)])
    pressed(page, "end")
    assert plain(page.draw(AREA)[-1]) == "line 39"
    pressed(page, "home", "down", "pagedown")
    assert plain(page.draw(AREA)[1]) == "line 11"
    assert "12-22 of 40" in plain(page.draw(AREA)[0])
    for key in ("escape", "q", "enter", "f1"):
        assert not page.press(key, AREA)
