"""Whether a daemon runs: what `ttmem serve --status` says, with the exit codes of `systemctl status`."""

import os
from collections.abc import Mapping

import click

from ttmem.cli.exits import DONE, NOT_ANSWERING, NOT_RUNNING
from ttmem.errors import DaemonBusy, DaemonGone, TtmemError
from ttmem.figures.daemon_client import SOCKET_NAME, DaemonClient
from ttmem.figures.source import daemon_directories
from ttmem.sources import Places

__all__ = ["tell_status"]


def tell_status(query_socket: str | None, environ: Mapping[str, str]) -> int:
    """One line: who answers, or why nobody does. Then a line for each thing that has failed there."""
    directories = daemon_directories(Places.from_environment(environ, uid=os.geteuid()), environ)
    paths = [query_socket] if query_socket else [os.path.join(directory, SOCKET_NAME) for directory in directories]
    troubles = []
    is_busy = False
    for path in paths:
        client = DaemonClient(path)
        try:
            snapshot = client.snapshot()
        except TtmemError as error:
            troubles.append(f"{path}: {error}")
            is_busy |= isinstance(error, DaemonBusy)
            continue
        count = len(snapshot.live)
        click.echo(f"{snapshot.source} answers on {path}; {count} process{' reports' if count == 1 else 'es report'}")
        for reason in _reasons(client):
            click.echo(f"degraded: {reason}")
        return DONE
    found = "; ".join(troubles)
    if is_busy:
        click.echo(f"ttmem: a daemon runs, but is busy or hangs ({found}); try again, or restart it", err=True)
        return NOT_ANSWERING
    click.echo(f"ttmem: no daemon runs ({found})", err=True)
    return NOT_RUNNING


def _reasons(client: DaemonClient) -> list[str]:
    try:
        reasons = client.health().get("reasons")
    except DaemonGone as error:
        return [f"its state cannot be asked for: {error}"]
    return [str(reason) for reason in reasons] if isinstance(reasons, list) else []
