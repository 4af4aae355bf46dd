"""The sockets of a daemon: where programs report, where viewers ask, and on request a port for browsers."""

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple

from ttmem.daemon.activation import given_sockets
from ttmem.daemon.query_server import loopback_listener
from ttmem.errors import CannotServe
from ttmem.sources.hosts import user_name
from ttmem.sources.seed_socket import ServedSocket, Sharing, group_id

__all__ = ["Doors", "Plan", "open_doors"]


class Plan(NamedTuple):
    """What was asked for. `seed_path` None: no socket of the seeds; `group`: who else may ask and report."""

    seed_path: str | None
    query_path: str
    group: str | None = None
    listen: str | None = None


class Doors(NamedTuple):
    """What is open, until the block that opened it ends."""

    seed: ServedSocket | None
    query: ServedSocket
    port: socket.socket | None

    @property
    def listeners(self) -> list[socket.socket]:
        """Those where questions are asked."""
        return [self.query.listener, *([self.port] if self.port else [])]

    @property
    def url(self) -> str | None:
        """The address for browsers."""
        if self.port is None:
            return None
        host, port = self.port.getsockname()[:2]
        return f"http://[{host}]:{port}" if self.port.family == socket.AF_INET6 else f"http://{host}:{port}"


@contextmanager
def open_doors(plan: Plan, environ: Mapping[str, str]) -> Iterator[Doors]:
    """Opens all of them, or none and says why; sockets of a service manager stand in for our own."""
    group = group_id(plan.group) if plan.group else None
    with ExitStack() as doors:
        given = given_sockets(environ)
        seed = None
        if "seed" in given or plan.seed_path is not None:
            is_for_all = group is not None or os.geteuid() == 0
            seed = _door(given.get("seed"), plan.seed_path or "", Sharing(0o666 if is_for_all else 0o600))
            doors.callback(seed.close)
        if "query" not in given:
            _prepare_directory(os.path.dirname(os.path.abspath(plan.query_path)), group)
        sharing = Sharing() if group is None else Sharing(0o660, group)
        query = _door(given.get("query"), plan.query_path, sharing)
        doors.callback(query.close)
        port = doors.enter_context(loopback_listener(plan.listen)) if plan.listen else None
        yield Doors(seed, query, port)


def _door(given: socket.socket | None, path: str, sharing: Sharing) -> ServedSocket:
    return ServedSocket.given(given) if given is not None else ServedSocket.taken(path, sharing)


def _prepare_directory(directory: str, group: int | None) -> None:
    """Makes the directory if need be, private; lets a group through a private one of ours, nobody else."""
    with suppress(OSError):  # not there and not to be made: told when the socket is bound
        os.mkdir(directory, 0o700)
    try:
        facts = os.stat(directory)
    except OSError:
        return
    is_private = facts.st_mode & 0o077 == 0
    if is_private and facts.st_uid not in (os.geteuid(), 0):
        raise CannotServe(
            f"{directory}: expected a directory of {user_name(os.geteuid())}, found one of "
            f"{user_name(facts.st_uid)}; set TTMEM_DIR to one of your own"
        )
    if group is None or facts.st_mode & 0o001 or (facts.st_gid == group and facts.st_mode & 0o010):
        return
    try:
        if not is_private:
            raise PermissionError(1, "it is open to another group already")
        os.chown(directory, -1, group)
        os.chmod(directory, 0o710)
    except OSError as error:
        raise CannotServe(
            f"{directory}: group {group} cannot be let through ({error.strerror}); choose another --query-socket"
        ) from error
