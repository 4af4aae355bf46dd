"""A demo in the monitor: workloads on simulated chips in a place of their own, watched as any program is."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import click

from ttmem.cli.common import KILLED_BY
from ttmem.cli.common.request import BANNER
from ttmem.cli.demonstration.directories import apart_from, how_to_look, own_directory, usual_places
from ttmem.cli.demonstration.player import performed, settled
from ttmem.cli.demonstration.workload import Order, Report
from ttmem.monitor.options import Options
from ttmem.monitor.start import run_monitor
from ttmem.snapshot import Snapshot
from ttmem.sources import Places

__all__ = ["ShowEnding", "orders_for", "show"]

_END_SECONDS = 5.0


class ShowEnding(NamedTuple):
    """The monitor's exit code; and what is known of the workloads at their end, unless a signal ended it all."""

    code: int
    reports: Mapping[int, Report]
    last: Snapshot | None
    left_bytes: int


def orders_for(chip_count: int) -> list[Order]:
    """Workloads for exactly this number of chips."""
    from ttmem.metal.workloads import WORKLOADS

    orders: list[Order] = []
    for name in ("galaxy-70b", "llama-8b", "resnet-trace"):
        size = WORKLOADS[name].chip_count
        while (taken := sum(WORKLOADS[order.name].chip_count for order in orders)) + size <= chip_count:
            orders.append(Order(name=name, chip_offset=taken))
    return orders


def show(orders: Sequence[Order], options: Options, environ: Mapping[str, str]) -> ShowEnding:
    """Until the user leaves. No chip and no program of this machine is looked at."""
    with own_directory(len(orders), usual_places()) as directory:
        places = Places(uid=os.geteuid(), directory=directory)
        with performed(orders, directory, places) as performance:
            click.echo(f"ttmem: to look at it from another terminal: {how_to_look(directory)}", err=True)
            code = run_monitor(options._replace(banner=BANNER, has_daemon=False), apart_from(environ, directory))
            if code >= KILLED_BY:
                return ShowEnding(code, {}, None, 0)
            reports, last = performance.finish()
        return ShowEnding(code, reports, last, _left_bytes(places))


def _left_bytes(places: Places) -> int:
    """What is on the devices when the end of all workloads has been noticed."""
    deadline = time.monotonic() + _END_SECONDS
    while (snapshot := settled(places)).live and time.monotonic() < deadline:
        time.sleep(0.01)
    return sum(usage.used_bytes for device in snapshot.devices for usage in device.pools)
