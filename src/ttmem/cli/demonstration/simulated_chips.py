"""Simulated chips for tables and verdicts: `ttmem --demo -s`, `ttmem fit --demo`, without a card.

Once: workloads are played to their end as fast as they go, and hold what they hold while they are looked at. Again and
again: they play at a watchable pace meanwhile.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn

from ttmem.cli.common import KILLED_BY
from ttmem.cli.demonstration.directories import apart_from, own_directory, usual_places
from ttmem.cli.demonstration.player import performed
from ttmem.cli.demonstration.workload import Order
from ttmem.sources import Places

__all__ = ["simulated_chips"]

_PLAY_SECONDS = 30.0  # most of them are over much sooner
_PATIENCE_SECONDS = 0.5


@contextmanager
def simulated_chips(
    orders: Sequence[Order], environ: Mapping[str, str], *, is_live: bool
) -> Iterator[Mapping[str, str]]:
    """An environment in which only simulated chips and their workloads are seen; gone when left."""
    names = ", ".join(dict.fromkeys(order.name for order in orders))
    orders = [order if is_live else _bounded(order) for order in orders]
    waiting = _Notice(f"ttmem: playing {names} on simulated chips ...")
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with own_directory(len(orders), usual_places()) as directory:
            places = Places(uid=os.geteuid(), directory=directory)
            with performed(orders, directory, places) as performance:
                if not is_live:
                    performance.wait(_PLAY_SECONDS)
                    performance.finish()
                waiting.end()
                yield apart_from(environ, directory)
    finally:
        waiting.end()
        for number, handler in before.items():
            signal.signal(number, handler)


class _Notice:
    """A line for people who wait longer than they expect; gone when there is something to see."""

    def __init__(self, text: str) -> None:
        self._timer = threading.Timer(_PATIENCE_SECONDS, self._show, [text])
        self._is_shown = False
        if sys.stderr is not None and sys.stderr.isatty():
            self._timer.daemon = True
            self._timer.start()

    def _show(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
        self._is_shown = True

    def end(self) -> None:
        self._timer.cancel()
        if self._timer.is_alive():
            self._timer.join()
        if self._is_shown:
            self._is_shown = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _bounded(order: Order) -> Order:
    """As many rounds as show all there is to see, without a pause."""
    from ttmem.metal.workloads import WORKLOADS

    return replace(order, speed=0.0, round_count=WORKLOADS[order.name].round_count)


def _leave(number: int, frame: object) -> NoReturn:
    sys.exit(KILLED_BY + number)
