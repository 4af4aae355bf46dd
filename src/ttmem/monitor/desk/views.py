"""The six views and what the user chose on each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from ttmem.monitor.screens.frame import Drawing, Frame, Look, Wanted
from ttmem.monitor.settings import VIEWS

__all__ = ["CLOSE_UPS", "TITLES", "Views"]

CLOSE_UPS = ("l1_map", "kernels")  # views of one chip: State.device names it
TITLES = ("Overview", "Processes", "L1 map", "Kernels", "Charts", "Telemetry")


class Screen(Protocol):
    """What a module of `monitor.screens` offers; see frame.py there."""

    State: Any

    def draw(self, frame: Frame, look: Look, state: Any) -> Drawing: ...
    def acted(self, action: str, state: Any, frame: Frame, look: Look) -> Any: ...
    def pointed(self, hit: int, state: Any) -> Any: ...
    def wanted(self, frame: Frame, state: Any) -> Wanted: ...


class _View(NamedTuple):
    screen: Screen
    state: Any


class Views:
    """Each view is loaded when it is first looked at, and opens as the settings say: by these actions."""

    def __init__(self, openings: Mapping[str, Sequence[str]]) -> None:
        self._openings = openings
        self._views: dict[str, _View] = {}

    def draw(self, name: str, frame: Frame, look: Look) -> Drawing:
        view = self._view(name)
        return view.screen.draw(frame, look, view.state)

    def act(self, name: str, action: str, frame: Frame, look: Look) -> bool:
        """Whether that did anything."""
        view = self._view(name)
        return self._set(name, view.screen.acted(action, view.state, frame, look))

    def point(self, name: str, hit: int) -> bool:
        view = self._view(name)
        return self._set(name, view.screen.pointed(hit, view.state))

    def wanted(self, name: str, frame: Frame) -> Wanted:
        view = self._view(name)
        return view.screen.wanted(frame, view.state)

    def choose(self, name: str, device: str) -> None:
        """Shows that chip, by the word it has on screens."""
        self._set(name, replace(self._view(name).state, device=device))

    def state(self, name: str) -> Any:
        return self._view(name).state

    def screen(self, name: str) -> Any:
        """The module itself, for what only that view has."""
        return self._view(name).screen

    def _set(self, name: str, state: Any) -> bool:
        view = self._views[name]
        self._views[name] = view._replace(state=state)
        return state is not view.state

    def _view(self, name: str) -> _View:
        if name not in self._views:
            assert name in VIEWS
            screen: Any = import_module(f"ttmem.monitor.screens.{name}")
            state = screen.State()
            for action in self._openings.get(name, ()):
                state = screen.acted(action, state, Frame(), Look(80, 24))
            self._views[name] = _View(screen, state)
        return self._views[name]
