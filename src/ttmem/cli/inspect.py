"""`ttmem inspect`: what a file is, and all that is in it, as JSON."""

import json
import sys

import click

from ttmem.sources.inspected import inspected

_MOST = 50


@click.command(short_help="Show what a journal, region or checkpoint file holds.")
@click.option(
    "--most", type=click.IntRange(min=1), default=_MOST, metavar="N", help=f"List N allocations and events ({_MOST})."
)
@click.option("--all", "is_whole", is_flag=True, help="List all of them.")
@click.argument("file", type=click.Path(readable=False, path_type=str))  # opening it says what is wrong
def inspect(*, file: str, most: int, is_whole: bool) -> None:
    """Say what FILE is and print it decoded, as JSON (docs/reference/inspect.md): a journal, a region of the stock
    runtime's counters, or a daemon's checkpoint.

    Nothing is judged: processes that have ended are listed like any others.
    """
    document = inspected(file, most=sys.maxsize if is_whole else most)
    is_terminal = sys.stdout.isatty()
    separators = None if is_terminal else (",", ":")
    click.echo(json.dumps(document, indent=2 if is_terminal else None, separators=separators))
