"""`ttmem run`: a program with tracking on, and afterwards what it held at its highest."""

import os
import secrets
import shlex
import sys

import click

from ttmem.cli.child import Child
from ttmem.cli.exits import NOT_EXECUTABLE, NOT_FOUND
from ttmem.cli.offspring import Offspring
from ttmem.cli.screen import Screen
from ttmem.collector import Collector
from ttmem.sources import Places
from ttmem.view import summary

_LOOK_EVERY_SECONDS = 0.02
_SETTLE_SECONDS = 2.0
_MARK = "TTMEM_RUN"


@click.command(short_help="Run a program with tracking on.", context_settings={"allow_interspersed_args": False})
@click.option("--label", metavar="TEXT", help="The name it goes by in tables.")
@click.option("--dir", "directory", metavar="DIR", help="Where journals go (default: $TTMEM_DIR).")
@click.option("--summary/--no-summary", "has_summary", default=True, help="Peaks on stderr at its end (on).")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(*, label: str | None, directory: str | None, has_summary: bool, command: tuple[str, ...]) -> int:
    """Run COMMAND with tracking on: it, and what it starts, reports if it uses the ttmem client.

    Signals go through to it, and its exit code is ours (128 + signal if it was killed).
    """
    environ = {**os.environ, "TTMEM": "1", _MARK: secrets.token_hex(8)}
    if label:
        environ["TTMEM_LABEL"] = label
    if directory:
        environ["TTMEM_DIR"] = directory
    places = Places.from_environment(environ, uid=os.geteuid())
    offspring = Offspring(places, mark=f"{_MARK}={environ[_MARK]}")
    try:
        child = Child(command, environ)
    except OSError as error:
        click.echo(f"ttmem: {command[0]}: {error.strerror}", err=True)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    offspring.began(child.pid)
    code = child.wait(offspring.look, every_seconds=_LOOK_EVERY_SECONDS)
    offspring.look()
    _tell(offspring, places, command, has_summary=has_summary)
    return code


def _tell(offspring: Offspring, places: Places, command: tuple[str, ...], *, has_summary: bool) -> None:
    """Says on stderr what was held at most, or that nothing was reported at all."""
    name = shlex.join(command)
    if not offspring.paths:
        click.echo(
            f"ttmem: nothing in `{name}` reported device memory; "
            "a program does so through the ttmem client (import ttmem, or ttmem/client.h)",
            err=True,
        )
        return
    if not has_summary:
        return
    with Collector(places) as collector:
        collector.wait_settled(_SETTLE_SECONDS)
        snapshot = collector.snapshot()
    lines = summary([process for process in snapshot.processes if process.path in offspring.paths])
    click.echo(
        f"ttmem: peaks of `{name}`" if lines else f"ttmem: `{name}` reported, but held no device memory", err=True
    )
    if sys.stderr is not None:
        Screen(sys.stderr, os.environ).show(lines)
