"""A daemon with a port, and another user who opens thousands of connections there and never ends a request."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.faces.json_documents import opened
from tests.support.server.server_bytes import alloc
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

NOBODY = 65534
COUNT = 2000
HALF_SENT = Path(__file__).parents[2] / "programs" / "processes" / "half_sent_requests.py"


@contextmanager
def half_sent_requests(port: int) -> Iterator["subprocess.Popen[str]"]:
    """Another user, who has opened them all; the same one where we are not root."""
    uid = NOBODY if os.geteuid() == 0 else 0
    command = [sys.executable, str(HALF_SENT), str(port), str(COUNT), str(uid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/") as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "opened\n"
            yield process
        finally:
            process.kill()


def port_of(daemon: Daemon) -> int:
    return int(daemon.text().split("http://127.0.0.1:")[1].split()[0])


def cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.slow
def test_thousands_of_half_sent_requests_on_the_port_do_not_shut_the_socket() -> None:
    """For longer than a request may take, so that each of them is opened again at least once."""
    with a_daemon("--listen", "127.0.0.1:0") as daemon, daemon.line() as line:
        line.say(*(alloc(number, 4096) for number in range(10)))
        wait_until(lambda: daemon.figures().used)
        with half_sent_requests(port_of(daemon)) as other:
            waits, figures, statuses = [], [], []
            cpu, began = cpu_seconds(daemon.pid), time.monotonic()
            while time.monotonic() - began < 8:
                asked = time.monotonic()
                status, body = daemon.get("/snapshot")
                waits.append(time.monotonic() - asked)
                statuses.append(status)
                if status == 200:
                    figures.append(
                        [process["memory"]["dram"]["used_bytes"] for process in opened(json.loads(body))["processes"]]
                    )
            cpu = (cpu_seconds(daemon.pid) - cpu) / (time.monotonic() - began)
            told = daemon.run("serve", "--status", check=False)
            scraped = subprocess.run(
                [sys.executable, "-c", SCRAPE, str(port_of(daemon))], capture_output=True, text=True, check=True
            )
            assert other.poll() is None
    waits.sort()
    print(f"{len(waits)} questions: p50 {waits[len(waits) // 2]:.3f} s, longest {waits[-1]:.3f} s; {cpu:.2f} cores")

    assert (set(statuses), {tuple(figure) for figure in figures}) == ({200}, {(40960,)})
    assert (told.returncode, told.stderr) == (0, "")
    assert scraped.stdout.startswith("HTTP/1.1 200")  # not even the port is shut


SCRAPE = """
import socket, sys
line = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
line.sendall(b"GET /healthz HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n")
print(line.makefile("rb").read().decode())
"""


@pytest.mark.slow
def test_a_half_sent_request_is_given_up_after_five_seconds() -> None:
    with a_daemon("--listen", "127.0.0.1:0") as daemon:
        began = time.monotonic()
        with socket.create_connection(("127.0.0.1", port_of(daemon)), timeout=PATIENCE_SECONDS) as line:
            line.sendall(b"GET /snapshot HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            answer = line.recv(1000)

        assert answer.startswith(b"HTTP/1.1 408 ")
        assert time.monotonic() - began >= 5
