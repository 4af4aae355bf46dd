"""Brings the figures: a thread that asks for exactly what is on screen, so that nobody who presses a key waits.

    Desk --tune()--> [wanted, interval, pause]   one lock      the thread reads them before each look
    Feed --deliver(frame)-->                     its thread    called after each look, never while the lock is held

When nothing can be had, the last figures are delivered again with the reason beside them, and it is tried anew.
"""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from threading import Condition, Thread
from typing import TYPE_CHECKING, Protocol, TypeVar

from ttmem.errors import SelectionError, TtmemError
from ttmem.monitor.screens.frame import Frame, Wanted

if TYPE_CHECKING:
    from ttmem.snapshot.chip_map import ChipMap
    from ttmem.snapshot.history import History
    from ttmem.snapshot.kernel_table import KernelTable
    from ttmem.snapshot.process_detail import ProcessDetail
    from ttmem.snapshot.telemetry import ChipTelemetry
    from ttmem.snapshot.usage import Snapshot

__all__ = ["Feed", "Sights", "asked"]

What = TypeVar("What")
Sight = TypeVar("Sight")

_LEAST_RETRY_SECONDS = 0.5
_MOST_RETRY_SECONDS = 5.0


class Sights(Protocol):
    """Who is asked: `FigureSource`, or made-up figures."""

    def overview(self) -> "Snapshot": ...
    def chip(self, word: str) -> "ChipMap": ...
    def kernels(self, word: str, most: int) -> "KernelTable": ...
    def process(self, pid: int, *, key: int | None = None) -> "ProcessDetail": ...
    def history(self, seconds: int) -> "History": ...
    def telemetry(self) -> "tuple[ChipTelemetry, ...]": ...
    def reset_peaks(self) -> None: ...


class Feed:
    """The thread. It ends with the program; `stop` waits for it a moment only, since it may hang in a question."""

    def __init__(
        self,
        opened: Callable[[], AbstractContextManager[Sights]],
        deliver: Callable[[Frame], None],
        *,
        interval_seconds: float,
        wanted: Wanted,
        first: Frame | None = None,
    ) -> None:
        self._opened = opened
        self._deliver = deliver
        self._changed = Condition()  # guards all below but `_frame`, which is the thread's own
        self._wanted = wanted
        self._interval_seconds = interval_seconds
        self._is_paused = False
        self._is_due = True  # a look is asked for now
        self._is_over = False
        self._is_reset = False
        self._looked_at = 0.0
        self._frame = first or Frame()
        self._thread = Thread(target=self._run, name="ttmem-feed", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float = 1.0) -> None:
        with self._changed:
            self._is_over = True
            self._changed.notify()
        self._thread.join(seconds)

    def tune(self, wanted: Wanted, *, interval_seconds: float, is_paused: bool) -> None:
        """From now on this, that often. Something new to be seen is asked for at once, also while paused."""
        with self._changed:
            before = (self._wanted, self._interval_seconds, self._is_paused)
            self._is_due |= any(asked and asked != old for asked, old in zip(wanted, self._wanted, strict=True))
            self._wanted, self._interval_seconds, self._is_paused = wanted, interval_seconds, is_paused
            if before != (wanted, interval_seconds, is_paused):
                self._changed.notify()

    def ask_now(self) -> None:
        with self._changed:
            self._is_due = True
            self._changed.notify()

    def reset_peaks(self) -> None:
        with self._changed:
            self._is_reset = self._is_due = True
            self._changed.notify()

    def _run(self) -> None:
        failures = 0
        while not self._is_over:
            try:
                with self._opened() as sights:
                    while self._awaited():
                        self._look(sights)
                        failures = 0
            except Exception as error:  # noqa: BLE001 whatever it is, the picture stays and says so
                self._frame = self._frame._replace(trouble=_words(error))
                self._deliver(self._frame)
                failures += 1
                self._rest(min(_MOST_RETRY_SECONDS, _LEAST_RETRY_SECONDS * 2**failures))

    def _awaited(self) -> bool:
        """Waits until a look is due; False when all is over."""
        with self._changed:
            while not self._is_due and not self._is_over:
                left = self._looked_at + self._interval_seconds - time.monotonic()
                if left <= 0 and not self._is_paused:
                    break
                self._changed.wait(None if self._is_paused else left)
            self._is_due = False
            return not self._is_over

    def _rest(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._is_over or self._is_due, seconds)
            self._is_due = True

    def _look(self, sights: Sights) -> None:
        with self._changed:
            wanted, is_reset, self._is_reset = self._wanted, self._is_reset, False
            self._looked_at = time.monotonic()
        if is_reset:
            sights.reset_peaks()
        frame = asked(sights, wanted)
        kept = self._frame.telemetry if frame.telemetry is None else frame.telemetry  # names of chips stay as they are
        self._frame = frame._replace(telemetry=kept)
        self._deliver(self._frame)


def asked(sights: Sights, wanted: Wanted) -> Frame:
    """Everything that is wanted. A chip or process that is not there (any more) is None."""
    overview = sights.overview() if wanted.has_overview else None
    rows = overview.processes if overview and wanted.detail is not None else ()
    return Frame(
        overview=overview,
        chip=_close_up(sights.chip, wanted.chip),
        kernels=_close_up(lambda word: sights.kernels(word, wanted.kernel_most), wanted.kernels),
        detail=_close_up(
            lambda row: sights.process(row.pid, key=row.key),
            next((row for row in rows if row.key == wanted.detail), None),
        ),
        history=None if wanted.history_seconds is None else sights.history(wanted.history_seconds),
        telemetry=sights.telemetry() if wanted.has_telemetry else None,
    )


def _close_up(ask: Callable[[What], Sight], what: What | None) -> Sight | None:
    if what is None:
        return None
    try:
        return ask(what)
    except SelectionError:
        return None


def _words(error: Exception) -> str:
    """Why there are no new figures, in one line."""
    text = " ".join(str(error).split()) or "no reason given"
    return text if isinstance(error, TtmemError) else f"{type(error).__name__}: {text}"
