"""The settings, each with its choices; a change is shown at once and saved when the panel is left."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ttmem.monitor.panels.panel import Place, boxed
from ttmem.monitor.parts.drawing import DrawArea
from ttmem.monitor.settings import INTERVALS, LAYOUTS, THEMES, VIEWS, Settings
from ttmem.view.table import Line, Role, Span

__all__ = ["Setup"]


class _SettingRow(NamedTuple):
    name: str  # of a field of Settings
    text: str
    choices: tuple[Any, ...]


_ITEMS = (
    _SettingRow("view", "Opens with", VIEWS),
    _SettingRow("layout", "Layout", LAYOUTS),
    _SettingRow("theme", "Colours", THEMES),
    _SettingRow("ascii", "ASCII only", (False, True)),
    _SettingRow("interval", "Seconds between updates", INTERVALS),
    _SettingRow("tree", "Processes as a tree", (False, True)),
    _SettingRow("limit", "Mark memory from % (0: never)", (0, 50, 70, 80, 90, 95)),
)


class Setup:
    """Up and down choose a setting, left and right its value."""

    place: Place = "box"
    title = "Settings"

    def __init__(self, settings: Settings, apply: Callable[[Settings], None], save: Callable[[], None]) -> None:
        self._settings = self._before = settings
        self._apply = apply
        self._save = save
        self._at = 0

    def draw(self, area: DrawArea) -> list[Line]:
        lines: list[Line] = []
        for at, item in enumerate(_ITEMS):
            role = Role.SELECTED if at == self._at else Role.PLAIN
            lines.append((Span(f" {item.text:29} < {_word(getattr(self._settings, item.name)):^10} > ", role),))
        foot = (Span(" Left Right", Role.KEY), Span(" change  "), Span("Esc", Role.KEY), Span(" saves and leaves"))
        return boxed(self.title, [*lines, (), foot], area)

    def press(self, key: str, area: DrawArea) -> bool:
        if key in ("up", "down", "k", "j", "tab", "shift+tab"):
            step = -1 if key in ("up", "k", "shift+tab") else 1
            self._at = (self._at + step) % len(_ITEMS)
        elif key in ("left", "right", "space", "enter", "-", "+"):
            self._change(-1 if key in ("left", "-") else 1)
        elif key in ("escape", "q", "f2", "f10", "f12"):
            if self._settings != self._before:  # else flags of this run would be saved
                self._save()
            return False
        return True

    def _change(self, step: int) -> None:
        item = _ITEMS[self._at]
        value = getattr(self._settings, item.name)
        at = item.choices.index(value) if value in item.choices else 0
        changed: dict[str, Any] = {item.name: item.choices[(at + step) % len(item.choices)]}
        self._settings = self._settings._replace(**changed)
        self._apply(self._settings)


def _word(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value).replace("_", " ")
