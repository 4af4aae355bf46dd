"""What becomes of segments that are full: a thread packs them, one after the other, and lets go of the oldest.

Whoever records does not wait for it: beside busy processors, packing one may take longer than filling the next.

   field              who touches it
   _full              both
   _ended             the thread
"""

import threading
from contextlib import suppress
from pathlib import Path
from queue import Queue

from ttmem.recording.meta import SEALED, SEGMENT
from ttmem.recording.sealing import seal, segment_numbers

__all__ = ["Keeper", "files_of", "sealed"]

_LEAST_SEGMENTS = 2


class Keeper:
    """Of the segments of one recording. Only it changes those that are full, until `wait` or `close` returns."""

    def __init__(self, directory: Path, *, last_seconds: float | None, max_bytes: int | None) -> None:
        self._directory = directory
        self._last_seconds, self._max_bytes = last_seconds, max_bytes
        self._ended: dict[int, float] = {}  # by time.monotonic(), when the next began: wall clocks are stepped
        self._full: Queue[tuple[int, float] | None] = Queue()
        self._thread = threading.Thread(target=self._keep, name="ttmem-sealing", daemon=True)
        self._thread.start()

    def add(self, number: int, now: float) -> None:
        """That segment is full, and those before it."""
        self._full.put((number, now))

    def wait(self) -> None:
        """Until all that are full are packed."""
        self._full.join()

    def close(self) -> None:
        self._full.put(None)
        self._thread.join()

    def _keep(self) -> None:
        while (item := self._full.get()) is not None:
            try:
                with suppress(OSError):
                    self._drop_oldest(*item)
                sealed(self._directory, item[0])
            finally:
                self._full.task_done()

    def _drop_oldest(self, full: int, now: float) -> None:
        """Whole segments; what was alive then is in the keyframe of the next."""
        numbers = segment_numbers(self._directory)
        for number in numbers:  # those of an earlier recorder ended now at the latest
            if number <= full:
                self._ended.setdefault(number, now)
        files = {number: files_of(self._directory, number) for number in numbers}
        sizes = {number: sum(path.stat().st_size for path in paths) for number, paths in files.items()}
        total = sum(sizes.values())
        for number in numbers[:-_LEAST_SEGMENTS]:
            is_old = self._last_seconds is not None and now - self._ended.get(number, now) > self._last_seconds
            if not is_old and (self._max_bytes is None or total <= self._max_bytes):
                break
            for path in files[number]:
                path.unlink()
            total -= sizes[number]


def files_of(directory: Path, number: int) -> list[Path]:
    return [path for suffix in (SEALED, SEGMENT) if (path := directory / f"{number:06}{suffix}").exists()]


def sealed(directory: Path, number: int) -> None:
    """Packs a segment that is still plain."""
    with suppress(OSError):  # no room: the plain file says the same
        seal(directory / f"{number:06}{SEGMENT}")
