"""A recording in the monitor: its figures, reduced to what the flags -i, -u and -p select, and its keys: play, step,
leap, faster and slower. What would touch processes of today is refused."""

from typing import TYPE_CHECKING

from ttmem.collector.recorded import Moment
from ttmem.errors import SelectionError
from ttmem.figures.replay_clock import ReplayClock
from ttmem.figures.replayed import RecordedFigures
from ttmem.monitor.feed import WordsOf, selected_overview
from ttmem.monitor.options import Options
from ttmem.monitor.panels.keys import NOT_OF_RECORDINGS
from ttmem.recording import Recording
from ttmem.snapshot import Selection
from ttmem.snapshot.usage import Snapshot
from ttmem.snapshot.values import replace

if TYPE_CHECKING:
    from ttmem.monitor.state import MonitorState

__all__ = ["ReplayKeys", "SelectedReplay", "selected_replay"]


class SelectedReplay(RecordedFigures):
    """A recording that answers with the selected part."""

    selection = Selection()
    words_of: WordsOf | None = None
    _has_looked = False

    def overview(self) -> Snapshot:
        """A chip that is not there at this moment may be there at another; one that never is, is a SelectionError."""
        if not self._has_looked:
            self._choose()
        overview = super().overview()
        try:
            return selected_overview(overview, self.selection)
        except SelectionError:
            return replace(overview, devices=(), processes=())

    def _choose(self) -> None:
        at_the_end = Moment(self.recording).snapshot
        if self.words_of is not None:
            known = tuple(usage.device for usage in at_the_end.devices)
            self.selection = self.selection._replace(devices=self.words_of(self.telemetry, known))
        if self.selection.devices:
            selected_overview(at_the_end, self.selection)
        self._has_looked = True


def selected_replay(options: Options, recording: Recording, clock: ReplayClock) -> SelectedReplay:
    """What `ttmem top --replay` shows."""
    source = SelectedReplay(recording, clock)
    source.selection, source.words_of = options.selection, options.words_of
    return source


class ReplayKeys:
    """What those keys do to the clock of a replay."""

    def __init__(self, clock: ReplayClock, state: "MonitorState") -> None:
        self._clock = clock
        self._state = state

    def act(self, word: str, value: str) -> bool:
        """Whether it was one of those keys."""
        if word in NOT_OF_RECORDINGS:
            self._state.note = NOT_OF_RECORDINGS[word]
            return True
        match word:
            case "play" | "pause":
                self._clock.toggle()
            case "step":
                self._clock.step(int(value))
            case "jump":
                self._jump(int(value))
            case "speed":
                self._state.note = f"speed: {self._clock.change_speed(int(value)):g}x"
            case "begin":
                self._clock.begin()
            case "finish":
                self._clock.end()
            case _:
                return False
        self._state.requests.append("now")
        return True

    def _jump(self, step: int) -> None:
        mark = self._clock.jump(step)
        if mark is None:
            self._state.note = f"no incident or phase {'after' if step > 0 else 'before'} this moment"
        else:
            self._state.note = f"{mark.what} {mark.text}"
