"""A port names source files without their directories, the Unix socket with them."""

import contextlib
import http.client
import re
from pathlib import Path

import pytest

from tests.support.processes.programs import a_program
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import PATIENCE_SECONDS

MODEL = """\
chip = ttmem.open_device(0x44, index=0)
def forward():
    ttmem.report_buffer_alloc(chip, 1, 4096)
    ttmem.report_out_of_memory(chip, 0, 77)
forward()
"""
PATHS = ("/snapshot", "/overview", "/incident?pid={pid}&number=1", "/process?pid={pid}", "/dump")
STREAMS = ("/events?what=snapshot", "/events?what=overview")
OTHERS = ("/chip?device=0", "/kernels?device=0", "/history", "/telemetry", "/metrics", "/healthz")


def told_by_port(daemon: Daemon, path: str) -> bytes:
    [address] = re.findall(r" and http://(127\.0\.0\.1:\d+) ", daemon.text())
    connection = http.client.HTTPConnection(address, timeout=PATIENCE_SECONDS)
    with contextlib.closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == 200, path
        return answer.read() if path not in STREAMS else b"".join(iter(answer.readline, b"\n"))  # the first event


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--show-paths",)], ids=["plain", "show-paths"])
def test_a_port_names_no_directories_unless_asked_to(directory: Path, flags: tuple[str, ...]) -> None:
    script = directory / "secret" / "project" / "model.py"
    script.parent.mkdir(parents=True)
    script.write_text(MODEL)
    lines = ("import os; script = os.environ['MODEL']", "exec(compile(open(script).read(), script, 'exec'))", "meet()")
    with (
        a_daemon("--listen", "127.0.0.1:0", "--metrics-processes", *flags, directory=directory) as daemon,
        a_program(directory / "j", *lines, TTMEM_SITES="1", MODEL=str(script)) as program,
    ):
        program.arrive()
        paths = [path.format(pid=program.pid) for path in PATHS]
        by_socket = [daemon.get(path) for path in paths]
        by_port = [told_by_port(daemon, path) for path in (*paths, *STREAMS)]
        others = [told_by_port(daemon, path) for path in OTHERS]

    assert [status for status, _ in by_socket] == [200] * len(paths)
    assert all(b"project/model.py" in body for _, body in by_socket)
    assert all(b"model.py" in body for body in by_port)
    named = zip((*PATHS, *STREAMS), by_port, strict=True)
    found = {path: re.findall(rb".{40}project/.{20}", body)[:2] for path, body in named}
    assert all(found.values()) if flags else not any(found.values()), found
    assert flags or not any(b"project/" in body for body in others)
