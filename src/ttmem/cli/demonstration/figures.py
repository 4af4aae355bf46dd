"""Where a verb gets its figures: of this machine, or with `--demo` of simulated chips with a workload."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ttmem.cli.common.request import BANNER, DEMO_CHIPS
from ttmem.figures.source import FigureSource

__all__ = ["figure_source"]


@contextmanager
def figure_source(
    *,
    is_alone: bool,
    is_demo: bool = False,
    chip_count: int | None = None,
    workload: str = "",
    is_following: bool = False,
) -> Iterator[FigureSource]:
    """Of simulated chips if `--demo` or `--mock` was given: those of one workload, or as many as were asked for."""
    if not is_demo and chip_count is None:
        with FigureSource(os.environ, uid=os.geteuid(), has_daemon=not is_alone, is_following=is_following) as source:
            yield source
        return
    from ttmem.cli.demonstration.show import orders_for
    from ttmem.cli.demonstration.simulated_chips import simulated_chips
    from ttmem.cli.demonstration.workload import Order

    click.echo(f"ttmem: {BANNER}", err=True)
    orders = [Order(name=workload)] if workload and chip_count is None else orders_for(chip_count or DEMO_CHIPS)
    with (
        simulated_chips(orders, os.environ, is_live=is_following) as environ,
        FigureSource(environ, uid=os.geteuid(), has_daemon=False, is_following=is_following) as source,
    ):
        yield source
