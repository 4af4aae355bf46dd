"""Tables of simulated chips: `ttmem --demo -s`, and every other form of a table, without a card.

Once: workloads are played to their end as fast as they go, and hold what they hold while they are looked at. Again and
again: they play at a watchable pace meanwhile.
"""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn

from ttmem.cli.common import KILLED_BY
from ttmem.cli.demonstration.directories import apart_from, own_directory, usual_places
from ttmem.cli.demonstration.player import performed
from ttmem.cli.demonstration.show import orders_for
from ttmem.cli.demonstration.workload import Order
from ttmem.sources import Places

__all__ = ["simulated_chips"]

_PLAY_SECONDS = 30.0  # most of them are over much sooner


@contextmanager
def simulated_chips(chip_count: int, environ: Mapping[str, str], *, is_live: bool) -> Iterator[Mapping[str, str]]:
    """An environment in which only simulated chips and their workloads are seen; gone when left."""
    orders = [order if is_live else _bounded(order) for order in orders_for(chip_count)]
    before = {number: signal.signal(number, _leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        with own_directory(len(orders), usual_places()) as directory:
            places = Places(uid=os.geteuid(), directory=directory)
            with performed(orders, directory, places) as performance:
                if not is_live:
                    performance.wait(_PLAY_SECONDS)
                    performance.finish()
                yield apart_from(environ, directory)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _bounded(order: Order) -> Order:
    """As many rounds as show all there is to see, without a pause."""
    from ttmem.metal.workloads import WORKLOADS

    return replace(order, speed=0.0, round_count=WORKLOADS[order.name].round_count)


def _leave(number: int, frame: object) -> NoReturn:
    sys.exit(KILLED_BY + number)
