"""What a service manager (systemd) and a service say to each other: sockets handed over, readiness reported back.

Both are a few lines of environment, so no library: LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES name descriptors from 3
on; NOTIFY_SOCKET is where a datagram says READY=1.
"""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

from ttmem.errors import CannotServe

__all__ = ["given_sockets", "notify_manager"]

_FIRST = 3
_NAMES = {"server": "server", "query": "query", "seed": "server"}  # the last is of units installed before


def given_sockets(environ: Mapping[str, str]) -> dict[str, socket.socket]:
    """The listening sockets that were handed to this process, by name: `server`, `query`, both or none."""
    if environ.get("LISTEN_PID") != str(os.getpid()):
        return {}
    count = int(environ.get("LISTEN_FDS", "0"))
    names = environ.get("LISTEN_FDNAMES", "").split(":")
    if count != len(names) or not set(names) <= set(_NAMES) or len({_NAMES[name] for name in names}) != count:
        found = f"{count} named {environ.get('LISTEN_FDNAMES', '')!r}"
        raise CannotServe(
            f"LISTEN_FDNAMES: expected sockets named server and query, found {found}; see FileDescriptorName="
        )
    return {_NAMES[name]: _taken(_FIRST + place, name) for place, name in enumerate(names)}


def _taken(descriptor: int, name: str) -> socket.socket:
    try:
        os.set_inheritable(descriptor, False)
        given = socket.socket(fileno=descriptor)
        is_listening = given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    except OSError as error:
        raise CannotServe(
            f"descriptor {descriptor} ({name}): expected a socket from the service manager ({error.strerror})"
        ) from error
    if not is_listening or given.type != socket.SOCK_STREAM:
        raise CannotServe(f"descriptor {descriptor} ({name}): expected a listening stream socket (ListenStream=)")
    return given


def notify_manager(environ: Mapping[str, str], *words: str) -> None:
    """Notifies the service manager, if there is one; it is no error if none listens."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notice:
        notice.settimeout(0.2)
        notice.sendto("\n".join(words).encode(), "\0" + address[1:] if address[0] == "@" else address)
