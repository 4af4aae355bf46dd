"""Other users, used pids, and figures that belong together."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.server.server_bytes import Message, Type, alloc, free, kernel_load
from tests.support.server.server_clients import ServerClient, a_client
from tests.support.server.server_figures import of_document, process_of
from tests.support.server.server_lines import Line, asked
from tests.support.server.server_serving import Daemon, Engine, a_daemon, short_directory
from tests.support.timing.stopwatch import Stopwatch
from tests.support.timing.waiting import wait_until

NOBODY = 65534
SOMEBODY = 65533
LAST_PID = Path("/proc/sys/kernel/ns_last_pid")
US = os.getpid()


def _can_become() -> bool:
    command = ["setpriv", f"--reuid={NOBODY}", "--clear-groups", sys.executable, "-c", "import ttmem"]
    try:
        return os.geteuid() == 0 and subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


as_somebody_else = pytest.mark.skipif(not _can_become(), reason="NOT TESTED: cannot run as another user here")
with_chosen_pids = pytest.mark.skipif(
    not os.access(LAST_PID, os.W_OK), reason="NOT TESTED: the next pid cannot be chosen here"
)


def as_user(uid: int) -> list[str]:
    serve = [sys.executable, "-m", "ttmem", "serve"]
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *serve]


@as_somebody_else
def test_a_server_of_another_user_never_takes_a_living_process_for_dead() -> None:
    """That server may not send us a signal, not even 0: the old one took the refusal for a death."""
    with short_directory() as directory:
        os.chown(directory, NOBODY, NOBODY)
        with a_daemon(program=as_user(NOBODY), directory=directory) as daemon, daemon.line() as line:
            line.say(alloc(1, 4096), alloc(2, 1))
            assert line.counters()["dram"] == 4097
            time.sleep(0.5)

            assert asked(daemon.path, [0]) == {("server:0", "dram"): 4097}
            assert of_document(daemon.document(), US).used == {("server:0", "dram"): 4097}


@as_somebody_else
def test_a_killed_process_of_another_user_is_given_back_at_once(program: Path) -> None:
    with short_directory() as directory:
        os.chown(directory, NOBODY, NOBODY)
        with a_daemon(program=as_user(NOBODY), directory=directory) as daemon, a_client(program, daemon.path) as client:
            client.report(Type.ALLOC, size=4096, id=1)
            client.settle()
            client.kill()
            watch = Stopwatch(daemon.pid)

            wait_until(lambda: not asked(daemon.path, [0]))
            assert watch.seconds < 1


@as_somebody_else
def test_the_socket_of_an_ordinary_user_is_for_that_user_only(program: Path) -> None:
    with short_directory() as directory:
        os.chown(directory, NOBODY, NOBODY)
        os.chmod(directory, 0o755)
        with a_daemon(program=as_user(NOBODY), directory=directory) as daemon, a_client(program, daemon.path) as client:
            assert stat.S_IMODE(daemon.path.stat().st_mode) == 0o600
            client.tell(f"become {SOMEBODY}")
            client.tell("reconnect")
            with pytest.raises(AssertionError):
                client.report(Type.ALLOC, size=1, id=1)


@as_somebody_else
def test_root_serves_every_user(daemon: Daemon, client_of: ClientMaker) -> None:
    os.chmod(daemon.directory, 0o755)
    client = client_of(daemon)
    client.tell(f"become {SOMEBODY}")
    client.tell("reconnect")
    client.report(Type.ALLOC, size=4096, id=1)

    assert client.counters()["dram"] == 4096
    [row] = [row for row in daemon.document()["processes"] if row["pid"] == client.pid]
    assert row["uid"] == SOMEBODY


def _client_with_pid(program: Path, path: Path, pid: int) -> ServerClient:
    """A new client that got a pid that was just given up; others may be quicker, so it is tried often."""
    for _ in range(200):
        LAST_PID.write_text(str(pid - 1))
        client = ServerClient(program, path)
        if client.pid == pid:
            return client
        client.end()
    pytest.skip("NOT TESTED: somebody else always took the pid")


@with_chosen_pids
def test_a_pid_used_again_is_another_process(daemon: Daemon, program: Path) -> None:
    """Also when the server was asleep while one died and the other came."""
    with a_client(program, daemon.path) as first:
        first.report(Type.ALLOC, size=1000, id=7)
        first.settle()
        daemon.process.send_signal(signal.SIGSTOP)
        first.kill()
        first.end()
    second = _client_with_pid(program, daemon.path, first.pid)
    try:
        second.report(Type.ALLOC, size=20, id=8)
        daemon.process.send_signal(signal.SIGCONT)

        assert second.counters()["dram"] in (20, 1020)
        wait_until(lambda: asked(daemon.path, [0]) == {("server:0", "dram"): 20})
        assert process_of(daemon.document(), second.pid)["live_count"] == 1
    finally:
        daemon.process.send_signal(signal.SIGCONT)
        second.end()


def _say_all(line: Line, parts: list[list[Message]]) -> None:
    for part in parts:
        line.say(*part)


def test_figures_of_one_answer_belong_together(engine: Engine) -> None:
    """One byte of DRAM, then one of L1, again and again: L1 is never ahead."""
    pairs = [message for id in range(5000) for message in (alloc(2 * id, 1), alloc(2 * id + 1, 1, kind=1))]
    with engine.line() as writer, engine.line() as monitor:
        parts = [pairs[at : at + 7] for at in range(0, len(pairs), 7)]
        sender = threading.Thread(target=lambda: _say_all(writer, parts))
        sender.start()
        try:
            while sender.is_alive():
                seen = monitor.counters()
                assert seen["l1"] <= seen["dram"] <= seen["l1"] + 1
        finally:
            sender.join()


def test_peaks_can_be_reset_without_a_restart(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 1000), alloc(2, 50), free(1))
        line.counters()
        assert daemon.document()["device_info"][0]["memory"]["dram"]["peak_bytes"] == 1050

        status, _ = daemon.get("/reset-peaks", "POST")

        assert status == 204
        assert daemon.document()["device_info"][0]["memory"]["dram"]["peak_bytes"] == 50
        assert line.counters()["dram"] == 50


def test_kernel_sizes_of_this_protocol_are_marked_as_estimates(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(kernel_load(1, 917_504, kind=1), alloc(1, 1))
        line.counters()

        assert daemon.document()["device_info"][0]["by_kind"]["kernel_fabric"]["is_estimated"] is True
