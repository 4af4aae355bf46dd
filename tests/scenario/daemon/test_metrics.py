"""Scrapes of a running daemon: by socket and by port, whole from the first on, and nothing is left of a thousand."""

import http.client
import os
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faces.scraped import CLASSIC, OPEN_METRICS, Samples, samples_of, value
from tests.support.processes.programs import a_program
from tests.support.server.server_bytes import alloc
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

HOLDING = "chip = ttmem.open_device(0x7001, index=3, arch='blackhole')"


def scrape(daemon: Daemon) -> Samples:
    status, body = daemon.get("/metrics")
    assert status == 200, body
    return samples_of(body.decode())


def port_of(daemon: Daemon) -> int:
    [port] = re.findall(r"http://127\.0\.0\.1:(\d+)", daemon.text())
    return int(port)


@pytest.fixture(scope="module")
def asked() -> Iterator[Daemon]:
    """A daemon with all there is; everybody's, so nobody may harm it."""
    with a_daemon("--listen", "127.0.0.1:0", "--metrics-processes", "1", "--metrics-aliases") as one:
        yield one


def test_a_page_shows_what_a_process_holds_and_that_it_is_gone(asked: Daemon) -> None:
    held = {"device": "3", "arch": "blackhole", "memory": "dram", "kind": "buffer"}
    with a_program(asked.directory / "j", HOLDING, "ttmem.report_buffer_alloc(chip, 1, 4096)", "meet()") as program:
        program.arrive()

        wait_until(lambda: value(scrape(asked), "ttmem_memory_used_bytes", **held) == 4096)  # its journal is new
        assert value(scrape(asked), "ttmem_clients", source="journal", state="live") == 1
        assert value(scrape(asked), "ttmem_workload_memory_used_bytes", device="3") == 4096
    wait_until(lambda: value(scrape(asked), "ttmem_memory_used_bytes", **held) == 0)

    assert value(scrape(asked), "ttmem_clients", source="journal", state="live") == 0
    assert value(scrape(asked), "ttmem_workload_memory_used_bytes", device="3") is None


def test_what_is_said_by_socket_is_on_the_page_too(asked: Daemon) -> None:
    with asked.line() as line:
        line.say(alloc(1, 4096))
        line.counters()
        found = scrape(asked)

    assert value(found, "ttmem_memory_used_bytes", device="server:0", memory="dram", kind="buffer") == 4096
    assert value(found, "ttmem_clients", source="socket", state="live") == 1


@pytest.mark.parametrize(
    ("accept", "content_type"), [("application/openmetrics-text", OPEN_METRICS), ("text/plain", CLASSIC)]
)
def test_an_asker_at_the_port_gets_the_format_it_likes(asked: Daemon, accept: str, content_type: str) -> None:
    line = http.client.HTTPConnection("127.0.0.1", port_of(asked), timeout=PATIENCE_SECONDS)
    line.request("GET", "/metrics", headers={"accept": accept})
    answer = line.getresponse()
    body = answer.read().decode()
    line.close()

    assert (answer.status, answer.headers["content-type"]) == (200, content_type)
    assert value(samples_of(body), "ttmem_up") == 1


@pytest.mark.slow
def test_a_daemon_is_ready_as_long_as_it_is_well(directory: Path) -> None:
    with a_daemon("--listen", "127.0.0.1:0", directory=directory) as daemon:
        assert daemon.get("/-/ready") == (200, b"ready\n")
        assert daemon.get("/health") == (200, b"ready\n")
        os.unlink(daemon.directory / "j" / "daemon.sock")
        line = http.client.HTTPConnection("127.0.0.1", port_of(daemon), timeout=PATIENCE_SECONDS)
        line.request("GET", "/-/ready")
        answer = line.getresponse()

        assert (answer.status, answer.read()) == (503, b"not ready\n")

        def up() -> float | None:
            line.request("GET", "/metrics")
            return value(samples_of(line.getresponse().read().decode()), "ttmem_up")

        wait_until(lambda: up() == 0)  # it looks after itself once a second
        line.close()


# The pool that encodes answers may still grow to its full size, and never beyond; a line may be closing. What a
# thousand scrapes leave behind would be a thousand of either, or a page of 100 KiB each.
HELPERS_MOST = min(32, (os.cpu_count() or 1) + 4)


@pytest.mark.slow
def test_a_thousand_scrapes_leave_nothing_behind(directory: Path) -> None:
    with (
        a_daemon("--listen", "127.0.0.1:0", directory=directory) as daemon,
        a_program(directory / "j", HOLDING, "ttmem.report_buffer_alloc(chip, 1, 4096)", "meet()") as program,
    ):
        program.arrive()
        scrape_often(daemon, 100)  # threads, caches and buffers are made now
        before = footprint(daemon)
        scrape_often(daemon, 1_000)
        after = footprint(daemon)

    assert after["descriptors"] <= before["descriptors"] + HELPERS_MOST
    assert after["threads"] <= before["threads"] + HELPERS_MOST
    assert after["rss_kib"] - before["rss_kib"] < 16_384


def scrape_often(daemon: Daemon, count: int) -> None:
    """Several at once, each on a line of its own that is kept, as Prometheus does it."""

    def scrapes() -> None:
        line = http.client.HTTPConnection("127.0.0.1", port_of(daemon), timeout=PATIENCE_SECONDS)
        for _ in range(count // 4):
            line.request("GET", "/metrics", headers={"accept": "application/openmetrics-text"})
            assert line.getresponse().read().endswith(b"# EOF\n")
        assert isinstance(line.sock, socket.socket)
        line.close()

    threads = [threading.Thread(target=scrapes) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def footprint(daemon: Daemon) -> dict[str, int]:
    status = Path(f"/proc/{daemon.pid}/status").read_text(encoding="ascii")
    return {
        "descriptors": len(os.listdir(f"/proc/{daemon.pid}/fd")),
        "threads": int(re.findall(r"Threads:\s+(\d+)", status)[0]),
        "rss_kib": int(re.findall(r"VmRSS:\s+(\d+)", status)[0]),
    }
