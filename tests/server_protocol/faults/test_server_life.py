"""The server itself: who may serve, how it ends, what it remembers, and what a signal does to it."""

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.processes.programs import a_program
from tests.support.server.server_bytes import Type, alloc, cb_alloc, free, kernel_load
from tests.support.server.server_figures import of_document, of_model, process_of
from tests.support.server.server_lines import Line, asked
from tests.support.server.server_model import ServerModel
from tests.support.server.server_serving import Daemon, all_agree, short_directory
from tests.support.timing.stopwatch import Stopwatch
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

US = os.getpid()
EVERYTHING = [
    alloc(1, 1000),
    alloc(1, 1000),
    alloc(2, 20, kind=1),
    alloc(3, 3, kind=2),
    alloc(4, 4, kind=3),
    alloc(5, 5, kind=4, device=64),
    cb_alloc(1, 600),
    kernel_load(1, 917_504, kind=1),
    kernel_load(2, 94_208, kind=2),
    kernel_load(3, 8_192_000),
    kernel_load(4, 7, kind=9, device=64),
]


def test_every_judge_says_the_same_of_a_little_of_everything(daemon: Daemon) -> None:
    model = ServerModel().apply_all(US, EVERYTHING)
    with daemon.line() as line:
        line.say(*EVERYTHING)
        line.counters()
        all_agree(daemon, of_model(model), [0, 64])

        assert of_document(daemon.document(), US) == of_model(model)


def _a_second(daemon: Daemon, **settings: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "ttmem", "serve", "--socket", str(daemon.path)]
    return subprocess.run(
        command, env={**daemon.environment, **settings}, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )


def test_a_second_server_refuses_with_the_pid_of_the_first(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 4096), alloc(2, 1))
        assert line.counters()["dram"] == 4097

        second = _a_second(daemon)

        assert second.returncode != 0
        assert str(daemon.pid) in second.stderr
        assert asked(daemon.path, [0]) == {("server:0", "dram"): 4097}


def test_a_second_server_with_other_journals_cannot_steal_the_socket_either(daemon: Daemon) -> None:
    with short_directory() as other:
        second = _a_second(daemon, TTMEM_DIR=str(other))

    assert second.returncode != 0
    assert str(daemon.pid) in second.stderr
    assert asked(daemon.path, [0]) == {}


def test_the_socket_of_a_killed_server_is_taken_over(daemon: Daemon) -> None:
    daemon.kill()
    assert daemon.path.exists()

    daemon.restart()

    with daemon.line() as line:
        assert line.counters()["dram"] == 0


def test_sigterm_ends_it_cleanly_in_under_a_second(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 4096))
        line.counters()
        watch = Stopwatch(daemon.pid)
        daemon.process.terminate()

        assert watch.end_of(daemon.process) == 0
        assert watch.seconds < 1
        assert not daemon.path.exists()
        assert line.is_hung_up()


def test_ctrl_c_ends_it_cleanly(daemon: Daemon) -> None:
    daemon.process.send_signal(signal.SIGINT)

    assert daemon.process.wait(PATIENCE_SECONDS) == 0
    assert not daemon.path.exists()


@pytest.mark.parametrize("times", [1, 20])
def test_sigusr1_prints_what_is_alive_and_kills_no_process(daemon: Daemon, times: int) -> None:
    """The proof of concept documented it and died of it."""
    with daemon.line() as line:
        line.say(alloc(0xABCD, 4096))
        line.counters()
        for _ in range(times):
            os.kill(daemon.pid, signal.SIGUSR1)

        daemon.text_with("server:0")
        assert line.counters()["dram"] == 4096
        assert daemon.process.poll() is None


@pytest.mark.parametrize("name", ["SIGPIPE", "SIGWINCH", "SIGCONT"])
def test_a_signal_that_is_no_order_is_skipped(daemon: Daemon, name: str) -> None:
    os.kill(daemon.pid, getattr(signal, name))

    assert asked(daemon.path, [0]) == {}


def test_a_closed_terminal_ends_it_as_ctrl_c_does(daemon: Daemon) -> None:
    os.kill(daemon.pid, signal.SIGHUP)

    assert daemon.process.wait(PATIENCE_SECONDS) == 0
    assert not daemon.path.exists()


def _wait_for_checkpoint(daemon: Daemon, line: Line) -> None:
    """Until one is written that was begun after all that was said: the first we see may be older, the next is not."""
    for id in (1001, 1002):
        written = daemon.document("/healthz")["checkpoint"]["written_time_ns"]
        line.say(alloc(id, 8), free(id))  # nothing is written while nothing changes
        line.counters()
        wait_until(lambda: daemon.document("/healthz")["checkpoint"]["written_time_ns"] != written)  # noqa: B023


def _restored(daemon: Daemon, line: Line, end: str) -> None:
    model = ServerModel().apply_all(US, EVERYTHING)
    line.say(*EVERYTHING)
    line.counters()
    if end == "SIGTERM":
        daemon.terminate()
    else:
        _wait_for_checkpoint(daemon, line)
        daemon.kill()
    daemon.restart()

    all_agree(daemon, of_model(model), [0, 64])
    row = process_of(daemon.document(), US)
    assert (row["is_complete"], row["reason"]) == (False, "restored")


@pytest.mark.parametrize("end", ["SIGTERM", "SIGKILL"])
def test_what_socket_clients_held_is_restored_after_a_restart_and_marked(daemon: Daemon, end: str) -> None:
    with daemon.line() as line:
        _restored(daemon, line, end)


def test_a_restored_process_goes_on_where_it_was(daemon: Daemon) -> None:
    with daemon.line() as line:
        _restored(daemon, line, "SIGTERM")
    with daemon.line() as line:
        line.say(free(2), alloc(99, 1))
        assert line.counters() == {"dram": 1001, "l1": 0, "l1_small": 4, "trace": 0, "cb": 600, "kernel": 9_203_712}


def test_a_restored_buffer_has_as_many_holders_as_before(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 1000), alloc(1, 1000), alloc(1, 1000))
        line.counters()
    daemon.terminate()
    daemon.restart()

    with daemon.line() as line:
        left = []
        for _ in range(4):
            line.say(free(1))
            left.append(line.counters()["dram"])
        assert left == [1000, 1000, 0, 0]


def test_what_was_sent_before_sigterm_is_not_lost(daemon: Daemon, client_of: ClientMaker) -> None:
    client = client_of(daemon)
    client.tell("many 1 3000 0 1 0 0")  # sent; perhaps not read yet
    assert daemon.terminate() == 0

    daemon.restart()

    assert asked(daemon.path, [0]) == {("server:0", "dram"): 3000}


def test_a_restored_process_that_dies_gives_everything_back(daemon: Daemon, client_of: ClientMaker) -> None:
    client = client_of(daemon)
    client.report(Type.ALLOC, size=4096, id=7)
    client.settle()
    daemon.terminate()
    daemon.restart()
    assert asked(daemon.path, [0]) == {("server:0", "dram"): 4096}

    client.kill()

    wait_until(lambda: not asked(daemon.path, [0]))


def test_a_client_that_died_while_no_server_ran_is_not_restored(daemon: Daemon, client_of: ClientMaker) -> None:
    client = client_of(daemon)
    client.report(Type.ALLOC, size=4096, id=7)
    client.settle()
    daemon.terminate()
    client.kill()
    client.end()

    daemon.restart()

    assert asked(daemon.path, [0]) == {}
    assert daemon.figures().used == {}


def test_a_journal_client_is_exact_again_at_once_after_a_restart(daemon: Daemon) -> None:
    lines = "chip = ttmem.open_device(0x77, index=5)\nttmem.report_buffer_alloc(chip, 1, 4096)"
    with a_program(Path(daemon.environment["TTMEM_DIR"]), lines, "meet()") as reporter:
        reporter.arrive()
        wait_until(lambda: asked(daemon.path, [5]) == {("server:5", "dram"): 4096})
        daemon.kill()
        daemon.restart()

        wait_until(lambda: asked(daemon.path, [5]) == {("server:5", "dram"): 4096})
        row = process_of(daemon.document(), reporter.pid)
        assert (row["is_complete"], row["reason"]) == (True, "")


def test_the_checkpoint_is_for_its_owner_only(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(*EVERYTHING)
        line.counters()
        daemon.terminate()

    found = [path for path in Path(daemon.environment["TTMEM_DIR"]).iterdir() if "checkpoint" in path.name]
    assert [stat.S_IMODE(path.stat().st_mode) for path in found] == [0o600]


def test_a_damaged_checkpoint_is_said_and_does_not_keep_it_from_serving(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(*EVERYTHING)
        line.counters()
        daemon.terminate()
    [path] = [path for path in Path(daemon.environment["TTMEM_DIR"]).iterdir() if "checkpoint" in path.name]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data[:-3]))

    daemon.restart()

    assert asked(daemon.path, [0]) == {}
    assert "checkpoint" in daemon.text()


def test_a_process_that_reports_by_journal_and_by_socket_is_shown_once(daemon: Daemon) -> None:
    by_socket = (
        "import socket\n"
        "line = socket.socket(socket.AF_UNIX)\n"
        f"line.connect({str(daemon.path)!r})\n"
        f"line.sendall(bytes.fromhex({alloc(1, 9999).to_bytes().hex()!r}) * 2)\n"
        f"line.sendall(bytes.fromhex('03' + '00' * 143)); line.recv(144)\n"
    )
    by_journal = "chip = ttmem.open_device(0x77, index=0)\nttmem.report_buffer_alloc(chip, 1, 4096)\n"
    with a_program(Path(daemon.environment["TTMEM_DIR"]), by_journal, by_socket, "meet()") as reporter:
        reporter.arrive()
        wait_until(lambda: daemon.figures().used == {("server:0", "dram"): 4096})

        document = daemon.document()
        rows = [row for row in document["processes"] if row["pid"] == reporter.pid]
        assert len(rows) == 1
        assert rows[0]["findings"].get("two_sources") == 1
        assert asked(daemon.path, [0]) == {("server:0", "dram"): 4096}


def test_a_process_that_begins_with_the_socket_and_goes_on_with_a_journal_is_shown_once(daemon: Daemon) -> None:
    by_socket = (
        "import socket\n"
        "line = socket.socket(socket.AF_UNIX)\n"
        f"line.connect({str(daemon.path)!r})\n"
        f"line.sendall(bytes.fromhex({alloc(1, 9999).to_bytes().hex()!r}))\n"
        f"line.sendall(bytes.fromhex('03' + '00' * 143)); line.recv(144)\n"
    )
    by_journal = "chip = ttmem.open_device(0x77, index=0)\nttmem.report_buffer_alloc(chip, 1, 4096)\n"
    with a_program(
        Path(daemon.environment["TTMEM_DIR"]), by_socket, "meet()", by_journal, "meet()", TTMEM="1"
    ) as reporter:
        reporter.arrive()
        wait_until(lambda: asked(daemon.path, [0]) == {("server:0", "dram"): 9999})
        reporter.go_on()
        reporter.arrive()

        wait_until(lambda: daemon.figures().used == {("server:0", "dram"): 4096})
        [row] = [row for row in daemon.document()["processes"] if row["pid"] == reporter.pid]
        assert row["findings"].get("two_sources") == 1


def test_a_reader_of_snapshots_that_never_reads_slows_no_client(daemon: Daemon) -> None:
    with socket.socket(socket.AF_UNIX) as slow, daemon.line() as line:
        slow.connect(str(daemon.directory / "j" / "daemon.sock"))
        slow.sendall(b"GET /events?interval=0.1 HTTP/1.1\r\nHost: ttmem\r\n\r\n")
        line.say(*(alloc(id, 1, device=id % 500) for id in range(5000)))
        watch = Stopwatch(daemon.pid)
        for _ in range(200):
            line.counters()
        assert watch.seconds < 2
        assert daemon.document()["source"] == f"daemon pid {daemon.pid}"
