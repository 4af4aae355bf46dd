"""The sockets of a daemon: where programs report, where viewers ask, and on request a port for browsers.

Another user may have put something in the way: a file, a socket or a lock in /tmp, a directory in /dev/shm. Then the
query socket goes to the next place where viewers look for it. The socket where programs report has one place only:
without it root's daemon goes on, says so, and tries again now and then; a daemon of another user is refused.
"""

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import NamedTuple

from ttmem.daemon.activation import given_sockets
from ttmem.daemon.queries.server import loopback_listener
from ttmem.errors import CannotServe, PlaceBlocked
from ttmem.sources.procfs import user_name
from ttmem.sources.server_socket import ServedSocket, Sharing, group_id

__all__ = ["Listeners", "Plan", "open_listeners"]


class Plan(NamedTuple):
    """What was asked for. `server_path` None: no socket where programs report; `group`: who else may ask and report.

    `next_query_paths`: where else to answer if something of others is in the way at `query_path`.
    """

    server_path: str | None
    query_path: str
    group: str | None = None
    listen: str | None = None
    next_query_paths: tuple[str, ...] = ()
    shows_paths: bool = False  # to `listen`, too: the directories of files that sites name


class Listeners:
    """What is open, until the block that opened it ends. Used by one thread, but for `server` and `troubles`."""

    def __init__(self, open_server: Callable[[], ServedSocket] | None) -> None:
        self.server: ServedSocket | None = None
        self.query: ServedSocket
        self.port: socket.socket | None = None
        self._open_server = open_server  # until it is open
        self._server_trouble = ""
        self.query_trouble = ""
        self.shows_paths = False

    @property
    def is_server_blocked(self) -> bool:
        return bool(self._server_trouble)

    @property
    def troubles(self) -> list[str]:
        """What is not as it was asked for, and why."""
        return [trouble for trouble in (self._server_trouble, self.query_trouble) if trouble]

    @property
    def for_queries(self) -> list[socket.socket]:
        """Those where questions are asked."""
        return [self.query.listener, *([self.port] if self.port else [])]

    @property
    def url(self) -> str | None:
        """The address for browsers."""
        if self.port is None:
            return None
        host, port = self.port.getsockname()[:2]
        return f"http://[{host}]:{port}" if self.port.family == socket.AF_INET6 else f"http://{host}:{port}"

    def try_server(self) -> ServedSocket | None:
        """Opens the socket where programs report, if it is wanted and not open yet; None if root finds it blocked."""
        if self._open_server is None:
            return None
        try:
            self.server = self._open_server()
        except PlaceBlocked as error:
            if os.geteuid() != 0:
                raise
            self._server_trouble = f"programs that report by socket are not heard: {error}"
            return None
        self._open_server, self._server_trouble = None, ""
        return self.server

    def close(self) -> None:
        if self.server is not None:
            self.server.close()


@contextmanager
def open_listeners(plan: Plan, environ: Mapping[str, str]) -> Iterator[Listeners]:
    """Opens all of them, or none and says why; sockets of a service manager stand in for our own."""
    group = group_id(plan.group) if plan.group else None
    with ExitStack() as closing:
        given = given_sockets(environ)
        is_for_all = group is not None or os.geteuid() == 0
        sharing = Sharing(0o666 if is_for_all else 0o600)
        is_wanted = "server" in given or plan.server_path is not None
        listeners = Listeners(
            (lambda: _served(given.get("server"), plan.server_path or "", sharing)) if is_wanted else None
        )
        closing.callback(listeners.close)
        listeners.shows_paths = plan.shows_paths
        listeners.try_server()
        listeners.query, listeners.query_trouble = _query_socket(given.get("query"), plan, group)
        closing.callback(listeners.query.close)
        listeners.port = closing.enter_context(loopback_listener(plan.listen)) if plan.listen else None
        yield listeners


def _query_socket(given: socket.socket | None, plan: Plan, group: int | None) -> tuple[ServedSocket, str]:
    """The socket where questions are asked, at the first place that is free of others; and why not at the first."""
    if given is not None:
        return ServedSocket.given(given), ""
    sharing = Sharing() if group is None else Sharing(0o660, group)
    trouble: PlaceBlocked | None = None
    for path in (plan.query_path, *plan.next_query_paths):
        try:
            _prepare_directory(os.path.dirname(os.path.abspath(path)), group)
            served = ServedSocket.taken(path, sharing)
        except PlaceBlocked as error:
            trouble = trouble or error
            continue
        return served, "" if trouble is None else f"answering on {served.path} instead: {trouble}"
    assert trouble is not None
    raise trouble


def _served(given: socket.socket | None, path: str, sharing: Sharing) -> ServedSocket:
    return ServedSocket.given(given) if given is not None else ServedSocket.taken(path, sharing)


def _check_owner(directory: str, owner: int, *, is_private: bool) -> None:
    """Of the directory of our own name, a link counts as what it is, not as what it leads to."""
    own = os.geteuid()
    if os.path.basename(directory) == f"ttmem-{own}":
        owner, is_private = os.lstat(directory).st_uid, True
    if is_private and owner not in (own, 0):
        raise PlaceBlocked(
            f"{directory}: expected a directory of {user_name(own)}, found one of {user_name(owner)}; "
            "remove it, or set TTMEM_DIR to one of your own"
        )


def _prepare_directory(directory: str, group: int | None) -> None:
    """Makes the directory if need be, private; lets a group through a private one of ours, and no other."""
    with suppress(OSError):  # not there and not to be made: reported when the socket is bound
        os.mkdir(directory, 0o700)
    try:
        facts = os.stat(directory)
    except OSError:
        return
    is_private = facts.st_mode & 0o077 == 0
    _check_owner(directory, facts.st_uid, is_private=is_private)
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
