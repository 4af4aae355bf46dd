"""The client's side of the old faults: no server, a dying server, a deaf server, a server that comes late."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.server.server_bytes import Type
from tests.support.server.server_clients import Refused, a_client
from tests.support.server.server_lines import asked
from tests.support.server.server_serving import Daemon, short_directory
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

CALLS = 200_000
MOST_NS_PER_CALL = 4_000  # the old client: 14,300


def a_python_client(path: Path, *lines: str) -> "subprocess.Popen[str]":
    """A program that reports over the socket; it has come to its first line when it prints."""
    environment = {**os.environ, "TT_ALLOC_TRACKING_ENABLED": "1", "TTMEM_TRANSPORT": "socket"}
    return subprocess.Popen(
        [sys.executable, "-c", "\n".join(["from ttmem import AllocationClient as client", *lines])],
        env={**environment, "TTMEM_SEED_SOCKET": str(path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_client_without_the_switch_says_nothing(daemon: Daemon, program: Path) -> None:
    with a_client(program, daemon.path, is_on=False) as client:
        assert client.state == "off"
        with pytest.raises(Refused):
            client.report(Type.ALLOC, size=1, id=1)
    assert asked(daemon.path, [0]) == {}


@pytest.mark.slow
def test_a_client_that_started_before_the_server_is_heard_once_it_is_there(daemon: Daemon, program: Path) -> None:
    daemon.terminate()
    with a_client(program, daemon.path) as client:
        assert client.state == "absent"
        with pytest.raises(Refused):
            client.report(Type.ALLOC, size=1000, id=1)
        daemon.restart()
        client.report(Type.ALLOC, size=20, id=2)

        assert client.counters()["dram"] == 20
        assert client.end().count("Warning") == 1


def test_a_client_of_the_server_protocol_notices_no_difference_when_the_server_is_stopped_for_a_while(
    daemon: Daemon, client_of: ClientMaker
) -> None:
    client = client_of(daemon)
    client.report(Type.ALLOC, size=1, id=0)
    os.kill(daemon.pid, signal.SIGSTOP)
    client.tell("many 1 2000 0 1 0 1")
    os.kill(daemon.pid, signal.SIGCONT)

    assert client.counters()["dram"] == 2001


def test_a_client_without_a_server_pays_next_to_nothing_and_warns_once() -> None:
    with short_directory() as directory:
        program = a_python_client(
            directory / "nobody",
            "import time",
            "client.report_allocation(0, 4096, 0, 1)",
            "began = time.process_time_ns()",
            f"for id in range({CALLS}): client.report_allocation(0, 4096, 0, id)",
            f"print((time.process_time_ns() - began) // {CALLS})",
            "print(client.lost_count())",
        )
        said, complaints = program.communicate(timeout=PATIENCE_SECONDS)

    nanoseconds, lost = map(int, said.split())
    assert program.returncode == 0
    assert nanoseconds < MOST_NS_PER_CALL
    assert lost >= CALLS - 65_536
    assert complaints.count("no allocation server") == 1
    assert len(complaints.splitlines()) <= 2, "one that it is not there, one that reports begin to be lost"


def test_the_death_of_the_server_does_not_hurt_a_python_client(daemon: Daemon) -> None:
    """The old client died of SIGPIPE."""
    program = a_python_client(
        daemon.path,
        "client.report_allocation(0, 4096, 0, 1)",
        "print('here', flush=True); input()",
        "for id in range(10_000): client.report_allocation(0, 1, 0, 100 + id)",
        "print('alive', flush=True); input()",
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "here\n"
        wait_until(lambda: asked(daemon.path, [0]) == {("server:0", "dram"): 4096})
        daemon.kill()
        assert program.stdin is not None
        program.stdin.write("\n")
        program.stdin.flush()

        assert program.stdout.readline() == "alive\n"
        _, complaints = program.communicate("\n", timeout=PATIENCE_SECONDS)
        assert program.returncode == 0
        assert "Traceback" not in complaints
    finally:
        if program.poll() is None:
            program.kill()
            program.communicate()


def test_a_python_client_comes_back_by_itself_and_keeps_its_order(daemon: Daemon) -> None:
    daemon.terminate()
    program = a_python_client(
        daemon.path,
        "for id in range(5_000): client.report_kernel_load(0, id + 1, 7)",
        "print('here', flush=True); input()",
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "here\n"
        daemon.restart()

        wait_until(lambda: asked(daemon.path, [0]) == {("server:0", "kernel"): 5000})
        [row] = [row for row in daemon.document()["processes"] if row["pid"] == program.pid]
        assert row["findings"] == {}
    finally:
        program.kill()
        program.communicate()


def test_a_client_with_a_full_socket_is_not_blocked_and_its_losses_are_counted() -> None:
    """A server that accepts and never reads; the old client stood still here."""
    with short_directory() as directory, socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(directory / "s"))
        deaf.listen()
        program = a_python_client(
            directory / "s",
            f"for id in range({CALLS}): client.report_allocation(0, 4096, 0, id)",
            "print(client.lost_count())",
        )
        said, _ = program.communicate(timeout=PATIENCE_SECONDS)

    assert program.returncode == 0
    assert CALLS - 65_536 - 20_000 <= int(said) <= CALLS - 65_536


@pytest.mark.slow
def test_a_report_over_the_socket_takes_little_more_than_sending_its_bytes(daemon: Daemon) -> None:
    """Both in turns, in CPU time: what a call costs besides the kernel's part."""
    program = a_python_client(daemon.path, "import tests.programs.client.report_cost")
    said, complaints = program.communicate(timeout=PATIENCE_SECONDS)
    assert complaints == ""
    ratio, lost = said.split()
    assert lost == "0"
    assert float(ratio) < 1.8, f"{ratio} times the CPU of a plain send"
