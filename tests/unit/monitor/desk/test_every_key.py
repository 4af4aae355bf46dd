"""Every key of the table does what its words say, on a desk with made-up figures."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.simulated.sights_to_ask import a_frame
from ttmem.monitor.desk.desk import Desk
from ttmem.monitor.keys import KEYS, action_of
from ttmem.monitor.settings import VIEWS, Settings, load
from ttmem.view.spans import Line, Role


@dataclass
class Before:
    """What was there before a key was pressed."""

    view: str
    settings: Settings
    text: str


def text_of(lines: list[Line]) -> str:
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)


def a_desk(tmp_path: Path, view: str = "processes", **options: bool) -> Desk:
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    desk = Desk(Settings(view=view), environ, is_readonly=options.get("is_readonly", False), banner="")
    desk.resize(120, 30)
    desk.take(a_frame())
    desk.picture()
    return desk


def shows(words: str) -> Callable[[Desk, Before], bool]:
    return lambda desk, before: words in text_of(desk.picture())


def cursor_row(desk: Desk) -> int:
    return next(
        (
            row
            for row, line in enumerate(desk.picture())
            if row and any(span.role is Role.SELECTED and span.text.strip() for span in line)
        ),
        -1,
    )


# Where a key is pressed, what is pressed before it, and what must be so afterwards.
Story = tuple[str, tuple[str, ...], Callable[[Desk, Before], bool]]
STORIES: dict[str, Story] = {
    "help": ("processes", (), shows("Keys  1-")),
    "tab_next": ("processes", (), lambda desk, _: desk.view == "l1_map"),
    "tab_previous": ("processes", (), lambda desk, _: desk.view == "overview"),
    "pause": ("processes", (), lambda desk, _: desk.is_paused and "paused" in text_of(desk.picture())),
    "now": ("processes", (), lambda desk, _: desk.errands == ["now"]),
    "faster": ("processes", (), lambda desk, _: desk.settings.interval == 0.5),
    "slower": ("processes", (), lambda desk, _: desk.settings.interval == 2.0),
    "alerts": ("processes", (), shows("Alerts  Esc back")),
    "reset_peaks": ("processes", (), lambda desk, _: desk.errands == ["reset_peaks"]),
    "quit": ("processes", (), lambda desk, _: desk.is_over),
    "suspend": ("processes", (), lambda desk, _: desk.errands == ["suspend"]),
    "up": ("processes", ("down", "down"), lambda desk, _: cursor_row(desk) == 4),
    "down": ("processes", (), lambda desk, _: cursor_row(desk) == 4),
    "left": ("overview", ("right", "right"), lambda desk, _: desk.views.state("overview").chip == 0),
    "right": ("overview", ("right",), lambda desk, _: desk.views.state("overview").chip == 1),
    "page_up": ("processes", ("end",), lambda desk, _: cursor_row(desk) == 3),
    "page_down": ("processes", (), lambda desk, _: cursor_row(desk) == 8),
    "home": ("processes", ("down", "down"), lambda desk, _: cursor_row(desk) == 3),
    "end": ("processes", (), lambda desk, _: cursor_row(desk) == 8),
    "open": ("processes", ("down",), lambda desk, _: desk.views.state("processes").opened is not None),
    "close": ("processes", ("enter",), lambda desk, _: desk.views.state("processes").opened is None),
    "tag": ("processes", (), lambda desk, _: len(desk.views.state("processes").tags) == 1),
    "tag_none": ("processes", ("space", "space"), lambda desk, _: not desk.views.state("processes").tags),
    "tree": ("processes", (), lambda desk, _: desk.views.state("processes").is_tree),
    "filter": ("processes", (), lambda desk, _: desk.is_typing and "Filter:" in text_of(desk.picture())),
    "search": ("processes", (), lambda desk, _: desk.is_typing and "Search:" in text_of(desk.picture())),
    "user": ("processes", (), shows("Processes of")),
    "environment": ("processes", (), shows("Environment of 4006")),
    "kill": ("processes", (), shows(" 9 SIGKILL")),
    "kill:9": ("processes", (), lambda desk, _: "4006" in desk.note),  # no such process: refused, and said
    "sort": ("processes", (), shows("Sort by")),
    "sort_previous": ("processes", (), lambda desk, _: desk.views.state("processes").sort == "kernel"),
    "sort_next": ("processes", (), lambda desk, _: desk.views.state("processes").sort == "peak"),
    "sort:memory": ("processes", ("P",), lambda desk, _: desk.views.state("processes").sort == "total"),
    "sort:pid": ("processes", (), lambda desk, _: desk.views.state("processes").sort == "pid"),
    "sort:label": ("processes", (), lambda desk, _: desk.views.state("processes").sort == "label"),
    "terminate": ("processes", (), lambda desk, _: desk.views.state("processes").sort == "age"),
    "interrupt": ("processes", (), lambda desk, _: desk.views.state("processes").is_inverted),
    "sort_letter": ("processes", (), lambda desk, _: "Sort by:" in text_of(desk.picture())),
    "layout:auto": ("overview", ("c",), lambda desk, _: desk.settings.layout == "auto"),
    "layout:full": ("overview", (), lambda desk, before: desk.settings.layout == "full"),
    "layout:compact": ("overview", ("f",), lambda desk, before: text_of(desk.picture()) != before.text),
    "zoom": ("charts", (), lambda desk, _: desk.wanted().history_seconds == 300),
    "next_pool": ("charts", (), lambda desk, _: desk.views.state("charts").pool == "dram"),
    "dark": ("overview", (), lambda desk, _: desk.settings.theme == "light"),
    "setup": ("overview", (), shows("Settings")),
    "save": ("overview", ("d",), lambda desk, _: load(desk._environ)[0].theme == "light"),
}


@pytest.mark.parametrize("name", [name for key in KEYS for name in key.names])
def test_a_key_does_what_the_table_says(tmp_path: Path, name: str) -> None:
    action = action_of(name)
    if action.startswith("tab:"):
        desk = a_desk(tmp_path)
        desk.press(name)
        assert desk.view == VIEWS[int(name) - 1]
        assert desk.picture()
        return
    view, first, is_so = STORIES[action]
    desk = a_desk(tmp_path, view)
    for key in first:
        desk.press(key)
    before = Before(desk.view, desk.settings, text_of(desk.picture()))
    assert not is_so(desk, before), "it was so before, and the test could not fail"

    desk.press(name)

    assert is_so(desk, before), text_of(desk.picture())


def test_every_action_has_its_story() -> None:
    assert {key.action for key in KEYS} - {"tab:"} == set(STORIES)


def test_a_key_that_is_not_in_the_table_does_nothing(tmp_path: Path) -> None:
    desk = a_desk(tmp_path)
    before = desk.picture()

    for name in ("f7", "ctrl+x", "ü", ""):
        desk.press(name)

    assert desk.picture() == before
