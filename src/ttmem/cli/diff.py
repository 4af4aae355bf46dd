"""`ttmem diff`: what changed between two recordings; fails if a pool grew by more than is allowed."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ttmem.cli.common import CROSSED, DONE
from ttmem.cli.common.amounts import amount
from ttmem.cli.common.progress import reading
from ttmem.cli.common.recordings import RecordingName, opened
from ttmem.errors import SelectionError

if TYPE_CHECKING:
    from ttmem.analysis.alive import ByWord
    from ttmem.analysis.limits import Amount

__all__ = ["diff"]

_PEAK_POOLS = ("dram", "l1", "l1_small", "trace")
_MOST = 10


def _by_words(context: click.Context, param: click.Parameter, value: str) -> "tuple[ByWord, ...]":
    from ttmem.analysis.alive import BY_WORDS

    words = tuple(word.strip() for word in value.split(","))
    unknown = [word for word in words if word not in BY_WORDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(BY_WORDS)}", param=param)
    if "chip" in words:
        raise click.BadParameter("every line is of one chip: leave out chip", param=param)
    return words  # type: ignore[return-value]


@click.command(short_help="Show what changed between two recordings.")
@click.argument("before", type=RecordingName())
@click.argument("after", type=RecordingName())
@click.option(
    "--by",
    callback=_by_words,
    default="site",
    metavar="WORDS",
    help="Lines by these: site (if not given), operation, phase, kind, tensor, ...",
)
@click.option("--pool", "pool_word", type=click.Choice(_PEAK_POOLS), help="Only this pool.")
@click.option(
    "--max-growth", callback=amount, metavar="AMOUNT", help="Exit code 5 if a pool's highest grew more: 1%, 64MiB."
)
@click.option(
    "--noise", callback=amount, default="0.1%", metavar="AMOUNT", help="Leave out smaller changes (0.1% of the peak)."
)
@click.option("--all", "is_whole", is_flag=True, help=f"All changes, not the largest {_MOST} of a pool.")
@click.option("--json", "is_json", is_flag=True, help="One JSON document (docs/reference/diff.md).")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
def diff(
    *,
    before: Path,
    after: Path,
    by: "tuple[ByWord, ...]",
    pool_word: str | None,
    max_growth: "Amount | None",
    noise: "Amount",
    is_whole: bool,
    is_json: bool,
    is_ascii: bool,
    is_colourless: bool,
) -> int:
    """Show what changed from recording BEFORE to AFTER: every pool at its highest, of all and in phases of the same
    name, and which lines made the difference.
    """
    from ttmem.analysis.growth.diff import is_over
    from ttmem.devices import Pool
    from ttmem.figures.compared import recording_diff
    from ttmem.snapshot.codec import encoded
    from ttmem.snapshot.values import replace
    from ttmem.view.page import PageOptions
    from ttmem.view.recording_diff import change_text, diff_page, pool_text
    from ttmem.view.screen import Screen

    pool = Pool[pool_word.upper()] if pool_word else None
    try:
        recordings = opened(before), opened(after)
        with reading(*recordings):
            found = recording_diff(*recordings, by=by, pool=pool)
    except SelectionError as error:
        raise click.UsageError(str(error)) from error
    if max_growth is not None:
        over = tuple(f"{pool_text(one)}  {change_text(one)}" for one in found.pools if is_over(one, max_growth))
        found = replace(found, over=over)
    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    if is_json:
        click.echo(encoded(found, is_pretty=screen.is_terminal).decode())
    else:
        options = PageOptions(screen.width, is_ascii or not screen.is_unicode)
        screen.show(diff_page(found, options, noise=noise, most=0 if is_whole else _MOST))
    return CROSSED if found.over else DONE
