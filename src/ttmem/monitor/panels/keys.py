"""Every key of the monitor, once: what is pressed, what it does, and the words for it.

The help screen and docs/reference/monitor.md are made from this table, and the tests press every key in it. A key is
named as the toolkit names it, one that prints by what it prints.
"""

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["GROUPS", "KEYS", "NOT_OF_RECORDINGS", "REPLAY", "Key", "action_of", "key_word", "replay_action_of"]


class Key(NamedTuple):
    """Keys that do the same."""

    names: tuple[str, ...]
    action: str
    text: str


GROUPS: dict[str, tuple[Key, ...]] = {
    "General": (
        Key(("f1", "?"), "help", "This list of keys."),
        Key(("h",), "holders", "The same; on Incidents: who held the memory."),
        Key(("1", "2", "3", "4", "5", "6", "7"), "tab:", "One of the seven views."),
        Key(("tab",), "tab_next", "The next view."),
        Key(("shift+tab",), "tab_previous", "The view before."),
        Key(("Z",), "pause", "Pause or resume."),
        Key(("r",), "now", "Update now."),
        Key(("+", "="), "faster", "Update more often."),
        Key(("-",), "slower", "Update less often."),
        Key(("A",), "alerts", "Incidents, and below them what does not add up."),
        Key(("v",), "seen", "Mark all incidents as seen: they are no longer red."),
        Key(("y",), "copy", "Incidents: copy the one under the cursor as text."),
        Key(("x",), "reset_peaks", "Reset peaks."),
        Key(("q", "f10", "ctrl+c"), "quit", "Leave. Ctrl-C: while something is tagged, SIGINT."),
        Key(("ctrl+z",), "suspend", "Back to the shell; `fg` returns."),
    ),
    "Move": (
        Key(("up", "k"), "up", "Up."),
        Key(("down", "j"), "down", "Down."),
        Key(("left", "("), "left", "The chip before; in a wide list, leftwards."),
        Key(("right", ")"), "right", "The next chip; in a wide list, rightwards."),
        Key(("pageup", "["), "page_up", "A page up."),
        Key(("pagedown", "]"), "page_down", "A page down."),
        Key(("home",), "home", "To the first."),
        Key(("end",), "end", "To the last."),
        Key(("enter",), "open", "Open what the cursor is on: a process, a chip's map."),
        Key(("escape",), "close", "Close it; then clear tags, search and filter."),
    ),
    "Processes": (
        Key(("space",), "tag", "Tag a process, and go to the next."),
        Key(("U",), "tag_none", "Clear all tags."),
        Key(("f5", "t"), "tree", "As a tree of parents and children, or as a list."),
        Key(("/", "f4"), "filter", "Show only what matches: words, or `user==ada & l1>1MiB`."),
        Key(("f3",), "search", "Go to the next process that matches."),
        Key(("u",), "user", "Show only processes of one user."),
        Key(("e",), "environment", "The environment a process was started with."),
        Key(("f9",), "kill", "Send a signal to tagged processes, or to this one; asks."),
        Key(("K",), "kill:9", "Send SIGKILL; asks."),
    ),
    "Sort": (
        Key(("f6",), "sort", "Choose a column."),
        Key(("<", ","), "sort_previous", "By the column to the left."),
        Key((">", "."), "sort_next", "By the column to the right."),
        Key(("M",), "sort:memory", "By memory."),
        Key(("P",), "sort:pid", "By pid."),
        Key(("N",), "sort:label", "By name."),
        Key(("T",), "terminate", "By age. While something is tagged: SIGTERM; asks."),
        Key(("I",), "interrupt", "The other way. While something is tagged: SIGINT; asks."),
        Key(("o",), "sort_letter", "Then a letter: by the column that begins with it."),
    ),
    "Display": (
        Key(("s",), "order", "Overview: chips by fullest, or by number. Else: sort."),
        Key(("g",), "group", "Overview: equal chips in one row, or each in its own."),
        Key(("a",), "layout:auto", "As much of each chip as there is room for."),
        Key(("f",), "layout:full", "All figures of each chip, all columns of processes."),
        Key(("c",), "layout:compact", "One line for each chip."),
        Key(("z",), "zoom", "History: 60 seconds, 5 minutes, 1 hour."),
        Key(("p", "m"), "next_pool", "History and map: the next kind of memory."),
        Key(("d",), "dark", "Dark or light. Where no program reports: the demo."),
        Key(("f2",), "setup", "Settings; saved when you leave them."),
        Key(("f12",), "save", "Save what is set now for the next time."),
    ),
}
# On a recording (`ttmem top --replay`) these come first; what they stand for otherwise has another key, or is missing.
REPLAY: tuple[Key, ...] = (
    Key(("space", "Z"), "play", "Play, or stand still."),
    Key(("left",), "step:-1", "A second back."),
    Key(("right",), "step:1", "A second forward."),
    Key(("shift+left",), "step:-10", "Ten seconds back."),
    Key(("shift+right",), "step:10", "Ten seconds forward."),
    Key(("n",), "jump:1", "To the next incident or phase."),
    Key(("p",), "jump:-1", "To the incident or phase before."),
    Key(("+", "="), "speed:1", "Play faster."),
    Key(("-",), "speed:-1", "Play slower."),
    Key(("home",), "begin", "To the beginning."),
    Key(("end",), "finish", "To the end; one that goes on is followed."),
)
# What these do would concern processes of today.
NOT_OF_RECORDINGS: dict[str, str] = {
    "kill": "a recording: no signals are sent",
    "kill:9": "a recording: no signals are sent",
    "environment": "a recording holds no environments",
    "reset_peaks": "a recording: peaks stay as they are",
    "tag": "",
    "tag_none": "",
}
KEYS: tuple[Key, ...] = tuple(key for keys in GROUPS.values() for key in keys)

_WORDS = {
    "tab": "Tab",
    "shift+tab": "Shift-Tab",
    "space": "Space",
    "enter": "Enter",
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "shift+left": "Shift-Left",
    "shift+right": "Shift-Right",
    "right": "Right",
    "home": "Home",
    "end": "End",
    "ctrl+c": "Ctrl-C",
    "ctrl+z": "Ctrl-Z",
}


def _pairs() -> Iterator[tuple[str, str]]:
    for key in KEYS:
        for name in key.names:
            yield name, key.action + name if key.action.endswith(":") else key.action


_ACTIONS = dict(_pairs())
assert len(_ACTIONS) == sum(len(key.names) for key in KEYS), "a key stands twice in the table"


def action_of(name: str) -> str:
    """What a key does; empty for one that does nothing."""
    return _ACTIONS.get(name, "")


_REPLAY_ACTIONS = {name: key.action for key in REPLAY for name in key.names}


def replay_action_of(name: str) -> str:
    """What a key does on a recording."""
    return _REPLAY_ACTIONS.get(name) or action_of(name)


def key_word(name: str) -> str:
    """What is written on the key."""
    return _WORDS.get(name) or (name.upper() if len(name) > 1 else name)
