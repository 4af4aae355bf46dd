"""The monitor without its toolkit: what is on screen, and what a key or a click does to it.

keys, clicks ----> MonitorState ----> picture(): all lines of the screen
frames       ---->              ----> wanted(), settings, is_paused, requests: what the app has to do
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, Literal, NamedTuple, Protocol

from ttmem.figures.replay_clock import ReplayClock
from ttmem.monitor.header_footer import KeySpot, footer, greyed, header, typed
from ttmem.monitor.panels.keys import action_of, replay_action_of
from ttmem.monitor.panels.page import TextPage, help_lines
from ttmem.monitor.panels.panel import Panel, overlaid
from ttmem.monitor.parts.drawing import DrawArea, Drawing, MonitorFrame, Wanted, seen_name
from ttmem.monitor.parts.replay_line import moment_at, replay_line
from ttmem.monitor.process_keys import ProcessKeys
from ttmem.monitor.replay import ReplayKeys
from ttmem.monitor.settings import INTERVALS, VIEWS, Settings, save
from ttmem.monitor.setup import Setup
from ttmem.view.table import Line, Role, Span, fitted
from ttmem.view.texts import device_word, plural

__all__ = ["CLOSE_UPS", "MonitorState", "ScreenRequest", "Views"]

CLOSE_UPS = ("l1_map", "kernels")  # views of one chip: `device` of their states names it
ScreenRequest = Literal["now", "reset_peaks", "suspend"]  # or copy:TEXT
_NARROW = 60  # columns: below that a view may need more than there is
_NOTE_SECONDS = 15.0
_REPLAY_SECONDS = 0.25  # between two pictures of a recording that plays
_FRAME_ROWS = 2  # the tab line above a view, and the line of keys below it


class ScreenModule(Protocol):
    """What a module of `monitor.screens` has; see parts/drawing.py."""

    INITIAL: Any

    def draw(self, frame: MonitorFrame, area: DrawArea, state: Any) -> Drawing: ...
    def acted(self, action: str, state: Any, frame: MonitorFrame, area: DrawArea) -> Any: ...
    def pointed(self, hit: int, state: Any) -> Any: ...
    def wanted(self, frame: MonitorFrame, state: Any) -> Wanted: ...


class _View(NamedTuple):
    screen: ScreenModule
    state: Any


class Views:
    """The views and what the user chose on each of them; `openings` are actions that a view begins with.

    A view is loaded when it is first shown (DESIGN 12, "monitor": first frame <= 0.4 s CPU).
    """

    def __init__(self, openings: Mapping[str, Sequence[str]]) -> None:
        self._openings = openings
        self._views: dict[str, _View] = {}

    def draw(self, name: str, frame: MonitorFrame, area: DrawArea) -> Drawing:
        view = self._view(name)
        return view.screen.draw(frame, area, view.state)

    def act(self, name: str, action: str, frame: MonitorFrame, area: DrawArea) -> bool:
        """Whether that did anything."""
        view = self._view(name)
        return self._set(name, view.screen.acted(action, view.state, frame, area))

    def point(self, name: str, hit: int) -> bool:
        view = self._view(name)
        return self._set(name, view.screen.pointed(hit, view.state))

    def wanted(self, name: str, frame: MonitorFrame) -> Wanted:
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
            screen: Any = import_module(f"ttmem.monitor.screens.{name}")
            state = screen.INITIAL
            for action in self._openings.get(name, ()):
                state = screen.acted(action, state, MonitorFrame(), DrawArea(80, 24))
            self._views[name] = _View(screen, state)
        return self._views[name]


class MonitorState:
    """All that a user sees and has chosen."""

    def __init__(
        self,
        settings: Settings,
        environ: Mapping[str, str],
        *,
        is_readonly: bool,
        banner: str,
        is_colourless: bool = False,
        replay: ReplayClock | None = None,
    ) -> None:
        self.settings = settings
        self.frame = MonitorFrame()
        self._note = ""
        self._noted_at = 0.0
        self._is_paused = False
        self.replay = replay
        self._replay_keys = ReplayKeys(replay, self) if replay is not None else None
        self.is_over = False
        self.has_asked_for_demo = False
        self.requests: list[str] = []
        self._environ = environ
        self._banner = banner
        self._is_readonly = is_readonly
        self._is_colourless = is_colourless
        self.views = Views({"processes": [f"sort:{settings.sort}", *(["tree"] if settings.tree else [])]})
        self._view = settings.view
        self._panels: list[Panel] = []
        self._seen_incidents: frozenset[tuple[int, int, int]] = frozenset()
        self._size = (80, 24)
        self._drawing = Drawing(())
        self._spots: dict[int, list[KeySpot]] = {}  # row -> what a click there does
        self._processes = ProcessKeys(self.views, self)

    @property
    def area(self) -> DrawArea:
        """Of the view, between the two lines."""
        width, height = self._size
        layout = self.settings.layout
        assert layout in ("auto", "full", "compact")
        limit = self.settings.limit / 100 if self.settings.limit else None
        height = max(1, height - _FRAME_ROWS - (self.replay is not None))
        return DrawArea(width, height, self.settings.ascii, layout, self._is_colourless, limit)  # type: ignore[arg-type]

    @property
    def note(self) -> str:
        """One line for the user, until the next key, but not for ever: the keys stand where it does."""
        return self._note if time.monotonic() - self._noted_at < _NOTE_SECONDS else ""

    @note.setter
    def note(self, text: str) -> None:
        self._note, self._noted_at = text, time.monotonic()

    @property
    def is_paused(self) -> bool:
        """Whether figures stay as they are: a recording is asked again as long as it plays."""
        return self._is_paused if self.replay is None else not self.replay.is_playing

    @property
    def interval(self) -> float:
        """Seconds between two queries."""
        return self.settings.interval if self.replay is None else min(self.settings.interval, _REPLAY_SECONDS)

    @property
    def is_empty(self) -> bool:
        """Whether the screen is the one that says what to do next."""
        overview = self.frame.overview
        if overview is None or self._banner or self.replay is not None or self._view != "overview":
            return False
        return not overview.devices and not overview.live

    @property
    def is_readonly(self) -> bool:
        return self._is_readonly

    @property
    def view(self) -> str:
        return self._view

    def resize(self, width: int, height: int) -> None:
        self._size = (max(1, width), max(1, height))

    def take(self, frame: MonitorFrame) -> None:
        """New figures, or the old ones and what is wrong."""
        before, now = self.frame.overview, frame.overview
        if before and now and before.source != now.source:
            self.note = f"figures come from: {now.source} (before: {before.source})"
        self.frame = frame._replace(seen=self._seen_incidents)

    def miss(self, seconds: float) -> None:
        """Figures were due and did not come."""
        if not self.is_paused and not self.frame.trouble:
            self.frame = self.frame._replace(trouble=f"no answer for {seconds:.0f} s")

    @property
    def is_typing(self) -> bool:
        """Whether there is a line to type into."""
        return bool(self._panels) and self._panels[-1].place == "line"

    def wanted(self) -> Wanted:
        """Exactly what is on screen; the overview always, for it is what everything else is named after."""
        return self.views.wanted(self._view, self.frame)

    def picture(self) -> list[Line]:
        """The whole screen, top to bottom."""
        area = self.area
        width, height = self._size
        top, self._spots[0] = header(self, width)
        body = self._body(area)
        bottom, self._spots[height - 1] = footer(self, width, self._banner)
        body += [()] * (area.height - len(body))
        if self._panels and self._panels[-1].place == "line":
            bottom = typed(self._panels[-1], area, width, self._banner)
        if width < _NARROW:
            body = [fitted(line, width) for line in body]
        played = [] if self.replay is None else [replay_line(self.replay.shown(), self.frame, area)]
        return [top, *body, *played, bottom][:height]

    @property
    def hidden_count(self) -> int:
        """Rows of the view that do not fit."""
        is_covered = any(panel.place == "page" for panel in self._panels)  # which has its own count
        return 0 if is_covered else self._drawing.hidden_count

    def _body(self, area: DrawArea) -> list[Line]:
        panel = self._panels[-1] if self._panels else None
        if panel is not None and panel.place == "page":
            return panel.draw(area)
        if self.frame == MonitorFrame():
            return [(), (Span(" Waiting for figures ...", Role.DIM),)]
        self._drawing = self.views.draw(self._view, self.frame, area)
        lines = list(self._drawing.lines[: area.height])
        if self.frame.trouble:
            lines = [greyed(line) for line in lines]
        return overlaid(lines, panel.draw(area), area) if panel is not None and panel.place == "box" else lines

    def open(self, panel: Panel) -> None:
        self._panels.append(panel)

    def press(self, key: str) -> None:
        """One key, by the name the table has for it."""
        self.note = ""
        if self._panels and key != "ctrl+c":
            panel = self._panels[-1]
            if not panel.press(key, self.area) and panel in self._panels:
                self._panels.remove(panel)
        elif key == "ctrl+c" and not self._panels and not self._is_readonly and self._processes.has_tags():
            self._processes.act("interrupt")
        elif action := action_of(key) if self.replay is None else replay_action_of(key):
            self.act(action)

    def act(self, action: str) -> None:
        """What a key stands for."""
        word, _, value = action.partition(":")
        if self._replay_keys is not None and self._replay_keys.act(word, value):
            return
        if word in self._OWN:
            self._OWN[word](self, value)
        elif not self._processes.act(action):
            has_acted = self.views.act(self._view, action, self.frame, self.area)
            if word == "open" and not has_acted and self._view == "overview":
                self._open_chip()
            elif word == "open" and self._view == "incidents":
                self._open_incident("Memory at that moment", "story")

    def click(self, column: int, row: int, *, count: int = 1) -> None:
        """A tab, a key at the foot, or a row of the view; twice opens it."""
        if self._panels and self._panels[-1].place != "page":
            return  # a question is not answered by chance
        for spot in self._spots.get(row, ()):
            if spot.first <= column < spot.last:
                self._panels.clear()
                self.press(spot.key)
                return
        if self.replay is not None and row == self._size[1] - _FRAME_ROWS:
            self._point_at_moment(self.replay, column)
            return
        hit = self._hit(column, row - 1)
        if hit is not None and not self._panels:
            self.views.point(self._view, hit)
            if count == 2:
                self.act("open")

    def _point_at_moment(self, replay: ReplayClock, column: int) -> None:
        """A click on the bar of a recording goes there."""
        at_ns = moment_at(replay.shown(), self.frame, self.area, column)
        if at_ns is not None:
            replay.go_to(at_ns)
            self.requests.append("now")

    def _hit(self, column: int, row: int) -> int | None:
        """What of the view lies there: a chip that shares its row with others, or the whole row."""
        for spot in self._drawing.spots:
            if spot.row == row and spot.begin <= column < spot.end:
                return spot.number
        return self._drawing.hits.get(row)

    def wheel(self, step: int) -> None:
        if self._panels and self._panels[-1].place != "page":
            return
        for _ in range(3):
            self.press("down" if step > 0 else "up")

    def go_to(self, view: str) -> None:
        """Another view; from the map of a chip to its kernels and back."""
        if self._view in CLOSE_UPS and view in CLOSE_UPS:
            self.views.choose(view, self.views.state(self._view).device)
        self._view = view

    def _open_chip(self) -> None:
        """From the overview to the map of the chip under the cursor."""
        chosen = self.views.screen("overview").selected(self.views.state("overview"), self.frame)
        if chosen is not None:
            self.views.choose("l1_map", device_word(chosen.device))
            self._view = "l1_map"

    def apply(self, settings: Settings) -> None:
        """What the settings panel changed."""
        if settings.tree != self.settings.tree:
            self.views.act("processes", "tree", self.frame, self.area)
        self.settings = settings

    def _tab(self, digit: str) -> None:
        self.go_to(VIEWS[int(digit) - 1])

    def _step_tab(self, step: int) -> None:
        self.go_to(VIEWS[(VIEWS.index(self._view) + step) % len(VIEWS)])

    def _zoom(self, _: str) -> None:
        """The next longer stretch of time; after the longest the shortest."""
        if not self.views.act(self._view, "zoom_out", self.frame, self.area):
            while self.views.act(self._view, "zoom_in", self.frame, self.area):
                pass

    def _rate(self, step: int) -> None:
        """The next interval of the ladder in that direction."""
        beyond = [value for value in INTERVALS if (value - self.settings.interval) * step > 0]
        if beyond:
            self.settings = self.settings._replace(interval=min(beyond) if step > 0 else max(beyond))
        self.note = f"updates every {self.settings.interval:g} s"

    def _pause(self, _: str) -> None:
        self._is_paused = not self._is_paused

    def _quit(self, _: str) -> None:
        self.is_over = True

    def _dark(self, _: str) -> None:
        if self.is_empty:
            self.is_over = self.has_asked_for_demo = True
            return
        self.settings = self.settings._replace(theme="light" if self.settings.theme == "dark" else "dark")

    def _layout(self, layout: str) -> None:
        self.settings = self.settings._replace(layout=layout)
        self.note = f"layout: {layout}"

    def _setup(self, _: str) -> None:
        self.open(Setup(self.settings, self.apply, self._save))

    def _save(self, _: str = "") -> None:
        """Saves what is set now."""
        settings = self.settings._replace(**self._processes.settings())
        try:
            path = save(settings, self._environ)
        except OSError as error:
            self.note = f"the settings could not be saved: {error.strerror or error}"
        else:
            self.note = f"saved in {path}"

    def _reset_peaks(self, _: str) -> None:
        if self._is_readonly:
            self.note = "--readonly: peaks stay as they are"
        else:
            self.requests.append("reset_peaks")
            self.note = "peaks count from now on"

    def _help(self, _: str) -> None:
        self.open(TextPage("Keys", partial(help_lines, is_replay=self.replay is not None)))

    def _alerts(self, _: str) -> None:
        self.go_to("incidents")

    def _holders(self, _: str) -> None:
        if self._view == "incidents":
            self._open_incident("Holders", "holders")
        else:
            self._help("")

    def _open_incident(self, title: str, what: str) -> None:
        """A page about the incident under the cursor."""
        lines, chosen = getattr(self.views.screen("incidents"), what), self.views.state("incidents")
        self.open(TextPage(title, lambda area: lines(chosen, self.frame, area)))

    def _seen(self, _: str) -> None:
        """Incidents that are known now are no longer news; one that happens again is."""
        found = self.frame.incidents
        self._seen_incidents |= {seen_name(one) for one in found}
        self.frame = self.frame._replace(seen=self._seen_incidents)
        self.note = f"{plural(len(found), 'incident', 's')} marked as seen" if found else "no incidents"

    def _copy(self, _: str) -> None:
        """The incident under the cursor goes to the terminal's clipboard."""
        text = self.views.screen("incidents").copied(self.views.state("incidents"), self.frame)
        if self._view != "incidents" or not text:
            self.note = "nothing to copy here: choose an incident (7)"
            return
        self.requests.append(f"copy:{text}")
        self.note = "copied, if the terminal takes it"

    def _order(self, _: str) -> None:
        if self._view == "overview":
            self.views.act("overview", "order", self.frame, self.area)
        else:
            self._processes.act("sort")

    def _group(self, _: str) -> None:
        self.views.act("overview", "group", self.frame, self.area)

    def _request(self, request: ScreenRequest) -> None:
        self.requests.append(request)

    _OWN: Mapping[str, Callable[["MonitorState", str], None]] = {
        "help": _help,
        "tab": _tab,
        "tab_next": lambda state, _: state._step_tab(1),
        "tab_previous": lambda state, _: state._step_tab(-1),
        "pause": _pause,
        "now": lambda state, _: state._request("now"),
        "faster": lambda state, _: state._rate(-1),
        "slower": lambda state, _: state._rate(1),
        "alerts": _alerts,
        "holders": _holders,
        "seen": _seen,
        "copy": _copy,
        "order": _order,
        "group": _group,
        "reset_peaks": _reset_peaks,
        "quit": _quit,
        "suspend": lambda state, _: state._request("suspend"),
        "layout": _layout,
        "zoom": _zoom,
        "dark": _dark,
        "setup": _setup,
        "save": _save,
    }
