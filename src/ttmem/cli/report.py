"""`ttmem report`: what a recording says: peaks and what was alive then, or everything at one moment."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ttmem.cli.common.moments import highest_peak, moment_ns
from ttmem.errors import SelectionError

if TYPE_CHECKING:
    from ttmem.analysis.alive import ByWord

__all__ = ["report"]

_PEAK_POOLS = ("dram", "l1", "l1_small", "trace")
_MOST = 5


def _by_words(context: click.Context, param: click.Parameter, value: str) -> "tuple[ByWord, ...]":
    from ttmem.analysis.alive import BY_WORDS

    words = tuple(word.strip() for word in value.split(","))
    unknown = [word for word in words if word not in BY_WORDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(BY_WORDS)}", param=param)
    return words  # type: ignore[return-value]


@click.command(short_help="Show what a recording says.")
@click.argument("path", type=click.Path(path_type=Path), metavar="RECORDING")
@click.option("--peak", "pool_word", type=click.Choice(_PEAK_POOLS), help="Only this pool.")
@click.option("--chip", metavar="CHIP", help="Only this chip, named as for ttmem ps -i.")
@click.option("--at", "moment", metavar="WHEN", help="All pools at 14:03:07, +12.5s, peak, incident:PID-N or PHASE.")
@click.option(
    "--by", callback=_by_words, default="site", metavar="WORDS", help="site,operation,phase,kind,program,thread,process"
)
@click.option("--all", "is_whole", is_flag=True, help="All sums, not the largest five.")
@click.option("--json", "is_json", is_flag=True, help="One JSON document (docs/reference/report.md).")
@click.option("-U", "--ascii", "--no-unicode", "is_ascii", is_flag=True, help="Marks in ASCII.")
@click.option("-C", "--no-color", "is_colourless", is_flag=True, help="No colours (NO_COLOR does the same).")
def report(
    *,
    path: Path,
    pool_word: str | None,
    chip: str | None,
    moment: str | None,
    by: "tuple[ByWord, ...]",
    is_whole: bool,
    is_json: bool,
    is_ascii: bool,
    is_colourless: bool,
) -> int:
    """Show what a recording says: every pool of every chip at its highest, and what was alive then.

    With --at, all pools at one moment instead; `peak` is the highest of --peak (dram unless said otherwise).
    """
    from ttmem.collector.recorded import Moment
    from ttmem.devices import Pool
    from ttmem.figures.recorded import moment_report, peak_report
    from ttmem.recording import Recording
    from ttmem.snapshot.codec import encoded
    from ttmem.view.page import PageOptions
    from ttmem.view.pages.recording import recording_page
    from ttmem.view.screen import Screen

    recording = Recording(path)
    pool = Pool[pool_word.upper()] if pool_word else None
    most = 0 if is_whole else _MOST
    try:
        if moment is None:
            found = peak_report(recording, by=by, pool=pool, chip=chip, most=most)
        elif moment == "peak":
            at = Moment(recording, peak=highest_peak(recording, pool, chip))
            found = moment_report(recording, at, by=by, pool=pool, chip=chip, most=most)
        else:
            at = Moment(recording, at_ns=moment_ns(recording, moment))
            found = moment_report(recording, at, by=by, pool=pool, chip=chip, most=most)
    except SelectionError as error:
        raise click.BadParameter(str(error), param_hint="--chip") from error
    screen = Screen(sys.stdout, os.environ, has_colour=not is_colourless)
    if is_json:
        click.echo(encoded(found, is_pretty=screen.is_terminal).decode())
    else:
        screen.show(recording_page(found, PageOptions(screen.width, is_ascii or not screen.is_unicode)))
    return 0
