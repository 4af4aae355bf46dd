"""The server itself: who may serve, how it ends, what it remembers, and what a signal does to it."""

import os
import signal
import socket
from pathlib import Path

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.processes.programs import a_program
from tests.support.server.server_bytes import alloc, cb_alloc, free, kernel_load
from tests.support.server.server_figures import of_document, of_model, process_of
from tests.support.server.server_lines import Line, asked
from tests.support.server.server_model import ServerModel
from tests.support.server.server_serving import Daemon, all_agree
from tests.support.timing.stopwatch import Stopwatch
from tests.support.timing.waiting import wait_until

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


def test_a_signal_that_is_no_order_is_skipped(daemon: Daemon) -> None:
    for number in (signal.SIGPIPE, signal.SIGWINCH, signal.SIGCONT):
        os.kill(daemon.pid, number)

    assert asked(daemon.path, [0]) == {}


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


@pytest.mark.parametrize("end", [pytest.param("SIGTERM", marks=pytest.mark.slow), "SIGKILL"])
def test_what_socket_clients_held_is_restored_after_a_restart_and_marked(daemon: Daemon, end: str) -> None:
    with daemon.line() as line:
        _restored(daemon, line, end)


@pytest.mark.slow
def test_a_restored_process_goes_on_where_it_was(daemon: Daemon) -> None:
    with daemon.line() as line:
        _restored(daemon, line, "SIGTERM")
    with daemon.line() as line:
        line.say(free(2), alloc(99, 1))
        assert line.counters() == {"dram": 1001, "l1": 0, "l1_small": 4, "trace": 0, "cb": 600, "kernel": 9_203_712}


@pytest.mark.slow
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


@pytest.mark.slow
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
