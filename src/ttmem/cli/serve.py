"""`ttmem serve`: the daemon, whether one runs, and how systemd runs it; also under the name of the older server."""

import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

import ttmem
from ttmem.cli.common import DONE, NOT_ANSWERING, NOT_RUNNING
from ttmem.errors import CannotServe, DaemonBusy, DaemonGone, TtmemError
from ttmem.figures.daemon_client import SOCKET_NAME, DaemonClient
from ttmem.figures.source import daemon_directories
from ttmem.sources import Places

__all__ = ["UNITS", "installation", "show_status"]


def show_status(query_socket: str | None, environ: Mapping[str, str]) -> int:
    """One line: who answers, or why there is no answer. Then a line for each thing that has failed there."""
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


UNITS = ("ttmem.service", "ttmem.socket", "ttmem-query.socket")
_PLACE = "/etc/systemd/system"


def installation(program: str) -> str:
    """Text to read, and to hand to a root shell as it is."""
    units = units_directory()
    lines = [
        "# The daemon for a whole machine, started by systemd: run these as root, or",
        "#   ttmem serve --install-unit | sudo sh -ex",
        f"# Units go to {_PLACE}; to undo it, disable and remove them there.",
    ]
    for unit in UNITS:
        source, target = shlex.quote(str(units / unit)), f"{_PLACE}/{unit}"
        if unit.endswith(".service"):
            command = shlex.quote(f"s|^ExecStart=[^ ]*|ExecStart={_escaped(_command(program))}|")
            lines += [f"sed {command} {source} > {target}", f"chmod 644 {target}"]
        else:
            lines.append(f"install -m 644 {source} {target}")
    lines += ["systemctl daemon-reload", f"systemctl enable --now {' '.join(reversed(UNITS))}"]
    return "\n".join(lines) + "\n"


def _command(program: str) -> str:
    """The program that is running now, as a unit names it."""
    beside = os.path.join(os.path.dirname(sys.executable), "ttmem")
    for candidate in (shutil.which(program), beside):
        if candidate and os.path.basename(candidate) == "ttmem" and os.access(candidate, os.X_OK):
            return _quoted(os.path.abspath(candidate))
    return f"{_quoted(sys.executable)} -m ttmem"


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def _escaped(text: str) -> str:
    """For the right side of sed's s|||."""
    return re.sub(r"([\\&|])", r"\\\1", text)


def units_directory() -> Path:
    """Where the package brought them, or where the source tree has them."""
    package = Path(ttmem.__file__).resolve().parent
    installed = package / "daemon" / "units"
    return installed if installed.is_dir() else package.parents[1] / "packaging"


Command = TypeVar("Command", bound=Callable[..., Any])


def _socket_options(command: Command) -> Command:
    """What both programs take."""
    for option in (
        click.option("--group", metavar="NAME", help="Let this group query and every user report."),
        click.option(
            "--listen",
            metavar="ADDRESS:PORT",
            help="Also answer on a loopback port, e.g. 127.0.0.1:8265. Every user of this machine can read there what "
            "all processes hold, with their users, commands and labels; nothing can be changed there.",
        ),
        click.option("--query-socket", metavar="PATH", help="Where to answer (default: daemon.sock in $TTMEM_DIR)."),
        click.option(
            "--socket",
            "server_socket",
            metavar="PATH",
            help="Where programs report (default: $TTMEM_SERVER_SOCKET or /tmp/tt_allocation_server.sock).",
        ),
    ):
        command = option(command)
    return command


@click.command(short_help="Serve programs that report by socket, and viewers.")
@_socket_options
@click.option("--log-events/--quiet", " /-q", "logs_events", help="Print a line per event; or none (the default).")
@click.option("--no-server-socket", "--no-seed-socket", "is_without_server", is_flag=True, help="Follow journals only.")
@click.option(
    "--metrics-processes",
    "workloads_most",
    metavar="[N]",
    is_flag=False,
    flag_value=20,
    default=0,
    type=click.IntRange(0, 1000),
    help="Who holds what in /metrics: the N largest workloads (20), the rest as one.",
)
@click.option(
    "--show-paths",
    "shows_paths",
    is_flag=True,
    help="Answer on --listen with the directories of source files, too; else with their names only.",
)
@click.option("--metrics-aliases", "has_aliases", is_flag=True, help="DRAM under tt-telemetry's names, too.")
@click.option("--install-unit", "is_installation", is_flag=True, help="Print how to run it under systemd, and exit.")
@click.option(
    "--status",
    "is_status",
    is_flag=True,
    help="Say whether one runs: exit code 0, 3 if none does, 4 if one runs but does not answer.",
)
def serve(
    *,
    logs_events: bool,
    is_without_server: bool,
    workloads_most: int,
    has_aliases: bool,
    shows_paths: bool,
    is_installation: bool,
    is_status: bool,
    **sockets: str | None,
) -> int:
    """Serve this machine: hear programs on the allocation server's socket, follow journals, and answer
    `ttmem ps` and `ttmem dump`.

    Prints one line on stdout when it is ready. Ctrl-C or SIGTERM ends it cleanly, SIGUSR1 prints what is alive.
    """
    if is_installation:
        click.echo(installation(sys.argv[0]), nl=False)
        return DONE
    if is_status:
        from ttmem.cli.serve import show_status

        return show_status(sockets["query_socket"], os.environ)
    if is_without_server and sockets["server_socket"] is not None:
        raise click.UsageError("--no-server-socket and --socket contradict each other.")
    metrics = (workloads_most, has_aliases)
    _serve(
        _Sockets(**sockets),
        logs_events=logs_events,
        has_server_socket=not is_without_server,
        metrics=metrics,
        shows_paths=shows_paths,
    )
    return DONE


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@_socket_options
@click.option("-q", "--quiet", "is_quiet", is_flag=True, help="No line per event.")
def allocation_server_poc(*, is_quiet: bool, **sockets: str | None) -> None:
    """The allocation server: hears what programs allocate on Tenstorrent devices, and prints a line per event.

    The same program as `ttmem serve --log-events`; `ttmem ps` and `ttmem dump` show what it knows.
    """
    _serve(_Sockets(**sockets), logs_events=not is_quiet)


class _Sockets(NamedTuple):
    """The options of the same names."""

    server_socket: str | None
    query_socket: str | None
    listen: str | None
    group: str | None


def _serve(
    asked: _Sockets,
    *,
    logs_events: bool,
    has_server_socket: bool = True,
    metrics: tuple[int, bool] = (0, False),
    shows_paths: bool = False,
) -> None:
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # never fatal, not even while we start
    _have_standard_streams()
    _check(asked)
    from ttmem.daemon.daemon import serve as serve_daemon
    from ttmem.daemon.listeners import Plan
    from ttmem.daemon.metrics.exporter import Asked
    from ttmem.figures.daemon_client import SOCKET_NAME
    from ttmem.figures.source import daemon_directories
    from ttmem.sources.server_socket import server_socket_path

    environ = dict(os.environ)
    for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET"):
        os.environ.pop(name, None)  # meant for this process alone
    places = Places.from_environment(environ, uid=os.geteuid())
    known = daemon_directories(places, environ) if os.geteuid() == 0 else places.own  # where viewers look
    paths = [os.path.join(directory, SOCKET_NAME) for directory in known]
    plan = Plan(
        server_path=server_socket_path(asked.server_socket, environ) if has_server_socket else None,
        query_path=asked.query_socket or paths[0],
        next_query_paths=tuple(paths if asked.query_socket else paths[1:]),
        group=asked.group,
        listen=asked.listen,
        shows_paths=shows_paths,
    )
    serve_daemon(plan, places, environ, logs_events=logs_events, asked=Asked(*metrics))
    # All is closed and stored. What is left waits for others (a blocked reader), or is memory: the kernel is faster.
    sys.stderr.flush()
    os._exit(0)


def _check(asked: _Sockets) -> None:
    """What can be checked of flags before anything is touched."""
    from ttmem.daemon.queries.server import loopback_address
    from ttmem.sources.server_socket import group_id

    for name, value in asked._asdict().items():
        if value == "":
            flag = "--socket" if name == "server_socket" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"{flag}: expected a value, found an empty one; leave the flag out for the default")
    try:
        if asked.listen:
            loopback_address(asked.listen)
        if asked.group:
            group_id(asked.group)
    except CannotServe as error:
        raise click.UsageError(str(error)) from error


def _have_standard_streams() -> None:
    """Opens what was closed: else a socket would get its number, and the log would be written to that."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 as long-lived as what it stands for
