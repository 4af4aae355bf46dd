"""Who serves: the first, alone, under the right modes; whoever cannot says why in one line."""

import contextlib
import os
import re
import resource
import socket
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.processes.inside import ttmem_inside
from tests.support.server.server_bytes import alloc
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

SERVE = (sys.executable, "-m", "ttmem", "serve")


def refused(*arguments: object, directory: Path, program: Sequence[str] = (), code: int = 1) -> str:
    """What a daemon says that must not start: in this process, unless a program is named."""
    words, environ = [str(argument) for argument in arguments], {**os.environ, "TTMEM_DIR": str(directory / "other")}
    if program:
        command = [*program, *words]
        ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    else:
        ended = ttmem_inside("serve", *words, environ=environ)
    assert (ended.returncode, ended.stdout) == (code, "")
    [line] = ended.stderr.splitlines()
    assert line.startswith("ttmem: ")
    return line


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_one_line_shows_that_all_is_ready_and_where(directory: Path) -> None:
    with a_daemon(directory=directory) as daemon:
        query = directory / "j" / "daemon.sock"
        assert daemon.text() == f"ttmem: serving {daemon.path}, answering on {query} (pid {daemon.pid})\n"


def test_a_second_daemon_is_refused_with_the_pid_of_the_first(daemon: Daemon, directory: Path) -> None:
    line = refused("--socket", daemon.path, directory=directory)

    assert (
        line == f"ttmem: {daemon.path}: already served by pid {daemon.pid}; end that one first, or choose another path"
    )
    assert daemon.get("/healthz")[0] == 200


def test_a_second_daemon_for_the_same_questions_is_refused_too(daemon: Daemon, directory: Path) -> None:
    query = directory / "j" / "daemon.sock"
    line = refused("--socket", directory / "s2", "--query-socket", query, directory=directory)

    assert f"{query}: already served by pid {daemon.pid};" in line
    assert not (directory / "s2").exists()
    assert not (directory / "s2.lock").exists()


@pytest.mark.slow
def test_many_daemons_at_once_leave_one(directory: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(directory / "j")}
    command = [*SERVE, "--socket", str(directory / "s")]
    started = [
        subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    try:
        wait_until(lambda: sum(one.poll() is None for one in started) == 1)
        [winner] = [one for one in started if one.poll() is None]
        assert winner.stdout is not None
        assert winner.stdout.readline().endswith(f"(pid {winner.pid})\n")
        for loser in started:
            if loser is not winner:
                assert "already served by" in loser.communicate()[1]
    finally:
        for one in started:
            one.kill()
            one.communicate()


def test_an_older_server_is_not_pushed_aside(directory: Path) -> None:
    path = directory / "s"
    with socket.socket(socket.AF_UNIX) as older:
        older.bind(str(path))
        older.listen()

        assert f"already served by pid {os.getpid()};" in refused("--socket", path, directory=directory)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            older.accept()[0].close()


def test_what_a_killed_daemon_left_is_taken_over(directory: Path) -> None:
    with a_daemon(directory=directory) as daemon:
        daemon.kill()
        assert daemon.path.exists()
        daemon.restart()

        with daemon.line() as line:
            assert line.counters()["dram"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "why"), [(0o666, "and nothing answers on it"), (0o600, "and nobody may not connect to it")]
)
def test_a_dead_socket_of_another_user_is_an_error(
    directory: Path, as_nobody: Sequence[str], mode: int, why: str
) -> None:
    path = directory / "s"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    path.chmod(mode)
    directory.chmod(0o1777)

    line = refused("--socket", path, directory=directory, program=as_nobody)

    assert f"{path}: this socket belongs to root (uid 0), {why}; choose another path" in line
    assert path.exists()


@pytest.mark.slow
def test_a_living_daemon_of_another_user_is_named(daemon: Daemon, directory: Path, as_nobody: Sequence[str]) -> None:
    directory.chmod(0o1777)

    line = refused("--socket", daemon.path, directory=directory, program=as_nobody)

    assert f"already served by pid {daemon.pid} of root;" in line


def test_a_directory_that_may_not_be_written_to_is_an_error(directory: Path, as_nobody: Sequence[str]) -> None:
    directory.chmod(0o755)

    line = refused("--socket", directory / "s", directory=directory, program=as_nobody)

    assert f"nobody may not write to {directory}; choose a path in a directory of your own" in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--socket", "/tmp/" + "x" * 200], "at most 107 bytes"),
        (["--socket", "/nowhere/at/all"], "make /nowhere/at first"),
        (["--socket", "/etc/passwd"], "expected a socket or nothing, found a file"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(directory: Path, arguments: list[str], words: str) -> None:
    assert words in refused(*arguments, directory=directory)


@pytest.mark.parametrize(
    ("flag", "value", "words"),
    [
        ("--group", "nosuchgroup", "no such group"),
        ("--group", "99999999999", "no such group"),
        ("--listen", "0.0.0.0:1", "can be reached from other machines"),
        ("--listen", "8265", "expected ADDRESS:PORT"),
        ("--listen", "", "--listen: expected a value"),
        ("--socket", "", "--socket: expected a value"),
        ("--query-socket", "", "--query-socket: expected a value"),
    ],
)
def test_a_bad_flag_is_refused_before_anything_is_touched(directory: Path, flag: str, value: str, words: str) -> None:
    extra = [] if flag == "--socket" else ["--socket", str(directory / "s")]

    assert words in refused(flag, value, *extra, directory=directory, code=2)
    assert list(directory.iterdir()) == []


def test_root_lets_every_user_report_and_none_ask(directory: Path) -> None:
    with a_daemon(directory=directory) as daemon:
        assert mode_of(daemon.path) == (0o666 if os.geteuid() == 0 else 0o600)
        assert mode_of(directory / "j" / "daemon.sock") == 0o600
        assert mode_of(directory / "j") == 0o700
        assert mode_of(directory / "s.lock") == 0o600


def test_a_user_lets_no_other_report_or_ask(directory: Path, as_nobody: Sequence[str]) -> None:
    directory.chmod(0o1777)
    with a_daemon(directory=directory, program=as_nobody) as daemon:
        assert mode_of(daemon.path) == 0o600
        assert mode_of(directory / "j" / "daemon.sock") == 0o600


def test_a_user_may_share_with_a_group_it_is_in(directory: Path, as_nobody: Sequence[str]) -> None:
    directory.chmod(0o1777)
    with a_daemon("--group", "54321", directory=directory, program=as_nobody, TEST_GROUPS="54321") as daemon:
        query = directory / "j" / "daemon.sock"
        assert mode_of(daemon.path) == 0o666
        assert (mode_of(query), query.stat().st_gid) == (0o660, 54321)
        assert mode_of(directory / "j") == 0o710


def test_a_user_cannot_share_with_a_group_it_is_not_in(directory: Path, as_nobody: Sequence[str]) -> None:
    directory.chmod(0o1777)

    line = refused("--group", "54321", "--socket", directory / "s", directory=directory, program=as_nobody)

    assert "group 54321 cannot be let through" in line
    assert not (directory / "s").exists()


def test_all_descriptors_that_are_allowed_can_be_used(directory: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = ("sh", "-c", 'ulimit -S -n 64 && exec "$@"', "sh", *SERVE)
    with a_daemon(directory=directory, program=few) as daemon:
        limits = Path(f"/proc/{daemon.pid}/limits").read_text()
        [found] = re.findall(r"Max open files +(\d+) +(\d+)", limits)
        assert int(found[0]) == int(found[1]) == hard


def test_too_few_descriptors_are_reported_once(directory: Path) -> None:
    few = ("sh", "-c", 'ulimit -n 64 && exec "$@"', "sh", *SERVE)
    with a_daemon(directory=directory, program=few) as daemon, contextlib.ExitStack() as viewers:
        for _ in range(70):
            idle = viewers.enter_context(socket.socket(socket.AF_UNIX))
            idle.connect(str(directory / "j" / "daemon.sock"))
        daemon.text_with("ttmem: out of descriptors")
        viewers.close()

        wait_until(lambda: daemon.get("/healthz")[0] == 200)
        assert daemon.text().count("out of descriptors") == 1
        assert all(line.startswith("ttmem: ") for line in daemon.text().splitlines())  # no traceback


def test_a_log_on_a_full_disk_is_reported_once(directory: Path) -> None:
    full = ("sh", "-c", 'exec "$@" > /dev/full', "sh", *SERVE)
    with a_daemon("--log-events", directory=directory, program=full) as daemon:  # ready when it complains
        with daemon.line() as line:
            line.say(*(alloc(at, 1) for at in range(1, 100)))
            assert line.counters()["dram"] == 99

        assert daemon.get("/healthz")[0] == 200
        assert "ttmem: the log cannot be written (No space left on device)" in daemon.text()
        assert daemon.text().count("\n") == 1


def test_journals_are_served_without_the_allocation_servers_socket(directory: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(directory)}
    with subprocess.Popen([*SERVE, "--no-server-socket"], env=environ, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == f"ttmem: answering on {directory}/daemon.sock (pid {daemon.pid})\n"
        daemon.terminate()
        assert daemon.wait(PATIENCE_SECONDS) == 0


def test_the_environment_names_the_socket(directory: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(directory), "TTMEM_SEED_SOCKET": str(directory / "here")}
    with subprocess.Popen([*SERVE], env=environ, stdout=subprocess.PIPE, text=True) as daemon:
        assert daemon.stdout is not None
        assert f"serving {directory}/here," in daemon.stdout.readline()
        daemon.terminate()


def test_a_socket_that_is_stolen_is_noticed(directory: Path) -> None:
    with a_daemon(directory=directory) as daemon:
        daemon.path.unlink()

        daemon.text_with(f"{daemon.path}: this socket was removed or replaced")
        assert daemon.get("/healthz")[0] == 503
