"""`ttmem dump`: what is alive now, allocation by allocation. The answer goes to standard output."""

import os
import sys

import click

from ttmem.cli.common import NEXT_STEP, NOTHING_READ
from ttmem.cli.common.options import NO_DAEMON, SIMULATED, with_options
from ttmem.cli.common.request import how_to_explain
from ttmem.cli.demonstration.figures import figure_source
from ttmem.errors import SelectionError
from ttmem.snapshot.codec import encoded
from ttmem.snapshot.dump import BY, By
from ttmem.view.page import PageOptions
from ttmem.view.pages.dump import dump_page
from ttmem.view.screen import Screen
from ttmem.view.texts import looked_text

_MOST, _MOST_SUMS = 50, 20


@click.command(short_help="Show what is alive, allocation by allocation.")
@click.option("--kernels", "is_kernels_only", is_flag=True, help="Only kernels.")
@click.option(
    "-i", "--id", "--device", "device", metavar="DEVICE", help="Only this device: its index, unique id or name."
)
@click.option(
    "--most",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"List the N largest per device and type ({_MOST}; with --by {_MOST_SUMS}).",
)
@click.option(
    "--by",
    type=click.Choice([by for by in BY if by]),
    help="Sums by the line, phase or operation that made them, instead of single allocations.",
)
@click.option("--all", "is_whole", is_flag=True, help="List all of them.")
@click.option("--json", "is_json", is_flag=True, help="One JSON document (docs/reference/dump.md).")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
@NO_DAEMON
@with_options(SIMULATED)
def dump(
    *,
    is_kernels_only: bool,
    device: str | None,
    most: int | None,
    by: By | None,
    is_whole: bool,
    is_json: bool,
    is_ascii: bool,
    is_colourless: bool,
    is_alone: bool,
    is_demo: bool,
    chip_count: int | None,
) -> int:
    """Show what is alive: how much of every type on every device, then single allocations with owner and age, or sums
    (--by).

    The largest come first, at most 50 per device and type. Asks the daemon (ttmem serve) if one runs, else reads the
    journals.
    """
    if is_whole and most is not None:
        raise click.UsageError("--all and --most contradict each other")
    if is_kernels_only and by in ("site", "phase"):
        raise click.UsageError(f"kernels have no {by}: use --by operation")
    count = 0 if is_whole else most or (_MOST_SUMS if by else _MOST)
    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    with figure_source(is_alone=is_alone, is_demo=is_demo, chip_count=chip_count) as source:
        try:
            alive = source.dump(kernels=is_kernels_only, device=device, most=count, by=by or "")
        except SelectionError as error:
            raise click.BadParameter(str(error), param_hint="-i") from error
    if is_json:
        click.echo(encoded(alive, is_pretty=screen.is_terminal).decode())
    elif alive.process_count or alive.ended_count:  # of which there may be incidents
        explaining = how_to_explain(os.environ, is_simulated=is_demo or chip_count is not None)
        options = PageOptions(screen.width, is_ascii or not screen.is_unicode, explaining=explaining)
        screen.show(dump_page(alive, options))
    if not alive.process_count:
        ended = f"; {alive.ended_count} ended" if alive.ended_count else ""
        click.echo(
            f"ttmem: no process reports ({looked_text(alive.source, alive.places)}{ended}); {NEXT_STEP}", err=True
        )
        for note in alive.notes:
            click.echo(f"ttmem: {note}", err=True)
        return NOTHING_READ
    return 0
