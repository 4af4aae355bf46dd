"""The sockets of a daemon: all or none, and a group is let through a private directory only."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ttmem.daemon.listeners import Plan, open_listeners
from ttmem.errors import CannotServe, PlaceBlocked

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can give files away")


@pytest.fixture
def directory() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="tt-") as name:
        yield Path(name)


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_directory_of_the_query_socket_is_made_private(directory: Path) -> None:
    with open_listeners(Plan(None, str(directory / "d" / "q")), {}) as listeners:
        assert listeners.server is None
        assert mode_of(directory / "d") == 0o700
        assert mode_of(directory / "d" / "q") == 0o600


def test_a_door_that_cannot_be_opened_closes_the_others(directory: Path) -> None:
    (directory / "q").write_text("not a socket")

    with (
        pytest.raises(CannotServe, match="found a file"),
        open_listeners(Plan(str(directory / "s"), str(directory / "q")), {}),
    ):
        pass
    assert os.listdir(directory) == ["q"]


@as_root
def test_a_group_is_let_through_to_the_query_socket_and_no_further(directory: Path) -> None:
    place = directory / "d"
    with open_listeners(Plan(str(directory / "s"), str(place / "q"), group="54321"), {}):
        assert (mode_of(place), place.stat().st_gid) == (0o710, 54321)
        assert (mode_of(place / "q"), (place / "q").stat().st_gid) == (0o660, 54321)
        assert mode_of(directory / "s") == 0o666


@as_root
def test_a_directory_that_all_may_pass_is_left_as_it_is(directory: Path) -> None:
    directory.chmod(0o755)
    with open_listeners(Plan(None, str(directory / "q"), group="54321"), {}):
        assert (mode_of(directory), directory.stat().st_gid) == (0o755, 0)


@as_root
def test_a_directory_of_another_group_is_not_taken_from_it(directory: Path) -> None:
    directory.chmod(0o750)
    with (
        pytest.raises(CannotServe, match="open to another group already"),
        open_listeners(Plan(None, str(directory / "q"), group="54321"), {}),
    ):
        pass


@as_root
@pytest.mark.parametrize(("name", "mode"), [("d", 0o700), ("ttmem-0", 0o777)])
def test_a_directory_of_another_user_is_skipped_for_the_next_place(directory: Path, name: str, mode: int) -> None:
    """A private one, and whatever has the name of our own."""
    place, other = directory / name, directory / "other"
    place.mkdir()
    place.chmod(mode)
    os.chown(place, 65534, 65534)
    plan = Plan(None, str(place / "q"))

    with (
        pytest.raises(PlaceBlocked, match="expected a directory of root, found one of nobody"),
        open_listeners(plan, {}),
    ):
        pass
    with open_listeners(plan._replace(next_query_paths=(str(other / "q"),)), {}) as listeners:
        assert listeners.query.path == str(other / "q")
        assert listeners.troubles[0].startswith(
            f"answering on {other / 'q'} instead: {place}: expected a directory of root"
        )
    assert os.listdir(place) == []


@as_root
def test_a_socket_that_another_user_blocks_is_opened_once_it_is_free(directory: Path) -> None:
    (directory / "s.lock").touch()
    os.chown(directory / "s.lock", 65534, 65534)

    with open_listeners(Plan(str(directory / "s"), str(directory / "q")), {}) as listeners:
        assert (listeners.server, listeners.try_server(), len(listeners.troubles)) == (None, None, 1)
        (directory / "s.lock").unlink()
        assert listeners.try_server() is listeners.server is not None
        assert listeners.troubles == []
    assert os.listdir(directory) == []


@pytest.mark.parametrize(("address", "url"), [("127.0.0.1:0", "http://127.0.0.1:"), ("[::1]:0", "http://[::1]:")])
def test_a_port_shows_its_number(directory: Path, address: str, url: str) -> None:
    if "::1" in address and not Path("/proc/net/if_inet6").exists():
        pytest.skip("NOT TESTED: no IPv6 here")
    with open_listeners(Plan(None, str(directory / "q"), listen=address), {}) as listeners:
        assert listeners.url is not None
        assert listeners.url.startswith(url)
        assert not listeners.url.endswith(":0")
