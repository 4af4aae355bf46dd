"""`ttmem top`: the table of `ttmem ps`, drawn anew every second until it is interrupted; in a pipe, once."""

import os
import sys

import click

from ttmem.cli.exits import DONE
from ttmem.cli.ps import ps
from ttmem.cli.screen import Screen

_NOT_LIVE = ("interval", "is_json", "picture_file", "is_with_ended")  # options of `ps` that have no use here


@click.command(short_help="Watch which process holds what, live.")
@click.option(
    "-d", "--delay", type=click.FloatRange(min=0.05), default=1.0, metavar="SECONDS", help="Time between looks (1)."
)
@click.pass_context
def top(context: click.Context, /, *, delay: float, **asked: object) -> int:
    """Watch which process holds what on which device, live. Ctrl-C ends it.

    The figures are those of `ttmem ps`, and so are the options. Where nothing can be drawn over, in a pipe or a file,
    the table is shown once.
    """
    is_live = Screen(sys.stdout, os.environ).is_live
    try:
        code: int = context.invoke(ps, interval=delay if is_live else None, **asked)
    except KeyboardInterrupt:
        if not is_live:
            raise
        return DONE  # the way to leave it
    return code


top.params += [option for option in ps.params if option.name not in _NOT_LIVE]
