"""Places that another user, or a full file system, keeps a daemon from: it serves everything else, and tells so."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.processes.permitted import needs_mounts
from tests.support.processes.running import REPORTING
from tests.support.server.server_bytes import alloc
from tests.support.server.server_serving import Daemon, a_daemon, short_directory
from tests.support.timing.waiting import wait_until
from ttmem.figures.daemon_client import DaemonClient

NOBODY = 65534
SERVE = (sys.executable, "-m", "ttmem", "serve")
pytestmark = pytest.mark.slow
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can be another user as well")


@pytest.fixture
def sticky() -> Iterator[Path]:
    """A directory in which everybody may make files, and nobody but root may remove another's: as /tmp is."""
    with short_directory() as directory:
        directory.chmod(0o1777)
        yield directory


def given_away(path: Path) -> None:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def a_dead_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


BLOCKS: dict[str, Callable[[Path], object]] = {
    "s.lock": Path.touch,
    "s": a_dead_socket,
    "s as a file": Path.touch,
    "s as a directory": Path.mkdir,
    "s as a link": lambda path: path.symlink_to("/nowhere"),
    "s.lock as a pipe": os.mkfifo,
    "s.lock as a link": lambda path: path.symlink_to("/etc/passwd"),
}


def blocked(directory: Path, how: str) -> Path:
    path = directory / how.split()[0]
    BLOCKS[how](path)
    given_away(path)
    return path


def reported(daemon: Daemon) -> None:
    """A program that reports through a journal has come and is seen."""
    command = [sys.executable, "-c", f"{REPORTING}; print(flush=True); input()"]
    environ = {**daemon.environment, "TTMEM": "1"}
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        program.stdout.readline()
        assert [process["memory"]["dram"]["used_bytes"] for process in daemon.ps()["processes"]] == [4 << 20]
        program.communicate(b"\n")


def notes_of(daemon: Daemon) -> list[str]:
    told = json.loads(daemon.run("ps", "--json", check=False).stdout)  # nobody may report, which is an exit code
    return [finding["text"] for finding in told["findings"] if finding["name"] == "socket_blocked"]


def tells_everywhere(daemon: Daemon, words: str) -> None:
    """Once in the log, and wherever somebody looks."""
    status, body = daemon.get("/healthz")
    health = json.loads(body)
    [reason] = health["reasons"]
    assert (status, health["status"]) == (503, "degraded")
    assert words in reason
    assert daemon.text().count(reason) == 1
    assert notes_of(daemon) == [reason]
    assert f"degraded: {reason}\n" in daemon.run("serve", "--status").stdout
    assert daemon.get("/-/ready")[0] == 200


@as_root
def test_roots_daemon_goes_on_without_a_socket_that_another_users_lock_is_in_the_way_of(sticky: Path) -> None:
    """Until the lock is removed: then it serves it, without a restart."""
    lock = blocked(sticky, "s.lock")
    with a_daemon(directory=sticky) as daemon:
        assert daemon.text().startswith("ttmem: ")
        reported(daemon)
        tells_everywhere(daemon, f"programs that report by socket are not heard: {lock}: this lock belongs to nobody")

        lock.unlink()
        daemon.text_with(f"ttmem: {daemon.path}: free by now; serving it\n")
        with daemon.line() as line:
            line.say(alloc(1, 4096))
            assert line.counters()["dram"] == 4096
        assert json.loads(daemon.get("/healthz")[1])["reasons"] == notes_of(daemon) == []


@as_root
@pytest.mark.parametrize("how", BLOCKS)
def test_nothing_of_another_user_stops_roots_daemon(sticky: Path, how: str) -> None:
    path = blocked(sticky, how)
    with a_daemon(directory=sticky) as daemon:
        tells_everywhere(daemon, str(path))
        daemon.terminate()
    assert os.path.lexists(path)


SERVING = """
import fcntl, os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
lock = open(sys.argv[1] + ".lock", "w")
fcntl.flock(lock, fcntl.LOCK_EX)
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o777)
server.listen(0)
print("here", flush=True)
sys.stdin.read()
"""


@as_root
def test_a_living_server_of_another_user_is_left_alone_and_does_not_stop_roots_daemon(sticky: Path) -> None:
    command = [sys.executable, "-c", SERVING, str(sticky / "s")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == "here\n"
        with a_daemon(directory=sticky) as daemon:
            tells_everywhere(daemon, f"{sticky / 's'}: already served by pid {server.pid} of nobody")
        server.communicate("")


@as_root
@pytest.mark.parametrize("lock_alone", [True, False])
def test_a_query_socket_that_another_user_blocks_is_served_at_the_next_place(sticky: Path, *, lock_alone: bool) -> None:
    """Where viewers find it, without being told."""
    journals, system = sticky / "j", sticky / "system"
    journals.mkdir(mode=0o755)
    blocking = journals / "daemon.sock.lock" if lock_alone else journals
    if lock_alone:
        blocking.touch()
    else:
        journals.chmod(0o700)
    given_away(blocking)
    with a_daemon(directory=sticky, TTMEM_SYSTEM_DIR=str(system)) as daemon:
        path = system / "daemon.sock"
        assert f"answering on {path} (pid {daemon.pid})\n" in daemon.text()
        assert f"daemon pid {daemon.pid} answers on {path}" in daemon.run("serve", "--status").stdout
        [note] = notes_of(daemon)
        assert note.startswith(f"answering on {path} instead: {blocking}: ")


@as_root
def test_a_daemon_of_another_user_is_still_refused(sticky: Path, as_nobody: Sequence[str]) -> None:
    """The socket is what it is for; it may choose another path."""
    (sticky / "s.lock").touch()
    ended = subprocess.run(
        [*as_nobody, "--socket", str(sticky / "s")],
        env={**os.environ, "TTMEM_DIR": str(sticky / "n")},
        capture_output=True,
        text=True,
    )

    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"{sticky / 's.lock'}: this lock belongs to root (uid 0), not to nobody" in ended.stderr


# $0 is where the full file system goes, the rest is the program.
ON_A_FULL_DISK = (
    "unshare", "--mount", "sh", "-c",
    'mount -t tmpfs -o size=64k full "$0" && chmod 700 "$0" && dd if=/dev/zero of="$0/rest" 2>&-; exec "$@"',
)  # fmt: skip


@needs_mounts
def test_a_full_file_system_costs_the_checkpoint_alone_and_that_is_what_is_said(sticky: Path) -> None:
    journals = sticky / "j"
    journals.mkdir()
    with a_daemon(program=(*ON_A_FULL_DISK, str(journals), *SERVE), directory=sticky) as daemon:
        inside = Path(f"/proc/{daemon.pid}/root{journals}")
        client = DaemonClient(str(inside / "daemon.sock"))
        assert (inside / "daemon.sock.lock").stat().st_size == 0  # no room for a pid, and locked all the same
        with daemon.line() as line:
            line.say(alloc(1, 4096))
            [reason] = wait_until(lambda: client.health()["reasons"])
            assert client.health()["status"] == "degraded"
            names = sorted(path.name for path in inside.iterdir())

        why = f"{journals / 'daemon.checkpoint'}: the checkpoint cannot be written (No space left on device)"
        assert reason == f"{why}: what programs report by socket would be lost at a restart"
        assert daemon.text_with(why).splitlines()[1:] == [f"ttmem: {why}; trying on"]
        assert names == ["daemon.sock", "daemon.sock.lock", "rest"]
        assert daemon.terminate() == 0


@needs_mounts
def test_where_not_even_a_lock_can_be_made_the_next_place_is_taken(sticky: Path) -> None:
    """A file system without room for another file, as /dev/shm may be."""
    journals, system = sticky / "j", sticky / "system"
    journals.mkdir()
    command = 'mount -t tmpfs -o nr_inodes=1 full "$0" && chmod 700 "$0" && exec "$@"'
    program = ("unshare", "--mount", "sh", "-c", command, str(journals), *SERVE)
    with a_daemon(program=program, directory=sticky, TTMEM_SYSTEM_DIR=str(system)) as daemon:
        why = f"{journals / 'daemon.sock.lock'}: the lock cannot be made (No space left on device); free some space"
        [reason] = DaemonClient(str(system / "daemon.sock")).health()["reasons"]
        assert reason.startswith(f"answering on {system / 'daemon.sock'} instead: {why}")
        assert daemon.terminate() == 0
