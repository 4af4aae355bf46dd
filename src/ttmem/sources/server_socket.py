"""Where a socket is served, and by whom: first of all that of the allocation server's protocol.

One path, one server. The lock beside the socket decides between servers of this kind; a server without a lock (the
older `allocation_server_poc`) is found out by connecting to it. Neither is ever pushed aside. A socket on which
nothing answers is a dead server's, and is taken over if it was this user's.
"""

import grp
import os
import socket
import stat
import struct
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from ttmem import _native
from ttmem.errors import CannotServe, PlaceBlocked
from ttmem.sources.procfs import user_name
from ttmem.sources.serving_lock import FULL, LockHeld, ServingLock, is_foreign, kind_word

__all__ = ["ServedSocket", "ServerFeed", "Sharing", "device_node_count", "group_id", "server_socket_path"]

DEFAULT_PATH = "/tmp/tt_allocation_server.sock"
VARIABLE, _OLDER_VARIABLE = "TTMEM_SERVER_SOCKET", "TTMEM_SEED_SOCKET"
BACKLOG = 1024
_LONGEST_PATH_BYTES = 107  # of sockaddr_un, with its final zero
_CONNECT_SECONDS = 1.0
_MOST_GROUPS = (1 << 32) - 1  # of gid_t; the last number means "none"


def server_socket_path(asked: str | None, environ: Mapping[str, str]) -> str:
    """The path asked for, else the environment's, else that of the older server."""
    return asked or environ.get(VARIABLE) or environ.get(_OLDER_VARIABLE) or DEFAULT_PATH


class Sharing(NamedTuple):
    """Who may connect: a file mode, and the group it speaks of (None: the server's own)."""

    mode: int = 0o600
    group: int | None = None


def group_id(name: str) -> int:
    """The number of a group, by its name or number."""
    try:
        return grp.getgrnam(name).gr_gid if not name.isdecimal() else _checked_number(name)
    except KeyError:
        raise CannotServe(f"{name}: no such group on this machine; `getent group` lists them") from None


def _checked_number(digits: str) -> int:
    number = int(digits) if len(digits) <= len(str(_MOST_GROUPS)) else _MOST_GROUPS
    if number >= _MOST_GROUPS:
        raise KeyError(digits)
    return number


class ServedSocket:
    """A listening socket that only we serve; its path and its lock go away with `close`."""

    def __init__(self, path: str, listener: socket.socket, lock: ServingLock | None, *, is_own: bool) -> None:
        self.path = path
        self.listener = listener
        self._lock = lock
        self._is_own = is_own  # we made it, not a service manager
        self._facts = _facts_of(path)

    @classmethod
    def taken(cls, path: str, sharing: Sharing) -> "ServedSocket":
        """Binds the path, or says in one line why that cannot be."""
        path = os.path.abspath(path)
        _check_place(path)
        lock = _lock(path)
        try:
            _clear(path)
            return cls(path, _bound(path, sharing), lock, is_own=True)
        except BaseException:
            lock.release()
            raise

    @classmethod
    def given(cls, listener: socket.socket) -> "ServedSocket":
        """Serves a socket that a service manager bound and keeps."""
        path = listener.getsockname()
        if listener.family != socket.AF_UNIX or not isinstance(path, str) or not path:
            raise CannotServe(f"{path!r}: expected a Unix socket with a path from the service manager")
        lock = None
        try:
            lock = ServingLock(f"{path}.lock")
        except LockHeld as held:
            raise _refusal(path, held.pid) from None
        except PlaceBlocked:  # another user's file says nothing about a socket that is ours already
            pass
        return cls(path, listener, lock, is_own=False)

    def is_in_place(self) -> bool:
        """Whether the path still leads to this socket; an older server unlinks whatever it finds."""
        facts = _facts_of(self.path)
        return facts is not None and self._facts is not None and os.path.samestat(facts, self._facts)

    def remove(self) -> None:
        """Takes the path away: no new client can connect; the lock stays ours."""
        if self._is_own and self.is_in_place():
            with suppress(OSError):
                os.unlink(self.path)

    def close(self) -> None:
        self.remove()
        self.listener.close()
        if self._lock is not None:
            self._lock.release()


def _facts_of(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _check_place(path: str) -> None:
    """Whether a socket can be at this path at all."""
    length = len(os.fsencode(path))
    if length > _LONGEST_PATH_BYTES:
        raise CannotServe(
            f"{path}: a socket's path has at most {_LONGEST_PATH_BYTES} bytes, not {length}; choose a shorter one"
        )
    directory = os.path.dirname(path)
    try:
        is_directory = stat.S_ISDIR(os.stat(directory).st_mode)
    except OSError as error:
        raise CannotServe(f"{path}: its directory cannot be used ({error.strerror}); make {directory} first") from error
    if not is_directory:
        raise CannotServe(f"{path}: {directory} is not a directory; choose another path")
    if not os.access(directory, os.W_OK | os.X_OK, effective_ids=True):
        raise CannotServe(
            f"{path}: {user_name(os.geteuid())} may not write to {directory}; choose a path in a directory of your own"
        )
    facts = _facts_of(path)
    if facts is not None and not stat.S_ISSOCK(facts.st_mode):
        found = f"found {kind_word(facts.st_mode)}"
        if is_foreign(facts):
            found += f" of {user_name(facts.st_uid)}"
        raise (PlaceBlocked if is_foreign(facts) else CannotServe)(
            f"{path}: expected a socket or nothing, {found}; remove it or choose another path"
        )


def _lock(path: str) -> ServingLock:
    try:
        return ServingLock(f"{path}.lock")
    except LockHeld as held:
        raise _refusal(path, held.pid) from None
    except CannotServe:
        owner = _server_of(path)  # another user's server, perhaps: then say who
        if owner is not None and owner.is_alive:
            raise _refusal(path, owner.pid, owner.uid) from None
        raise


def _clear(path: str) -> None:
    """Removes what a dead server of this user left; everything else is refused."""
    before = _facts_of(path)
    if before is None:
        return
    found = _server_of(path)
    if found is not None and found.is_alive:
        raise _refusal(path, found.pid, before.st_uid if found.uid is None else found.uid)
    if is_foreign(before):
        owner = f"{user_name(before.st_uid)} (uid {before.st_uid})"
        state = "nothing answers on it" if found is None else f"{user_name(os.geteuid())} may not connect to it"
        raise PlaceBlocked(
            f"{path}: this socket belongs to {owner}, and {state}; "
            "choose another path, or have its owner or root remove it"
        )
    now = _facts_of(path)
    if found is not None or (now is not None and not os.path.samestat(before, now)):
        raise CannotServe(f"{path}: it is not known whether this socket is served; remove it if it is not")
    with suppress(FileNotFoundError):
        os.unlink(path)


class _OtherServer(NamedTuple):
    """Who answers on a socket: pid and uid, None where the kernel does not say."""

    is_alive: bool
    pid: int | None = None
    uid: int | None = None


def _server_of(path: str) -> _OtherServer | None:
    """None if nothing listens; not alive if that could not be found out."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_SECONDS)
        try:
            connection.connect(path)
        except (FileNotFoundError, ConnectionRefusedError):
            return None
        except (BlockingIOError, TimeoutError):  # it listens, but is busy
            return _OtherServer(is_alive=True)
        except OSError:
            return _OtherServer(is_alive=False)
        pid, uid, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return _OtherServer(True, pid or None, uid)


def _refusal(path: str, pid: int | None, uid: int | None = None) -> CannotServe:
    who = f"pid {pid}" if pid else "another process"
    kind = CannotServe
    if uid is not None and uid != os.geteuid():
        who += f" of {user_name(uid)}"
        kind = PlaceBlocked
    return kind(f"{path}: already served by {who}; end that one first, or choose another path")


def _bound(path: str, sharing: Sharing) -> socket.socket:
    """A listening socket, never more open than asked for: the mode is there from its first moment."""
    first_mode = 0o600 if sharing.group is not None else sharing.mode
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    before = os.umask(0o777 & ~first_mode)
    try:
        listener.bind(path)
    except OSError as error:
        listener.close()
        there = _facts_of(path)
        kind = PlaceBlocked if error.errno in FULL or (there and is_foreign(there)) else CannotServe
        raise kind(f"{path}: cannot be bound ({error.strerror}); choose another path") from error
    finally:
        os.umask(before)
    try:
        if sharing.group is not None:
            os.chown(path, -1, sharing.group)
            os.chmod(path, sharing.mode)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        os.unlink(path)
        raise CannotServe(
            f"{path}: cannot be shared with group {sharing.group} ({error.strerror}); be a member of it, or root"
        ) from error
    return listener


_RUN_SECONDS = 0.2
_DEVICE_NODES = "/dev/tenstorrent"


class ServerFeed:
    """Serves one socket until `stop`; what it hears goes to a ledger."""

    def __init__(self, ledger: _native.Ledger, served: ServedSocket, *, logs_events: bool) -> None:
        self._server = _native.AllocationServer(ledger, served.listener.fileno(), logs_events, device_node_count())
        self._logs_events = logs_events
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ttmem-server-socket", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Takes what has already arrived, then hangs up on all."""
        self._is_over.set()
        while self._thread.is_alive():
            self._server.stop()
            self._thread.join(0.02)
        self._server.finish()

    def statistics(self) -> dict[str, int]:
        return self._server.statistics()

    def take_log(self, wait_seconds: float) -> tuple[bytes, int, int, int]:
        """Text of the log, lines dropped so far, then requests to dump what remains and to dump kernels."""
        if not self._logs_events:  # nothing to be quick for, and the core looks for lines 500 times a second
            time.sleep(wait_seconds)
            wait_seconds = 0.0
        return self._server.take_log(wait_seconds)

    def _run(self) -> None:
        while not self._is_over.is_set():
            self._server.run(_RUN_SECONDS)


def device_node_count(directory: str = _DEVICE_NODES) -> int:
    """How many device files the driver made."""
    with suppress(OSError):
        return sum(name.isdecimal() for name in os.listdir(directory))
    return 0
