"""Many clients, many messages, clients that hang: nothing is lost, reordered or held up."""

import os
import resource
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.server_protocol.conftest import ClientMaker
from tests.support.server.server_bytes import SIZES, alloc, query, stream
from tests.support.server.server_clients import ServerClient
from tests.support.server.server_lines import Line
from tests.support.server.server_serving import Daemon, Engine, a_daemon, short_directory
from tests.support.timing.stopwatch import Stopwatch, least
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until
from ttmem.devices import Kind

US = os.getpid()
LIVE = 1000


def _hammered(engine: Engine, clients: list[ServerClient], count: int, per_send: int) -> None:
    """Each sends `count` messages on its own device and one growing kernel; then every figure must be exact."""
    for number, client in enumerate(clients):
        client.begin(f"pairs {count} {number} 10 {number << 32} {LIVE} {per_send}")
    left = [int(client.finish().split()[0]) for client in clients]
    for number, client in enumerate(clients):
        client.begin(f"growing {count // 10} {number} 5")
    for client in clients:
        client.finish()
    for number, client in enumerate(clients):
        counters = client.counters(number)
        if "kernel" in counters:
            assert counters["kernel"] == count // 10
        assert counters["dram"] == 10 * left[number]
    assert engine.statistics()["messages"] >= len(clients) * (count + count // 10)
    for number, client in enumerate(clients):
        assert engine.findings(client.pid) == {}, "an order was changed, or something was lost"
        figures = engine.figures_of(client.pid)
        assert figures.counts[f"server:{number}", "dram"] == left[number]
        alive = engine.ledger.allocations(engine.process(client.pid)["key"])
        ids = sorted(entry[2] for entry in alive if entry[1] == Kind.BUFFER)
        newest = (number << 32) + (count + left[number]) // 2
        assert ids == list(range(newest - left[number], newest))


@pytest.mark.parametrize("per_send", [1, 256])
def test_eight_clients_lose_nothing(engine: Engine, client_of: ClientMaker, per_send: int) -> None:
    _hammered(engine, [client_of(engine, message_bytes=SIZES[n % 4]) for n in range(8)], 10_000, per_send)


@pytest.mark.slow
@pytest.mark.parametrize("per_send", [1, 256])
def test_eight_clients_of_200000_messages_lose_nothing_and_keep_their_order(
    engine: Engine, client_of: ClientMaker, per_send: int
) -> None:
    _hammered(engine, [client_of(engine, message_bytes=SIZES[n % 4]) for n in range(8)], 200_000, per_send)


def _cpu_seconds(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)


def _cpu_seconds_per_second(pid: int) -> float:
    """What a process uses while nobody asks it anything."""
    began, before = time.monotonic(), _cpu_seconds(pid)
    time.sleep(1)
    return (_cpu_seconds(pid) - before) / (time.monotonic() - began)


@pytest.mark.slow
def test_a_thousand_idle_connections_cost_nothing_and_delay_no_client() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip("NOT TESTED: not even the hard limit allows 1,000 connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        with a_daemon() as daemon:
            _sit_idle(daemon)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _sit_idle(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 1), alloc(2, 2))
        assert line.counters()["dram"] == 3
        before = _resident_kib(daemon.pid)
        lines = [daemon.line(SIZES[number % 4]) for number in range(1000)]
        try:
            for one in lines:
                one.say(alloc(3, 3))
                assert one.counters()["dram"] == 6
            grown = _resident_kib(daemon.pid) - before
            idle = least(lambda: _cpu_seconds_per_second(daemon.pid), under=0.1)
            assert line.counters()["dram"] == 6
        finally:
            for one in lines:
                one.close()
    assert grown < 64 * 1024, f"{grown} KiB for 1,000 connections"
    assert idle < 0.1, f"{idle:.3f} s of CPU in one idle second"


def _resident_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


def test_a_server_started_with_few_descriptors_allows_itself_more() -> None:
    shell = ["sh", "-c", 'ulimit -S -n 64; exec "$@"', "sh", sys.executable, "-m", "ttmem", "serve"]
    with a_daemon(program=shell) as daemon:
        lines = [daemon.line() for _ in range(300)]
        try:
            for line in lines:
                assert line.counters()["dram"] == 0
        finally:
            for line in lines:
                line.close()


def _flood(line: Line) -> int:
    """Asks until the socket takes no more; never reads an answer."""
    line.socket.setblocking(False)
    question = stream([query()] * 64)
    sent = 0
    until = time.monotonic() + 3
    while time.monotonic() < until:
        try:
            sent += line.socket.send(question)
        except BlockingIOError:
            if sent > 8 << 20:
                break
            time.sleep(0.01)
            until = min(until, time.monotonic() + 0.5)
        except (BrokenPipeError, ConnectionResetError):
            break
    return sent


def test_a_client_that_never_reads_its_answers_delays_no_other(engine: Engine) -> None:
    with engine.line() as greedy, engine.line() as honest:
        greedy.say(query())
        sent = _flood(greedy)
        assert sent > 0
        watch = Stopwatch()
        honest.say(alloc(1, 4096))
        assert honest.counters()["dram"] == 4096
        assert watch.seconds < 1


def test_a_slow_reader_gets_every_answer_in_the_end(engine: Engine) -> None:
    count = 5000
    with engine.line() as line:
        sender = threading.Thread(target=line.socket.sendall, args=(stream([query(n) for n in range(count)]),))
        sender.start()
        time.sleep(0.2)
        heard = line.hear(count * 144)
        sender.join()
    devices = [int.from_bytes(heard[at + 4 : at + 8], "little") for at in range(0, len(heard), 144)]
    assert devices == list(range(count))


@pytest.mark.slow
def test_a_blocked_log_never_slows_the_server_and_says_what_it_dropped() -> None:
    """Standard output is a pipe that nobody reads."""
    with short_directory() as directory:
        path = directory / "s"
        command = [sys.executable, "-m", "ttmem", "serve", "--socket", str(path), "--log-events"]
        environment = {**os.environ, "TTMEM_DIR": str(directory / "j")}
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            assert process.stdout is not None
            process.stdout.readline()
            _outrun_the_log(path, process.pid)
            text = _rest_after_sigterm(process)
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()
    assert "dropped" in text


def _outrun_the_log(path: Path, pid: int) -> None:
    count = 150_000  # more than the log has room for
    data = stream([alloc(id, 1) for id in range(count)])
    with Line(path) as line:
        line.socket.settimeout(PATIENCE_SECONDS)
        watch = Stopwatch(pid)
        line.say_bytes(data)
        assert line.counters()["dram"] == count
        assert watch.seconds < 2


def _rest_after_sigterm(process: "subprocess.Popen[bytes]") -> str:
    process.terminate()
    said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    return str(said, "utf-8", "replace")


def test_a_burst_of_short_connections_is_served(engine: Engine) -> None:
    """As monitors do: connect, ask, read, close."""
    for number in range(300):
        with engine.line(SIZES[number % 4]) as line:
            assert line.counters()["dram"] == 0
    wait_until(lambda: engine.statistics()["connections"] == 0)
    assert engine.statistics()["accepted"] >= 300


def test_a_client_that_resets_in_the_middle_is_no_trouble(engine: Engine) -> None:
    for number in range(50):
        line = engine.line()
        line.say(*(query() for _ in range(50)))
        line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        line.close()
        del number
    with engine.line() as honest:
        assert honest.counters()["dram"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--quiet", "--log-events"])
def test_a_server_with_a_million_buffers_ends_within_a_second_of_cpu(option: str) -> None:
    count = 1_000_000
    with a_daemon(option) as daemon, daemon.line() as line:
        for first in range(0, count, 100_000):
            line.say_bytes(stream([alloc(id, 1) for id in range(first, first + 100_000)]))
        assert line.counters()["dram"] == count
        others, used = _cpu_of_ended_children(), _cpu_seconds(daemon.pid)
        assert daemon.terminate() == 0
        spent = _cpu_of_ended_children() - others - used
    assert spent < 1, f"{spent:.2f} s of CPU after SIGTERM"


def _cpu_of_ended_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
