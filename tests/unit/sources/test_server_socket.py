"""Who may serve a socket: whoever comes first; the dead are cleared away, the living never."""

import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ttmem.errors import CannotServe
from ttmem.sources.server_socket import ServedSocket, Sharing, group_id, server_socket_path

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can give files away")


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tt-") as name:
        yield Path(name)


@pytest.fixture
def path(directory: Path) -> str:
    return str(directory / "s")


def a_dead_socket(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen()


def mode_of(path: str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_the_path_asked_for_comes_before_the_environment_and_that_before_the_default() -> None:
    environ = {"TTMEM_SEED_SOCKET": "/a"}

    assert server_socket_path("/b", environ) == "/b"
    assert server_socket_path(None, environ) == "/a"
    assert server_socket_path(None, {"TTMEM_SEED_SOCKET": ""}) == "/tmp/tt_allocation_server.sock"


def test_a_socket_can_be_connected_to_and_goes_away(path: str) -> None:
    served = ServedSocket.taken(path, Sharing())
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
    served.close()

    assert not os.path.exists(path)
    assert not os.path.exists(f"{path}.lock")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_the_mode_is_the_one_asked_for_whatever_the_umask(path: str, mode: int, umask: int) -> None:
    before = os.umask(umask)
    try:
        served = ServedSocket.taken(path, Sharing(mode))
        assert os.umask(umask) == umask
    finally:
        os.umask(before)

    assert mode_of(path) == mode
    served.close()


@as_root
def test_a_group_may_be_let_in(path: str) -> None:
    served = ServedSocket.taken(path, Sharing(0o660, 54321))

    assert (mode_of(path), os.stat(path).st_gid) == (0o660, 54321)
    served.close()


def test_a_second_server_is_refused_with_the_pid_of_the_first(path: str) -> None:
    served = ServedSocket.taken(path, Sharing())

    with pytest.raises(CannotServe, match=f"already served by pid {os.getpid()};"):
        ServedSocket.taken(path, Sharing())
    assert served.is_in_place()
    served.close()


def test_a_server_without_a_lock_is_recognised_and_left_alone(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as older:
        older.bind(path)
        older.listen()

        with pytest.raises(CannotServe, match=f"already served by pid {os.getpid()};"):
            ServedSocket.taken(path, Sharing())
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
    assert not os.path.exists(f"{path}.lock")


def test_a_server_that_is_too_busy_to_answer_is_left_alone(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as older, socket.socket(socket.AF_UNIX) as waiting:
        older.bind(path)
        older.listen(0)
        waiting.connect(path)

        with pytest.raises(CannotServe, match="already served by another process"):
            ServedSocket.taken(path, Sharing())
    assert os.path.exists(path)


def test_a_dead_servers_socket_is_taken_over(path: str) -> None:
    a_dead_socket(path)

    ServedSocket.taken(path, Sharing()).close()


@as_root
def test_a_dead_socket_of_another_user_is_refused(path: str) -> None:
    a_dead_socket(path)
    os.chown(path, 65534, 65534)

    with pytest.raises(CannotServe, match=r"belongs to nobody \(uid 65534\), and nothing answers on it; .*remove it"):
        ServedSocket.taken(path, Sharing())
    assert os.path.exists(path)


def test_a_socket_of_another_kind_is_left_alone(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(path)

        with pytest.raises(CannotServe, match="it is not known whether this socket is served"):
            ServedSocket.taken(path, Sharing())
    assert os.path.exists(path)


def test_what_is_no_socket_is_left_alone(path: str) -> None:
    Path(path).write_text("precious")

    with pytest.raises(CannotServe, match="expected a socket or nothing, found a file"):
        ServedSocket.taken(path, Sharing())
    assert Path(path).read_text() == "precious"


def test_a_link_is_not_followed(path: str) -> None:
    os.symlink(f"{path}-elsewhere", path)

    with pytest.raises(CannotServe, match="found a link"):
        ServedSocket.taken(path, Sharing())


def test_a_path_that_no_socket_can_have_is_refused(directory: Path) -> None:
    longest = directory / ("x" * (107 - len(os.fsencode(directory)) - 1))
    ServedSocket.taken(str(longest), Sharing()).close()

    with pytest.raises(CannotServe, match="at most 107 bytes, not 108"):
        ServedSocket.taken(f"{longest}x", Sharing())


@pytest.mark.parametrize(("place", "word"), [("missing/s", "make .*missing first"), ("file/s", "is not a directory")])
def test_a_place_that_is_no_directory_is_refused(directory: Path, place: str, word: str) -> None:
    (directory / "file").touch()

    with pytest.raises(CannotServe, match=word):
        ServedSocket.taken(str(directory / place), Sharing())


def test_a_socket_that_was_replaced_is_noticed_and_not_removed(path: str) -> None:
    served = ServedSocket.taken(path, Sharing())
    os.unlink(path)
    assert not served.is_in_place()
    a_dead_socket(path)
    assert not served.is_in_place()
    served.close()

    assert os.path.exists(path)


def test_a_managers_socket_is_locked_but_stays(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as managers:
        managers.bind(path)
        managers.listen()
        served = ServedSocket.given(managers.dup())
        with pytest.raises(CannotServe, match=f"already served by pid {os.getpid()}"):
            ServedSocket.taken(path, Sharing())
        served.close()

    assert os.path.exists(path)
    assert not os.path.exists(f"{path}.lock")


def test_a_group_is_found_by_name_or_number() -> None:
    assert group_id("root") == 0
    assert group_id("4711") == 4711
    with pytest.raises(CannotServe, match="nosuchgroup: no such group"):
        group_id("nosuchgroup")
