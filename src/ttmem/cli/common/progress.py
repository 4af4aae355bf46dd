"""How far something is that takes longer than a second: a bar, how fast, how long yet.

One line on the standard error of a terminal, taken away when it is over; in a pipe or file nothing at all.

    reading run.ttmem ███████▌░░░░░░░░ 47 %  4,700,000 of 10,000,000 events  6.1 M/s  1 s left
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from ttmem.view.bars import bar
from ttmem.view.texts import tight_count_text

if TYPE_CHECKING:
    from ttmem.recording import Recording

__all__ = ["Progress", "reading"]

_FIRST_SECONDS, _STEP_SECONDS = 1.0, 0.1
_BAR_COLUMNS = 16
_FULL = 1.0


class Progress:
    """`with Progress("reading run.ttmem", total=recording.row_count) as progress: progress.advance(block.row_count)`.

    Without a total it says how many, and how fast. The total may become known later, or grow.
    """

    def __init__(
        self,
        text: str,
        *,
        total: int = 0,
        unit: str = "events",
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.total, self.done = total, 0
        self._text, self._unit = text, unit
        self._stream = stream or sys.stderr
        self._clock = clock
        self._is_shown = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._is_ascii = "utf" not in (self._stream.encoding or "").lower()
        self._began = clock()
        self._next = self._began + _FIRST_SECONDS
        self._is_drawn = False

    def __enter__(self) -> "Progress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._is_drawn = False

    def advance(self, count: int) -> None:
        """That many more are done."""
        self.move(self.done + count)

    def move(self, done: int) -> None:
        """So far it is."""
        self.done = done
        if not self._is_shown or (now := self._clock()) < self._next:
            return
        self._next = now + _STEP_SECONDS
        columns = shutil.get_terminal_size().columns - 1
        self._stream.write("\r" + self.line(now - self._began)[:columns] + "\x1b[K")
        self._stream.flush()
        self._is_drawn = True

    def line(self, seconds: float) -> str:
        """What is said after so long."""
        rate = self.done / seconds if seconds > 0 else 0.0
        speed = f"{tight_count_text(round(rate))}/s"
        if self.total <= 0:
            return f"{self._text}  {self.done:,} {self._unit}  {speed}"
        share = min(self.done / self.total, _FULL)
        left = f"{_time_text((self.total - self.done) / rate)} left" if 0 < self.done < self.total else ""
        drawn = "".join(span.text for span in bar(share, share, _BAR_COLUMNS, is_ascii=self._is_ascii))
        amounts = f"{self.done:,} of {self.total:,} {self._unit}"
        return f"{self._text} {drawn} {int(share * 100)} %  {amounts}  {speed}  {left}".rstrip()


@contextmanager
def reading(*recordings: "Recording") -> Iterator[Progress]:
    """Shows how far the reading of recordings is. An answer may go through one again: then there is that much more."""
    names = " and ".join(recording.path.name for recording in recordings)
    once = sum(recording.row_count for recording in recordings)
    with Progress(f"reading {names}", total=once) as progress:

        def read(count: int) -> None:
            if progress.done + count > progress.total:
                progress.total += max(once, count)
            progress.advance(count)

        for recording in recordings:
            recording.on_read = read
        yield progress


def _time_text(seconds: float) -> str:
    """Rounded up: 1 s, 2 min 5 s, 3 h 7 min."""
    whole = max(1, -int(-seconds // 1))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
