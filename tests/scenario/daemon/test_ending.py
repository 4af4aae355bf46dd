"""How the daemon ends: drained, clean and soon, whatever hangs on it; and what does not end it."""

import contextlib
import http.client
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.server.server_bytes import Message, Type, alloc, free
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.stopwatch import Stopwatch
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

SERVE = (sys.executable, "-m", "ttmem", "serve")


def ends_well(process: "subprocess.Popen[bytes]", number: int = signal.SIGTERM) -> None:
    watch = Stopwatch(process.pid)
    process.send_signal(number)
    assert watch.end_of(process) == 0
    assert watch.seconds < 1


@contextlib.contextmanager
def a_server(
    directory: Path, *options: str, stdout: int, stderr: int | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """A daemon whose streams are the test's own; serves once its socket is there."""
    command = [*SERVE, "--socket", str(directory / "s"), *options]
    process = subprocess.Popen(command, env={**os.environ, "TTMEM_DIR": str(directory)}, stdout=stdout, stderr=stderr)
    try:
        wait_until(lambda: can_connect(directory / "daemon.sock"))
        yield process
    finally:
        process.kill()
        process.wait()


def can_connect(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


def a_stream(daemon: Daemon) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(PATIENCE_SECONDS)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.connect(str(daemon.directory / "j" / "daemon.sock"))
    client.sendall(b"GET /events?interval=0.1 HTTP/1.1\r\nHost: x\r\n\r\n")
    assert b"200 OK" in client.recv(4096)
    return client


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_and_nothing_but_the_checkpoint_is_left(daemon: Daemon, number: int) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 4096))
        line.counters()
        ends_well(daemon.process, number)

    assert not daemon.path.exists()
    assert os.listdir(daemon.directory / "j") == ["daemon.checkpoint"]
    assert sorted(os.listdir(daemon.directory)) == ["j", "out.log"]


def test_what_was_already_said_is_taken_in_before_the_end(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(*(alloc(number, 4096) for number in range(1000)))
        ends_well(daemon.process)

    assert "  Active allocations: 1000\n" in daemon.text()
    assert "    DRAM: 4096000 bytes (4000 KB)\n" in daemon.text()


@pytest.mark.slow
def test_programs_that_never_stop_talking_do_not_delay_the_end(daemon: Daemon) -> None:
    code = (
        "import socket, sys\n"
        "line = socket.socket(socket.AF_UNIX)\n"
        "line.connect(sys.argv[1])\n"
        "said = bytes.fromhex(sys.argv[2]) * 100\n"
        "while True:\n"
        "    line.sendall(said)\n"
    )
    said = (alloc(1, 64).to_bytes(144) + free(1).to_bytes(144)).hex()
    talkers = [
        subprocess.Popen([sys.executable, "-c", code, str(daemon.path), said], stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    try:
        wait_until(lambda: daemon.document("/healthz")["socket"]["messages"] > 10_000)
        ends_well(daemon.process)
    finally:
        for talker in talkers:
            talker.kill()
            talker.wait()


@pytest.mark.slow
def test_open_streams_do_not_delay_the_end_and_are_closed(daemon: Daemon) -> None:
    with daemon.line() as line, a_stream(daemon), a_stream(daemon) as read:
        line.say(*(alloc(number, 4096, device=number) for number in range(300)))  # a snapshot that fills pipes
        line.counters()
        wait_until(lambda: int(daemon.document("/healthz")["uptime_seconds"]) >= 1)
        ends_well(daemon.process)
        with contextlib.suppress(ConnectionResetError):
            while read.recv(1 << 20):
                pass


def test_a_reader_of_the_log_that_does_not_read_delays_no_client(directory: Path) -> None:
    reader, writer = os.pipe()
    try:
        with a_server(directory, "--log-events", stdout=writer) as process:
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(directory / "s"))
                client.settimeout(PATIENCE_SECONDS)
                for start in range(0, 20_000, 1000):
                    client.sendall(b"".join(alloc(start + number, 64).to_bytes(144) for number in range(1000)))
            wait_until(lambda: messages_of(directory) == 20_000)
            ends_well(process)
    finally:
        os.close(reader)
        os.close(writer)


def messages_of(directory: Path) -> int:
    connection = http.client.HTTPConnection("x", timeout=PATIENCE_SECONDS)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(directory / "daemon.sock"))
    try:
        connection.request("GET", "/healthz")
        return int(json.loads(connection.getresponse().read())["socket"]["messages"])
    finally:
        connection.close()


@pytest.mark.slow
def test_a_reader_of_the_log_that_leaves_is_no_reason_to_end(directory: Path) -> None:
    reader, writer = os.pipe()
    errors = directory / "errors"
    with (
        open(errors, "wb") as stderr,
        a_server(directory, "--log-events", stdout=writer, stderr=stderr.fileno()) as process,
    ):
        os.close(writer)
        assert os.read(reader, 1000).startswith(b"ttmem: serving")
        os.close(reader)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(directory / "s"))
            client.sendall(alloc(1, 64).to_bytes(144) * 3)
            wait_until(lambda: messages_of(directory) == 3)
        wait_until(lambda: b"the log has no reader any more" in errors.read_bytes())
        ends_well(process)


def test_it_serves_without_any_standard_stream(directory: Path) -> None:
    command = shlex.join([*SERVE, "--log-events", "--socket", str(directory / "s")])
    process = subprocess.Popen(
        ["sh", "-c", f"exec {command} <&- >&- 2>&-"], env={**os.environ, "TTMEM_DIR": str(directory)}
    )
    try:
        wait_until(lambda: can_connect(directory / "daemon.sock"))
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(directory / "s"))
            client.sendall(alloc(1, 64).to_bytes(144))
            wait_until(lambda: messages_of(directory) == 1)
        ends_well(process)
    finally:
        process.kill()
        process.wait()


def test_usr1_prints_what_is_alive_and_ends_nothing(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(0xABC, 4096))
        line.counters()
        daemon.process.send_signal(signal.SIGUSR1)

        assert "0xabc" in daemon.text_with("ttmem dump")
        assert daemon.process.poll() is None
        assert line.counters()["dram"] == 4096


@pytest.mark.slow
def test_a_quiet_server_prints_a_page_for_usr1_and_a_block_for_a_message(directory: Path) -> None:
    with a_daemon(directory=directory) as daemon, daemon.line() as line:
        line.say(alloc(0xABC, 4096), Message(Type.DUMP_REMAINING), Message(Type.DUMP_KERNELS))
        line.counters()
        daemon.text_with("Total remaining buffers: 1")
        daemon.text_with("Total loaded kernels: 0")
        daemon.process.send_signal(signal.SIGUSR1)
        daemon.text_with("ttmem dump")
        ends_well(daemon.process)

        assert daemon.text().count("ttmem dump") == 1
        assert "Allocated 4096" not in daemon.text()


@pytest.mark.slow
def test_usr1_comes_from_everywhere_at_once_and_ends_nothing(daemon: Daemon) -> None:
    for _ in range(200):
        daemon.process.send_signal(signal.SIGUSR1)

    daemon.text_with("ttmem dump")
    assert daemon.get("/healthz")[0] == 200


def test_a_hang_up_that_is_ignored_stays_so(directory: Path) -> None:
    with a_daemon(directory=directory, program=("nohup", *SERVE)) as daemon:
        daemon.process.send_signal(signal.SIGHUP)
        daemon.process.send_signal(signal.SIGUSR1)
        daemon.text_with("ttmem dump")

        assert daemon.get("/healthz")[0] == 200


def test_the_older_servers_name_starts_it_with_a_line_per_event(directory: Path) -> None:
    program = Path(sys.executable).with_name("allocation_server_poc")
    with a_daemon(directory=directory, program=(str(program),)) as daemon:
        with daemon.line() as line:
            line.say(alloc(0x10, 4096))
            daemon.text_with(f"✓ [PID {os.getpid()}] Allocated 4096 bytes of DRAM on device 0 (buffer_id=0x10)")
        ends_well(daemon.process)


def test_the_older_servers_quiet_is_quiet(directory: Path) -> None:
    program = Path(sys.executable).with_name("allocation_server_poc")
    with a_daemon("-q", directory=directory, program=(str(program),)) as daemon:
        with daemon.line() as line:
            line.say(alloc(0x10, 4096))
            line.counters()
        ends_well(daemon.process)
        assert len(daemon.text().splitlines()) == 1
