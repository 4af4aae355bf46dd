"""Whether a daemon runs: what `ttmem serve --status` says, with the exit codes of `systemctl status`."""

import os
from collections.abc import Mapping

import click

from ttmem.cli.exits import DONE, NOT_RUNNING
from ttmem.daemon.asking.client import SOCKET_NAME, DaemonClient
from ttmem.daemon.asking.looking import SYSTEM_DIRECTORY
from ttmem.errors import TtmemError
from ttmem.sources import Places

__all__ = ["tell_status"]


def tell_status(query_socket: str | None, environ: Mapping[str, str]) -> int:
    """One line: who answers, or why nobody does."""
    places = Places.from_environment(environ, uid=os.geteuid())
    directories = dict.fromkeys([places.main, environ.get("TTMEM_SYSTEM_DIR") or SYSTEM_DIRECTORY])
    paths = [query_socket] if query_socket else [os.path.join(directory, SOCKET_NAME) for directory in directories]
    troubles = []
    for path in paths:
        try:
            snapshot = DaemonClient(path).snapshot()
        except TtmemError as error:
            troubles.append(f"{path}: {error}")
            continue
        count = len(snapshot.live)
        click.echo(f"{snapshot.source} answers on {path}; {count} process{' reports' if count == 1 else 'es report'}")
        return DONE
    click.echo(f"ttmem: no daemon runs ({'; '.join(troubles)})", err=True)
    return NOT_RUNNING
