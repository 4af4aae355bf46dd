"""Ctrl-C as a state to query: the watcher ends at a good moment, and still says what was seen."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Interrupts", "noticed_interrupts"]


class Interrupts:
    """Whether the key was pressed. Pressed again, it does not wait for the good moment and interrupts at once."""

    def __init__(self) -> None:
        self.is_pressed = False

    def hear(self, number: int, frame: object) -> None:
        """What a signal calls."""
        if self.is_pressed:
            raise KeyboardInterrupt
        self.is_pressed = True


@contextmanager
def noticed_interrupts() -> Iterator[Interrupts]:
    """Until this is left, the first Ctrl-C is only noticed; where it is ignored it stays so."""
    interrupts = Interrupts()
    before = signal.getsignal(signal.SIGINT)
    if before is signal.SIG_IGN:
        yield interrupts
        return
    signal.signal(signal.SIGINT, interrupts.hear)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)
