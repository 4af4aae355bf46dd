"""What the daemon answers: the same figures for everybody, from sockets and journals alike."""

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.faces.json_documents import opened
from tests.support.processes.programs import a_program
from tests.support.server.server_bytes import alloc, free, kernel_load
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until


def used(daemon: Daemon, pool: str = "dram") -> dict[str, int]:
    return {device["name"]: device["memory"][pool]["used_bytes"] for device in daemon.document()["device_info"]}


def test_health_shows_what_runs_and_what_was_heard(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 4096))
        line.counters()
        health = daemon.document("/healthz")

    assert (health["status"], health["pid"]) == ("ok", daemon.pid)
    assert health["socket"]["path"] == str(daemon.path)
    assert (health["socket"]["connections"], health["socket"]["messages"]) == (1, 2)
    assert set(health["threads"].values()) == {"ok"}
    assert health["checkpoint"]["path"] == str(daemon.directory / "j" / "daemon.checkpoint")


def test_a_snapshot_names_the_daemon_and_shows_what_was_said(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 4096))
        line.counters()
        document = daemon.document()

    assert document["source"] == f"daemon pid {daemon.pid}"
    [process] = document["processes"]
    assert (process["pid"], process["devices"][0]["memory"]["dram"]["used_bytes"]) == (os.getpid(), 4096)


def test_journals_and_sockets_are_answered_for_at_once(daemon: Daemon) -> None:
    code = ("chip = ttmem.open_device(5)", "ttmem.report_buffer_alloc(chip, 1, 8192)", "meet()")
    with daemon.line() as line, a_program(daemon.directory / "j", *code) as program:
        program.arrive()
        line.say(alloc(1, 4096))
        line.counters()

        document = daemon.document()  # at once: what is on disk now is in the answer

    pids = {process["pid"]: process for process in document["processes"]}
    assert set(pids) == {os.getpid(), program.pid}
    assert pids[program.pid]["devices"][0]["memory"]["dram"]["used_bytes"] == 8192
    assert daemon.document("/healthz")["journals"] in (0, 1)


def test_a_dump_lists_what_is_alive_by_device_and_type(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 4096), alloc(2, 512, device=3), kernel_load(7, 917_504, 1))
        line.counters()
        everything = json.dumps(daemon.document("/dump"))
        kernels = json.dumps(daemon.document("/dump?kernels=1&device=0"))

    assert "4096" in everything
    assert "917504" in everything
    assert "917504" in kernels
    assert "4096" not in kernels
    assert daemon.get("/dump?device=77")[0] == 404


def test_peaks_restart_on_request(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 4096), alloc(2, 1000), free(1))
        line.counters()
        assert daemon.document()["device_info"][0]["memory"]["dram"]["peak_bytes"] == 5096
        assert daemon.get("/reset-peaks")[0] == 405
        assert daemon.get("/reset-peaks", "POST") == (204, b"")

        assert daemon.document()["device_info"][0]["memory"]["dram"]["peak_bytes"] == 1000


def test_a_stream_follows_what_happens(daemon: Daemon) -> None:
    with daemon.line() as line, socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE_SECONDS)
        client.connect(str(daemon.directory / "j" / "daemon.sock"))
        client.sendall(b"GET /events?interval=0.1 HTTP/1.1\r\nHost: x\r\n\r\n")
        stream = client.makefile("rb")
        seen = []
        for number in range(1, 4):
            line.say(alloc(number, 1000))
            line.counters()
            seen.append(next_total(stream, at_least=number * 1000))

    assert seen == [1000, 2000, 3000]


def next_total(stream: object, at_least: int) -> int:
    while True:
        text = stream.readline()  # type: ignore[attr-defined]
        assert text, "the stream ended"
        if text.startswith(b"data: "):
            devices = opened(json.loads(text[6:]))["device_info"]
            total = int(sum(device["memory"]["dram"]["used_bytes"] for device in devices))
            if total >= at_least:
                return total


def test_a_port_is_opened_on_request_and_shows_its_number(directory: Path) -> None:
    with a_daemon("--listen", "127.0.0.1:0", directory=directory) as daemon:
        [url] = re.findall(r" and (http://127\.0\.0\.1:\d+) ", daemon.text())
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE_SECONDS)
        with contextlib.closing(connection):
            connection.request("GET", "/snapshot")
            answer = connection.getresponse()
            assert answer.status == 200
            assert json.loads(answer.read())["source"] == f"daemon pid {daemon.pid}"


@pytest.mark.slow
def test_without_request_no_port_is_open(daemon: Daemon) -> None:
    sockets = {os.readlink(f"/proc/{daemon.pid}/fd/{name}") for name in os.listdir(f"/proc/{daemon.pid}/fd")}
    inodes = {link[8:-1] for link in sockets if link.startswith("socket:")}
    tables = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()

    assert not inodes & {line.split()[9] for line in tables.splitlines() if len(line.split()) > 9}


def test_ps_asks_the_daemon_and_says_so(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 4096))
        line.counters()

        assert f"daemon pid {daemon.pid}" in daemon.run("ps").stdout


@pytest.mark.slow
def test_the_log_is_the_only_thing_that_grows_with_events(daemon: Daemon) -> None:
    with daemon.line() as line:
        for _ in range(50):
            line.say(*(message for number in range(100) for message in (alloc(number, 64), free(number))))
        line.counters()

    assert daemon.document("/healthz")["socket"]["messages"] == 50 * 200 + 1
    wait_until(lambda: used(daemon) in ({}, {"server:0": 0}))


def test_help_and_looking_load_no_server() -> None:
    packages = {"starlette", "uvicorn", "asyncio", "msgspec"}
    code = f"import sys, ttmem, ttmem.cli; print({packages} & set(sys.modules))"
    code += f"; import ttmem.cli.ps; print({packages} & set(sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert said == "set()\n{'msgspec'}\n"
