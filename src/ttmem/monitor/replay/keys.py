"""Keys of a recording: play, step, leap, faster and slower. What would touch processes of today is refused."""

from typing import TYPE_CHECKING

from ttmem.figures.replay_clock import ReplayClock
from ttmem.monitor.panels.keys import NOT_OF_RECORDINGS

if TYPE_CHECKING:
    from ttmem.monitor.state import MonitorState

__all__ = ["ReplayKeys"]


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
