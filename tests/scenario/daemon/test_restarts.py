"""A daemon that starts again: socket clients come back from the checkpoint and are marked, journals are exact."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes.programs import a_program
from tests.support.server.server_bytes import alloc, free
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import wait_until

REPORTER = """\
import socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect(sys.argv[1])
line.sendall(bytes.fromhex(sys.argv[2]))
print("said", flush=True)
sys.stdin.read()
"""


@contextmanager
def a_reporter(daemon: Daemon, *messages: Any) -> Iterator["subprocess.Popen[str]"]:
    """A process that says something on the socket, and stays."""
    said = b"".join(message.to_bytes(144) for message in messages).hex()
    command = [sys.executable, "-c", REPORTER, str(daemon.path), said]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "said\n"
            wait_until(lambda: process.pid in by_pid(daemon))
            yield process
        finally:
            process.kill()


def by_pid(daemon: Daemon) -> dict[int, Any]:
    return {process["pid"]: process for process in daemon.document()["processes"] if process["state"] != "ended"}


def dram(process: Any) -> int:
    return sum(device["memory"]["dram"]["used_bytes"] for device in process["devices"])


def test_a_socket_client_is_restored_and_marked_and_gone_when_it_dies(daemon: Daemon) -> None:
    with a_reporter(daemon, alloc(1, 4096), alloc(2, 1000)) as reporter:
        wait_until(lambda: dram(by_pid(daemon)[reporter.pid]) == 5096)
        assert by_pid(daemon)[reporter.pid]["is_complete"]
        assert daemon.terminate() == 0
        daemon.restart()

        process = by_pid(daemon)[reporter.pid]
        assert (dram(process), process["is_complete"], process["reason"]) == (5096, False, "restored")
        assert daemon.document("/healthz")["checkpoint"]["restored"] == 1
        reporter.kill()
        reporter.wait()
        wait_until(lambda: reporter.pid not in by_pid(daemon))
        assert daemon.figures().used == {}


@pytest.mark.slow
def test_a_client_that_died_meanwhile_is_not_restored(daemon: Daemon) -> None:
    with a_reporter(daemon, alloc(1, 4096)) as reporter:
        assert daemon.terminate() == 0
        reporter.kill()
        reporter.wait()
    daemon.restart()

    wait_until(lambda: by_pid(daemon) == {})


@pytest.mark.slow
def test_a_killed_daemon_remembers_what_is_older_than_a_second(daemon: Daemon) -> None:
    with a_reporter(daemon, alloc(1, 4096)) as reporter:
        wait_until(
            lambda: daemon.document("/healthz")["checkpoint"]["bytes"] > 0 and dram(by_pid(daemon)[reporter.pid])
        )
        written = daemon.document("/healthz")["checkpoint"]["written_time_ns"]
        with daemon.line() as line:  # something new, and then the next checkpoint holds all of the above
            line.say(alloc(9, 8), free(9))
            line.counters()
            wait_until(lambda: daemon.document("/healthz")["checkpoint"]["written_time_ns"] != written)
        os.kill(daemon.pid, signal.SIGKILL)
        daemon.process.wait()
        daemon.restart()

        assert dram(by_pid(daemon)[reporter.pid]) == 4096


def test_a_journal_client_is_exact_after_a_restart(daemon: Daemon) -> None:
    code = ("chip = ttmem.open_device(5)", "ttmem.report_buffer_alloc(chip, 1, 8192)", "meet()")
    with a_program(daemon.directory / "j", *code) as program:
        program.arrive()
        wait_until(lambda: program.pid in by_pid(daemon))
        daemon.kill()
        daemon.restart()

        process = by_pid(daemon)[program.pid]
        assert (dram(process), process["is_complete"]) == (8192, True)


@pytest.mark.parametrize("damage", ["cut", pytest.param("foreign", marks=pytest.mark.slow)])
def test_a_damaged_checkpoint_is_one_line_and_no_reason_to_fail(daemon: Daemon, damage: str) -> None:
    checkpoint = daemon.directory / "j" / "daemon.checkpoint"
    with daemon.line() as line:
        line.say(alloc(1, 4096))
        line.counters()
        assert daemon.terminate() == 0
        kept = checkpoint.read_bytes()
        checkpoint.write_bytes({"cut": kept[:-3], "foreign": b"GIF89a"}[damage])
        daemon.restart()

    said = daemon.text_with("daemon.checkpoint.damaged")
    assert said.count("the checkpoint is not used") == 1
    assert Path(f"{checkpoint}.damaged").exists()
    assert daemon.get("/healthz")[0] == 200
    assert by_pid(daemon) == {}


@pytest.mark.slow
def test_only_its_owner_may_read_the_checkpoint(directory: Path) -> None:
    with a_daemon(directory=directory) as daemon, daemon.line() as line:
        line.say(alloc(1, 4096))
        checkpoint = directory / "j" / "daemon.checkpoint"
        wait_until(checkpoint.exists)

        assert checkpoint.stat().st_mode & 0o777 == 0o600
