"""Clients and servers in pid namespaces, and what a hostile sender may attach to its messages."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.server_protocol.conftest import ClientMaker
from tests.support.processes.children import IN_A_CONTAINER, only_child
from tests.support.processes.permitted import needs_containers
from tests.support.server.server_bytes import Type, alloc
from tests.support.server.server_clients import a_client, order
from tests.support.server.server_lines import asked
from tests.support.server.server_serving import Daemon, Engine, a_daemon
from tests.support.timing.stopwatch import least
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

US = os.getpid()


@needs_containers
def test_a_server_in_a_container_distinguishes_clients_outside_and_sees_them_die(program: Path) -> None:
    """It cannot see their pids: the kernel calls them all 0."""
    serve = [*IN_A_CONTAINER, sys.executable, "-m", "ttmem", "serve"]
    with (
        a_daemon(program=serve) as daemon,
        a_client(program, daemon.path) as one,
        a_client(program, daemon.path) as other,
    ):
        for client in (one, other):
            client.report(Type.ALLOC, size=1000, id=7)
            client.settle()
        time.sleep(0.3)  # none of them is taken for dead
        assert asked(daemon.path, [0]) == {("server:0", "dram"): 2000}

        one.kill()

        wait_until(lambda: asked(daemon.path, [0]) == {("server:0", "dram"): 1000})
        os.kill(only_child(daemon.pid), signal.SIGTERM)
        daemon.process.wait(PATIENCE_SECONDS)


@needs_containers
def test_a_client_in_a_container_is_shown_by_the_pid_that_the_server_sees(daemon: Daemon, program: Path) -> None:
    environment = {**os.environ, "TT_ALLOC_TRACKING_ENABLED": "1"}
    command = [*IN_A_CONTAINER, str(program), str(daemon.path)]
    container = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    try:
        assert container.stdin is not None
        assert container.stdout is not None
        container.stdin.write(f"{order(Type.ALLOC, size=4096, id=7)}\nask 3 0\n")
        assert [container.stdout.readline()[:2] for _ in range(3)] == ["ok"] * 3

        [row] = daemon.document()["processes"]
        assert row["pid"] != 1
        assert row["claimed_pid"] == 1
        assert Path(f"/proc/{row['pid']}").exists()
    finally:
        container.kill()
        container.communicate()
    wait_until(lambda: not asked(daemon.path, [0]))


def test_descriptors_that_a_client_attaches_are_closed(engine: Engine) -> None:
    with engine.line() as line:
        line.say(alloc(1, 1), alloc(2, 1))
        line.counters()
        before = len(os.listdir("/proc/self/fd"))
        for id in range(50):
            ends = os.pipe()
            socket.send_fds(line.socket, [alloc(10 + id, 1).to_bytes()], list(ends))
            for end in ends:
                os.close(end)

        assert line.counters()["dram"] == 52
        assert len(os.listdir("/proc/self/fd")) == before


def _cpu_seconds_of_a_pause() -> float:
    began = time.process_time()
    time.sleep(0.2)
    return time.process_time() - began


def test_urgent_bytes_are_no_messages_and_make_no_thread_spin(engine: Engine) -> None:
    with engine.line() as odd, engine.line() as honest:
        odd.say(alloc(1, 1), alloc(2, 1))
        odd.counters()
        try:
            odd.socket.send(b"x", socket.MSG_OOB)
        except OSError:
            return  # this kernel has none
        assert least(_cpu_seconds_of_a_pause, under=0.1) < 0.1
        assert honest.counters()["dram"] == 2


def test_a_message_that_parent_and_child_send_half_each_harms_no_process(
    engine: Engine, client_of: ClientMaker
) -> None:
    parent = client_of(engine)
    parent.report(Type.ALLOC, size=1, id=1)
    parent.settle()
    message = alloc(2, 50).to_bytes()
    parent.tell(f"raw {message[:20].hex()}")
    parent.child(f"raw {message[20:].hex()}")
    parent.report(Type.ALLOC, size=1, id=3)

    assert parent.counters()["dram"] == 52
    with engine.line() as honest:
        honest.say(alloc(1, 1000))
        honest.counters()
    assert engine.figures_of(US).used == {("server:0", "dram"): 1000}
