"""Every key of the table does what its words say, on a state with simulated figures."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.simulated.figure_queries import a_frame
from ttmem.monitor.panels.keys import KEYS, action_of
from ttmem.monitor.settings import VIEWS, Settings, load
from ttmem.monitor.state import MonitorState
from ttmem.view.table import Line, Role


@dataclass
class Before:
    """What was there before a key was pressed."""

    view: str
    settings: Settings
    text: str


def text_of(lines: list[Line]) -> str:
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)


def a_state(tmp_path: Path, view: str = "processes", **options: bool) -> MonitorState:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    state = MonitorState(Settings(view=view), environ, is_readonly=options.get("is_readonly", False), banner="")
    state.resize(120, 30)
    state.take(a_frame())
    state.picture()
    return state


def shows(words: str) -> Callable[[MonitorState, Before], bool]:
    return lambda state, before: words in text_of(state.picture())


def cursor_row(state: MonitorState) -> int:
    return next(
        (
            row
            for row, line in enumerate(state.picture())
            if row and any(span.role is Role.SELECTED and span.text.strip() for span in line)
        ),
        -1,
    )


# Where a key is pressed, what is pressed before it, and what must be so afterwards.
Story = tuple[str, tuple[str, ...], Callable[[MonitorState, Before], bool]]
STORIES: dict[str, Story] = {
    "help": ("processes", (), shows("Keys  1-")),
    "tab_next": ("processes", (), lambda state, _: state.view == "l1_map"),
    "tab_previous": ("processes", (), lambda state, _: state.view == "overview"),
    "pause": ("processes", (), lambda state, _: state.is_paused and "paused" in text_of(state.picture())),
    "now": ("processes", (), lambda state, _: state.requests == ["now"]),
    "faster": ("processes", (), lambda state, _: state.settings.interval == 0.5),
    "slower": ("processes", (), lambda state, _: state.settings.interval == 2.0),
    "alerts": ("processes", (), lambda state, _: state.view == "incidents"),
    "holders": ("processes", (), shows("Keys  1-")),
    "seen": ("overview", (), lambda state, _: state.note == "no incidents"),
    "copy": ("overview", (), lambda state, _: "nothing to copy" in state.note),
    "order": ("overview", (), lambda state, _: state.views.state("overview").order == "fullest"),
    "group": ("overview", (), lambda state, _: state.views.state("overview").is_grouped is True),
    "reset_peaks": ("processes", (), lambda state, _: state.requests == ["reset_peaks"]),
    "quit": ("processes", (), lambda state, _: state.is_over),
    "suspend": ("processes", (), lambda state, _: state.requests == ["suspend"]),
    "up": ("processes", ("down", "down"), lambda state, _: cursor_row(state) == 4),
    "down": ("processes", (), lambda state, _: cursor_row(state) == 4),
    "left": ("overview", ("right", "right"), lambda state, _: state.views.state("overview").chip == 0),
    "right": ("overview", ("right",), lambda state, _: state.views.state("overview").chip == 1),
    "page_up": ("processes", ("end",), lambda state, _: cursor_row(state) == 3),
    "page_down": ("processes", (), lambda state, _: cursor_row(state) == 8),
    "home": ("processes", ("down", "down"), lambda state, _: cursor_row(state) == 3),
    "end": ("processes", (), lambda state, _: cursor_row(state) == 8),
    "open": ("processes", ("down",), lambda state, _: state.views.state("processes").opened is not None),
    "close": ("processes", ("enter",), lambda state, _: state.views.state("processes").opened is None),
    "tag": ("processes", (), lambda state, _: len(state.views.state("processes").tags) == 1),
    "tag_none": ("processes", ("space", "space"), lambda state, _: not state.views.state("processes").tags),
    "tree": ("processes", (), lambda state, _: state.views.state("processes").is_tree),
    "filter": ("processes", (), lambda state, _: state.is_typing and "Filter:" in text_of(state.picture())),
    "search": ("processes", (), lambda state, _: state.is_typing and "Search:" in text_of(state.picture())),
    "user": ("processes", (), shows("Processes of")),
    "environment": ("processes", (), shows("Environment of 4006")),
    "kill": ("processes", (), shows(" 9 SIGKILL")),
    "kill:9": ("processes", (), lambda state, _: "4006" in state.note),  # no such process: refused, and said
    "sort": ("processes", (), shows("Sort by")),
    "sort_previous": ("processes", (), lambda state, _: state.views.state("processes").sort == "chips"),
    "sort_next": ("processes", (), lambda state, _: state.views.state("processes").sort == "peak"),
    "sort:memory": ("processes", ("P",), lambda state, _: state.views.state("processes").sort == "dram"),
    "sort:pid": ("processes", (), lambda state, _: state.views.state("processes").sort == "pid"),
    "sort:label": ("processes", (), lambda state, _: state.views.state("processes").sort == "label"),
    "terminate": ("processes", (), lambda state, _: state.views.state("processes").sort == "age"),
    "interrupt": ("processes", (), lambda state, _: state.views.state("processes").is_inverted),
    "sort_letter": ("processes", (), lambda state, _: "Sort by:" in text_of(state.picture())),
    "layout:auto": ("overview", ("c",), lambda state, _: state.settings.layout == "auto"),
    "layout:full": ("overview", (), lambda state, before: state.settings.layout == "full"),
    "layout:compact": ("overview", ("f",), lambda state, before: text_of(state.picture()) != before.text),
    "zoom": ("charts", (), lambda state, _: state.wanted().history_seconds == 300),
    "next_pool": ("charts", (), lambda state, _: state.views.state("charts").pool == "dram"),
    "dark": ("overview", (), lambda state, _: state.settings.theme == "light"),
    "setup": ("overview", (), shows("Mark memory from")),
    "save": ("overview", ("d",), lambda state, _: load(state._environ)[0].theme == "light"),
}


@pytest.mark.parametrize("name", [name for key in KEYS for name in key.names])
def test_a_key_does_what_the_table_says(tmp_path: Path, name: str) -> None:
    action = action_of(name)
    if action.startswith("tab:"):
        state = a_state(tmp_path)
        state.press(name)
        assert state.view == VIEWS[int(name) - 1]
        assert state.picture()
        return
    view, first, is_so = STORIES[action]
    state = a_state(tmp_path, view)
    for key in first:
        state.press(key)
    before = Before(state.view, state.settings, text_of(state.picture()))
    assert not is_so(state, before), "it was so before, and the test could not fail"

    state.press(name)

    assert is_so(state, before), text_of(state.picture())


def test_every_action_has_its_story() -> None:
    assert {key.action for key in KEYS} - {"tab:"} == set(STORIES)


def test_a_key_that_is_not_in_the_table_does_nothing(tmp_path: Path) -> None:
    state = a_state(tmp_path)
    before = state.picture()

    for name in ("f7", "ctrl+x", "ü", ""):
        state.press(name)

    assert state.picture() == before
