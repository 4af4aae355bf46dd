"""What a service manager hands over, and what it is told."""

import os
import socket
import tempfile
from pathlib import Path

import pytest

from tests.support.timing.waiting import PATIENCE_SECONDS
from ttmem.daemon.activation import given_sockets, notify_manager
from ttmem.errors import CannotServe


def test_without_a_manager_nothing_is_given() -> None:
    assert given_sockets({}) == {}


def test_what_was_meant_for_another_process_is_left_alone() -> None:
    assert given_sockets({"LISTEN_PID": str(os.getpid() + 1), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "server"}) == {}


@pytest.mark.parametrize("names", ["other", "server:query", "server:server", "seed:server", ""])
def test_unknown_names_are_refused(names: str) -> None:
    environ = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": names}

    with pytest.raises(CannotServe, match="expected sockets named server and query, found 1 named"):
        given_sockets(environ)


@pytest.mark.parametrize("address", ["path", "abstract"])
def test_a_manager_is_notified(address: str) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="tt-") as directory,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear,
    ):
        path = str(Path(directory, "n"))
        ear.bind(path if address == "path" else "\0" + path)
        ear.settimeout(PATIENCE_SECONDS)

        notify_manager({"NOTIFY_SOCKET": path if address == "path" else "@" + path}, "READY=1", "STATUS=well")

        assert ear.recv(100) == b"READY=1\nSTATUS=well"


@pytest.mark.parametrize(
    "environ", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/nowhere/at/all"}, {"NOTIFY_SOCKET": "odd"}]
)
def test_a_manager_that_does_not_listen_is_no_error(environ: dict[str, str]) -> None:
    notify_manager(environ, "READY=1")
