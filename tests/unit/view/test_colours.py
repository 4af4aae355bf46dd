"""Colours: as deep as the terminal goes, none where none are wanted, and never the only sign."""

from collections.abc import Iterator

import pytest

from ttmem.view.screen import USUAL_LEVELS, Colours, Depth, colour_depth, depth_for, level_of, levels_from, use_levels
from ttmem.view.table import Role, Span


@pytest.mark.parametrize(
    ("environ", "depth"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, Depth.TRUE),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "TMUX": "/tmp/tmux"}, Depth.INDEXED),
        ({"TERM": "xterm-256color"}, Depth.INDEXED),
        ({"TERM": "xterm"}, Depth.SIXTEEN),
        ({"TERM": "dumb"}, Depth.NONE),
        ({}, Depth.NONE),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, Depth.NONE),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, Depth.INDEXED),
    ],
)
def test_the_depth_follows_from_the_environment(environ: dict[str, str], depth: Depth) -> None:
    assert colour_depth(environ, is_terminal=True) is depth


def test_what_is_no_terminal_gets_no_colour() -> None:
    assert colour_depth({"TERM": "xterm-256color"}, is_terminal=False) is Depth.NONE


@pytest.mark.parametrize(
    ("depth", "text"),
    [
        (Depth.NONE, "full"),
        (Depth.SIXTEEN, "\x1b[1;31mfull\x1b[0m"),
        (Depth.INDEXED, "\x1b[1;38;5;210mfull\x1b[0m"),
        (Depth.TRUE, "\x1b[1;38;2;255;123;114mfull\x1b[0m"),
    ],
)
def test_a_role_is_painted_in_its_colour(depth: Depth, text: str) -> None:
    assert Colours(depth).painted([(Span("full", Role.FULL),)]) == f"{text}\n"


def test_plain_text_keeps_the_colour_of_the_terminal() -> None:
    assert Colours(Depth.TRUE).painted([(Span("words"), Span("  "))]) == "words\n"


def test_every_level_has_a_word() -> None:
    assert [level_of(percent / 100) for percent in USUAL_LEVELS] == ["taken", "high", "full"]
    assert (level_of(0.1), level_of(None)) == ("", "")


@pytest.mark.parametrize(
    ("environ", "is_terminal", "colours", "depth"),
    [
        ({"TERM": "xterm-256color"}, True, "auto", Depth.INDEXED),
        ({"TERM": "xterm-256color"}, False, "auto", Depth.NONE),
        ({"TERM": "xterm-256color"}, True, "never", Depth.NONE),
        ({"TERM": "xterm-256color"}, False, "always", Depth.INDEXED),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True, "always", Depth.INDEXED),
        ({"TERM": "dumb"}, False, "always", Depth.SIXTEEN),
        ({}, False, "always", Depth.SIXTEEN),
    ],
)
def test_colours_may_be_asked_for_or_refused(
    environ: dict[str, str], is_terminal: bool, colours: str, depth: Depth
) -> None:
    assert depth_for(environ, colours, is_terminal=is_terminal) is depth


@pytest.fixture
def usual_levels() -> Iterator[None]:
    yield
    use_levels(USUAL_LEVELS)


@pytest.mark.usefixtures("usual_levels")
def test_what_counts_as_full_can_be_chosen() -> None:
    use_levels(levels_from("10, 20,100"))

    assert [level_of(share) for share in (0.09, 0.1, 0.2, 0.99, 1.0)] == ["", "taken", "high", "high", "full"]


@pytest.mark.parametrize(
    "value",
    ["", "60", "60,80", "60,80,95,99", "80,60,95", "0,1,2", "60,80,101", "60,80,80", "a,b,c", [1, 2], None, 7, {}],
)
def test_levels_that_make_no_sense_are_refused_with_an_example(value: object) -> None:
    with pytest.raises(ValueError, match=r"expected three rising percentages of at most 100, such as 60,80,95; found"):
        levels_from(value)
