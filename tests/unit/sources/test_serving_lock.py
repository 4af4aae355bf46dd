"""The lock beside a socket: one holder, free again however the holder ends."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ttmem.errors import CannotServe, PlaceBlocked
from ttmem.sources.serving_lock import LockHeld, ServingLock

HOLD = """\
import sys
from ttmem.sources.serving_lock import ServingLock
lock = ServingLock(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can give files away")


@pytest.fixture
def path() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="tt-") as directory:
        yield os.path.join(directory, "s.lock")


def test_a_lock_names_its_holder_and_no_other_user_may_read_it(path: str) -> None:
    lock = ServingLock(path)

    assert Path(path).read_text() == f"{os.getpid()}\n"
    assert os.stat(path).st_mode & 0o777 == 0o600
    lock.release()


def test_a_lock_that_is_held_names_its_holder(path: str) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"

        with pytest.raises(LockHeld) as refused:
            ServingLock(path)

        assert refused.value.pid == holder.pid
        holder.kill()


def test_the_lock_of_a_killed_holder_is_free(path: str) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.send_signal(signal.SIGKILL)
    assert os.path.exists(path)

    lock = ServingLock(path)

    assert Path(path).read_text() == f"{os.getpid()}\n"
    lock.release()


def test_a_released_lock_leaves_nothing_behind(path: str) -> None:
    lock = ServingLock(path)
    lock.release()
    lock.release()

    assert not os.path.exists(path)


def test_a_lock_does_not_remove_a_file_that_is_not_its_own(path: str) -> None:
    lock = ServingLock(path)
    os.unlink(path)
    Path(path).write_text("another's\n")
    lock.release()

    assert Path(path).read_text() == "another's\n"


@pytest.mark.parametrize(
    ("make", "found"),
    [(os.mkdir, "a directory"), (lambda path: os.symlink("/etc/passwd", path), "a link"), (os.mkfifo, "a pipe")],
)
def test_what_is_no_lock_is_left_alone(path: str, make: object, found: str) -> None:
    assert callable(make)
    make(path)

    with pytest.raises(CannotServe, match=f"expected the lock of a server, found {found}"):
        ServingLock(path)
    assert os.path.lexists(path)


@as_root
def test_a_lock_of_another_user_is_refused(path: str) -> None:
    Path(path).write_text("1\n")
    os.chown(path, 65534, 65534)

    with pytest.raises(CannotServe, match=r"belongs to nobody \(uid 65534\)"):
        ServingLock(path)


def test_a_lock_with_another_name_is_refused_and_not_written_to(path: str) -> None:
    """A hard link to some file of this user, made by somebody else: its text must stay."""
    precious = Path(f"{path}-precious")
    precious.write_text("precious")
    os.link(precious, path)

    with pytest.raises(PlaceBlocked, match=r"found a file with 2 names \(hard links\); remove this one"):
        ServingLock(path)
    assert precious.read_text() == "precious"
    assert os.path.exists(path)
