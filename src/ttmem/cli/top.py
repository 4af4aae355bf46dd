"""`ttmem top`: the table of `ttmem ps`, drawn anew every second until it is interrupted; in a pipe, once."""

import os
import sys

import click

from ttmem.cli.exits import DONE
from ttmem.cli.looking import Looking
from ttmem.cli.ps import ps, watch
from ttmem.cli.screen import Screen
from ttmem.snapshot import Selection
from ttmem.view import PageOptions

_OWN = ("interval", "is_json", "picture_file", "is_with_ended")  # options of `ps` that a live table has no use for


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
    screen = Screen(sys.stdout, os.environ, has_colour=not asked["is_colourless"])
    if not screen.is_live:
        shown: int = context.invoke(ps, **asked)
        return shown
    options = PageOptions(
        screen.width, bool(asked["is_ascii"]) or not screen.is_unicode, is_kernels=bool(asked["is_kernels"])
    )
    words = tuple(word.strip() for word in str(asked["devices"] or "").split(",") if word.strip())
    selection = Selection(words, asked["users"], asked["pids"], is_with_ended=False)  # type: ignore[arg-type]
    try:
        with Looking(os.environ, uid=os.geteuid(), has_daemon=not asked["is_alone"], is_following=True) as looking:
            watch(looking, selection, screen, options, interval=delay, is_json=False)
    except KeyboardInterrupt:  # the way to leave it
        return DONE


top.params += [option for option in ps.params if option.name not in _OWN]
