"""Flags that tables and the live monitor have in common: made-up chips, how it looks, and who is asked."""

from collections.abc import Callable, Iterable
from typing import Any

import click

from ttmem.cli.tables.arguments import levels_of
from ttmem.cli.tables.request import DEMO_CHIPS

__all__ = ["LOOKS", "MADE_UP", "NO_DAEMON", "with_options"]

Option = Callable[[Any], Any]

NO_DAEMON: Option = click.option(
    "--no-daemon", "is_alone", is_flag=True, help="Read the journals here, whether a daemon runs or not."
)
MADE_UP: tuple[Option, ...] = (
    click.option("--demo", "is_demo", is_flag=True, help="Made-up chips: a workload on the runtime model."),
    click.option(
        "--mock",
        "chip_count",
        type=click.IntRange(1, 64),
        is_flag=False,
        flag_value=DEMO_CHIPS,
        metavar="[N]",
        help=f"So many made-up chips ({DEMO_CHIPS}).",
    ),
)
LOOKS: tuple[Option, ...] = (
    click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Bars and marks in ASCII."),
    click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same)."),
    click.option(
        "--color",
        "colours",
        type=click.Choice(["always", "never", "auto"]),
        is_flag=False,
        flag_value="always",
        metavar="[WHEN]",
        help="Colours always, whatever it is written to, also with NO_COLOR; never; or auto.",
    ),
    click.option(
        "--levels",
        metavar="B,H,F",
        callback=levels_of,
        help="Percent from which on a memory is busy, high, full (60,80,95).",
    ),
)


def with_options(options: Iterable[Option]) -> Option:
    """One decorator for all of them, in this order."""

    def decorated(function: Any) -> Any:
        for option in reversed(tuple(options)):
            function = option(function)
        return function

    return decorated
