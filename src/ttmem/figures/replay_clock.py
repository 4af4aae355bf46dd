"""Where a replay stands in its recording, how fast it goes, and what there is to go to.

field       who touches it
all         keys and the thread that brings figures; guarded by _lock
"""

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

__all__ = ["SPEEDS", "ReplayClock", "ReplayMark", "ReplayTime"]

SPEEDS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
_SECOND_NS = 1_000_000_000
_MARKS_MOST = 1 << 20


class ReplayMark(NamedTuple):
    """Something to go to."""

    time_ns: int  # CLOCK_MONOTONIC
    what: Literal["phase", "incident"]
    text: str


def _time_of(mark: ReplayMark) -> int:
    return mark.time_ns


class ReplayTime(NamedTuple):
    """A moment, as it is shown; times are CLOCK_MONOTONIC."""

    at_ns: int
    first_ns: int
    last_ns: int
    speed: float
    is_playing: bool
    is_followed: bool  # it stands at the end of a recording that goes on
    marks: tuple[ReplayMark, ...]  # in the order of time
    incidents: tuple[ReplayMark, ...]  # those of them

    @property
    def mark(self) -> ReplayMark | None:
        """The newest that has happened."""
        found = bisect_right(self.marks, self.at_ns, key=_time_of)
        return self.marks[found - 1] if found else None

    def has(self, marks: Sequence[ReplayMark], from_ns: int, until_ns: int) -> bool:
        """Whether one of the marks lies in between; there may be a hundred thousand."""
        found = bisect_left(marks, from_ns, key=_time_of)
        return found < len(marks) and marks[found].time_ns < until_ns


class ReplayClock:
    """A moment between the first and the last of a recording; `clock` is what time passes by."""

    def __init__(
        self, first_ns: int, last_ns: int, *, speed: float = 1.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._lock = threading.Lock()
        self._clock = clock
        self._first_ns, self._last_ns = first_ns, last_ns
        self._speed = speed
        self._at_ns, self._since = first_ns, clock()
        self._is_playing = False
        self._is_following = False
        self._marks: tuple[ReplayMark, ...] = ()
        self._incidents: tuple[ReplayMark, ...] = ()
        self._shown_ns = first_ns

    @property
    def is_playing(self) -> bool:
        """Whether figures are due: it moves, or has moved to where none were shown of yet."""
        with self._lock:
            return self._moved() != self._shown_ns or self._is_playing or self._is_following

    def take(self) -> int:
        """The moment now; figures are shown of it from now on."""
        with self._lock:
            self._shown_ns = self._moved()
            return self._shown_ns

    def shown(self) -> ReplayTime:
        """The moment whose figures are shown."""
        with self._lock:
            self._moved()
            return ReplayTime(
                self._shown_ns,
                self._first_ns,
                self._last_ns,
                self._speed,
                self._is_playing,
                self._is_following,
                self._marks,
                self._incidents,
            )

    def grow(self, last_ns: int, marks: Sequence[ReplayMark], *, has_grown: bool) -> None:
        """How far the recording goes by now, and what happened in it; from the end of one that grows it is followed."""
        with self._lock:
            at_ns = self._moved()
            self._marks = tuple(sorted(marks)[:_MARKS_MOST])
            self._incidents = tuple(mark for mark in self._marks if mark.what == "incident")
            self._is_following = self._is_following or (has_grown and at_ns >= self._last_ns)
            self._last_ns = max(self._last_ns, last_ns)
            if self._is_following:
                self._at_ns = self._last_ns

    def toggle(self) -> None:
        """Plays, or stops. At the end it begins again."""
        with self._lock:
            at_ns = self._moved()
            if self._is_playing or self._is_following:
                self._is_playing = self._is_following = False
            else:
                self._is_playing = True
                if at_ns >= self._last_ns:
                    self._at_ns = self._first_ns

    def play(self) -> None:
        with self._lock:
            self._moved()
            self._is_playing = True

    def step(self, seconds: float) -> None:
        with self._lock:
            self._go_to(self._moved() + round(seconds * _SECOND_NS))

    def go_to(self, at_ns: int) -> None:
        with self._lock:
            self._moved()
            self._go_to(at_ns)

    def begin(self) -> None:
        with self._lock:
            self._moved()
            self._go_to(self._first_ns)

    def end(self) -> None:
        """Of a recording that goes on, the end is followed."""
        with self._lock:
            self._moved()
            self._go_to(self._last_ns)
            self._is_playing = False

    def jump(self, step: int) -> ReplayMark | None:
        """To the next mark, or the one before; None if there is none."""
        with self._lock:
            at_ns = self._moved()
            marks = self._marks
            place = (bisect_right if step > 0 else bisect_left)(marks, at_ns, key=_time_of) - (step < 0)
            if not 0 <= place < len(marks):
                return None
            self._go_to(marks[place].time_ns)
            return marks[place]

    def change_speed(self, step: int) -> float:
        """The next speed of the ladder in that direction."""
        with self._lock:
            self._moved()
            beyond = [speed for speed in SPEEDS if (speed - self._speed) * step > 0]
            if beyond:
                self._speed = min(beyond) if step > 0 else max(beyond)
            return self._speed

    def _go_to(self, at_ns: int) -> None:
        self._is_following = False
        self._at_ns = min(max(at_ns, self._first_ns), self._last_ns)

    def _moved(self) -> int:
        """Lets the time pass that has passed."""
        now = self._clock()
        elapsed, self._since = now - self._since, now
        if self._is_playing:
            self._at_ns += max(0, round(elapsed * self._speed * _SECOND_NS))
            if self._at_ns >= self._last_ns:
                self._at_ns, self._is_playing = self._last_ns, False
        return self._at_ns
