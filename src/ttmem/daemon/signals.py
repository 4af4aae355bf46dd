"""Signals as a list to wait for: none of them can come at a bad moment, or kill.

All threads that are started inside the block hold them back too, so that the main thread gets every one.
"""

import signal
from collections.abc import Callable, Iterator
from types import TracebackType

__all__ = ["Signals"]

_ENDS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Signals:
    """Holds signals back while it is entered. A signal that was ignored at the start (nohup) stays so."""

    def __init__(self) -> None:
        heeded = {number for number in _ENDS if signal.getsignal(number) is not signal.SIG_IGN}
        self._waited_for = {*heeded, signal.SIGUSR1}
        self._before: set[signal.Signals | int] = set()

    def __enter__(self) -> "Signals":
        self._before = set(signal.pthread_sigmask(signal.SIG_BLOCK, self._waited_for))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while signal.sigtimedwait(self._waited_for, 0) is not None:
            pass  # a second Ctrl-C is no reason to die after all was done
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)

    def until_the_end(self, *, each_second: Callable[[], None]) -> Iterator[int]:
        """Signals that do not mean the end, as they come; ends with one that does."""
        while True:
            found = signal.sigtimedwait(self._waited_for, 1.0)
            if found is None:
                each_second()
            elif found.si_signo in _ENDS:
                return
            else:
                yield found.si_signo
