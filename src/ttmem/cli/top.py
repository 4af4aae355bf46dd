"""`ttmem top`: the live monitor; where nothing can be drawn over, in a pipe or a file, one table."""

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from ttmem.cli.screen import Screen

if TYPE_CHECKING:
    from ttmem.monitor.options import Options

_LEAST_SECONDS, _MOST_SECONDS = 0.1, 60.0
_TABLE_OPTIONS = ("devices", "users", "pids", "is_ascii", "is_colourless", "is_alone")  # that `ps` has as well


@click.command(short_help="Watch which process holds what, live.")
@click.option("--demo", "is_demo", is_flag=True, help="On made-up chips: a workload on the runtime model.")
@click.option(
    "--mock",
    "chip_count",
    type=click.IntRange(1, 64),
    is_flag=False,
    flag_value=4,
    metavar="[N]",
    help="On so many made-up chips (4).",
)
@click.option(
    "--interval", type=click.FloatRange(_LEAST_SECONDS, _MOST_SECONDS), metavar="SEC", help="Time between looks (1)."
)
@click.option(
    "-m", "--monitor", "layout", type=click.Choice(["auto", "full", "compact"]), help="How much of each chip."
)
@click.option("-c", "--compact", "layout", flag_value="compact", help="One line for each chip: --monitor compact.")
@click.option(
    "-i", "--id", "devices", metavar="LIST", help="Only these devices: indexes, unique ids or names, comma between."
)
@click.option("-u", "--user", "users", multiple=True, metavar="NAME", help="Only processes of this user.")
@click.option("-p", "--pid", "pids", multiple=True, type=int, metavar="PID", help="Only this process.")
@click.option("-t", "--tree", "is_tree", is_flag=True, help="Processes as a tree.")
@click.option("--sort", metavar="COLUMN", help="Processes by this column.")
@click.option("--readonly", "is_readonly", is_flag=True, help="Send no signals, change nothing.")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Bars and marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
@click.option("--light/--dark", "is_light", default=None, help="For a bright background, or a dark one.")
@click.option("--no-daemon", "is_alone", is_flag=True, help="Read the journals here, whether a daemon runs or not.")
@click.pass_context
def top(context: click.Context, /, **asked: Any) -> int:
    """Watch which process holds what on which device, live. q leaves, F1 tells all keys.

    The figures are those of `ttmem ps`. Where nothing can be drawn over, in a pipe or a file, one table is shown.
    """
    screen = Screen(sys.stdout, os.environ)
    if not screen.is_live:
        return _table(context, asked)
    from ttmem.monitor.start import run_monitor

    return run_monitor(options_of(asked, is_unicode=screen.is_unicode), os.environ)


def _table(context: click.Context, asked: dict[str, Any]) -> int:
    from ttmem.cli.ps import ps

    code: int = context.invoke(ps, **{name: asked[name] for name in _TABLE_OPTIONS})
    return code


def options_of(asked: dict[str, Any], *, is_unicode: bool) -> "Options":
    """What was asked for, as the monitor takes it."""
    from ttmem.monitor.options import Options
    from ttmem.snapshot import Selection

    words = tuple(word.strip() for word in (asked["devices"] or "").split(",") if word.strip())
    return Options(
        interval=asked["interval"],
        layout=asked["layout"],
        theme=None if asked["is_light"] is None else "light" if asked["is_light"] else "dark",
        is_ascii=asked["is_ascii"] or not is_unicode,
        has_colour=not asked["is_colourless"],
        is_readonly=asked["is_readonly"],
        is_tree=asked["is_tree"],
        sort=asked["sort"],
        selection=Selection(words, asked["users"], asked["pids"]),
        has_daemon=not asked["is_alone"],
    )
