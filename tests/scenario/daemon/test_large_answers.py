"""Several viewers ask for everything that is alive, of a process with very much: all are answered, others meanwhile."""

import http.client
import json
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.processes.programs import a_program
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

ALIVE = 30_000
VIEWERS = 3
DUMPS = 2
PROGRAM = (
    "from ttmem import _native",
    "chip = _native.client.open_device(7, 0, '', '', (8, 8), (12, 64), (1 << 40,) * 10, 0)",
    f"for number in range(1, {ALIVE} + 1): _native.client.report_buffer_alloc(chip, number, 4096)",
    "meet()",
)


def dumped(port: int) -> int:
    """How many allocations the port tells of."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=6 * PATIENCE_SECONDS)) as connection:
        connection.request("GET", "/dump?most=1000000")
        answer = connection.getresponse()
        body = answer.read()
    assert answer.status == 200, body
    return sum(len(group["allocations"]) for device in json.loads(body)["devices"] for group in device["groups"])


def ask_again_and_again(daemon: Daemon, is_over: threading.Event, statuses: set[int]) -> None:
    while not is_over.is_set():
        statuses.add(daemon.get("/healthz")[0])


@pytest.mark.slow
def test_several_large_dumps_at_once_are_all_answered_and_the_socket_meanwhile() -> None:
    with a_daemon("--listen", "127.0.0.1:0") as daemon:
        port = int(daemon.text().split("http://127.0.0.1:")[1].split()[0])
        with a_program(Path(daemon.environment["TTMEM_DIR"]), *PROGRAM) as program:
            program.arrive()
            wait_until(lambda: sum(row["live_count"] for row in daemon.document()["processes"]) == ALIVE)
            counts: list[int] = []
            statuses: set[int] = set()
            is_over = threading.Event()
            viewers = [
                threading.Thread(target=lambda: counts.extend([dumped(port) for _ in range(DUMPS)]))
                for _ in range(VIEWERS)
            ]
            asking = threading.Thread(target=ask_again_and_again, args=(daemon, is_over, statuses))
            for thread in (asking, *viewers):
                thread.start()
            for viewer in viewers:
                viewer.join()
            is_over.set()
            asking.join()

            assert counts == [ALIVE] * (VIEWERS * DUMPS)
            assert statuses == {200}
            assert daemon.terminate() == 0
