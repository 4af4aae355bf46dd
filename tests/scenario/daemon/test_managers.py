"""Under a service manager: told when ready, served on sockets that it made, installed by the commands we print."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server.server_bytes import alloc
from tests.support.timing.waiting import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).parents[3]
SERVE = (sys.executable, "-m", "ttmem", "serve")
# Does what systemd does: descriptors from 3 on, and the pid of the process that is about to be.
HAND_OVER = """\
import os, socket, sys
for place, path in enumerate(sys.argv[1].split(":"), start=3):
    made = socket.socket(socket.AF_UNIX)
    made.bind(path)
    made.listen()
    os.dup2(made.detach(), place, inheritable=True)
    os.set_inheritable(place, True)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[2], sys.argv[2:])
"""


def environ_of(directory: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "TTMEM_DIR": str(directory), **more}


def ask(path: Path, question: str = "/healthz") -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(PATIENCE_SECONDS)
        client.connect(str(path))
        client.sendall(f"GET {question} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        text = b""
        while more := client.recv(65536):
            text += more
        return text


def test_a_manager_learns_when_it_is_ready_and_when_it_stops(directory: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(directory / "n"))
        ear.settimeout(PATIENCE_SECONDS)
        environ = environ_of(directory, NOTIFY_SOCKET=str(directory / "n"))
        command = [*SERVE, "--socket", str(directory / "s")]
        with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as process:
            said = ear.recv(1000).decode()
            assert said.startswith("READY=1\nSTATUS=serving ")
            assert b'"status":"ok"' in ask(directory / "daemon.sock")
            process.terminate()
            assert ear.recv(1000) == b"STOPPING=1"
            assert process.wait(PATIENCE_SECONDS) == 0


def test_sockets_of_a_manager_are_served_and_left_in_place(directory: Path) -> None:
    seed, query = directory / "given-s", directory / "given-q"
    environ = environ_of(directory, LISTEN_FDS="2", LISTEN_FDNAMES="server:query")
    command = [sys.executable, "-c", HAND_OVER, f"{seed}:{query}", *SERVE]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"ttmem: serving {seed}, answering on {query} (pid {process.pid})\n"
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(seed))
            client.sendall(alloc(1, 4096).to_bytes(144))
            wait_until(lambda: b'"used_bytes":4096' in ask(query, "/snapshot"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_SECONDS) == 0

    assert seed.exists()
    assert query.exists()
    assert sorted(path.name for path in directory.iterdir() if path.suffix == ".lock") == []


def test_one_socket_may_be_given_and_the_other_made(directory: Path) -> None:
    environ = environ_of(directory, LISTEN_FDS="1", LISTEN_FDNAMES="server")
    command = [sys.executable, "-c", HAND_OVER, str(directory / "given"), *SERVE]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(
            f"ttmem: serving {directory}/given, answering on {directory}/daemon.sock "
        )
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0


@pytest.mark.skipif(not shutil.which("systemd-socket-activate"), reason="NOT TESTED: no systemd-socket-activate here")
def test_systemds_own_tool_hands_sockets_over(directory: Path) -> None:
    seed, query = directory / "given-s", directory / "given-q"
    environ = [f"-E{name}={value}" for name, value in environ_of(directory).items() if name.startswith("TTMEM")]
    tool = ["systemd-socket-activate", "-l", str(seed), "-l", str(query), "--fdname=server:query", *environ]
    with subprocess.Popen([*tool, *SERVE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            wait_until(query.exists)
            assert b'"status":"ok"' in ask(query)  # the first question starts it
            assert process.stdout is not None
            assert process.stdout.readline().startswith(f"ttmem: serving {seed}, answering on {query} ")
        finally:
            process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 0


def installation() -> str:
    return subprocess.run([*SERVE, "--install-unit"], capture_output=True, text=True, check=True).stdout


def installed_to(directory: Path) -> list[Path]:
    """Runs what `--install-unit` prints, but to a directory of the test's, and without a systemctl."""
    commands = installation().replace("/etc/systemd/system", str(directory))
    (directory / "systemctl").write_text(f'#!/bin/sh\necho "$@" >>{directory}/asked\n')
    (directory / "systemctl").chmod(0o755)
    path = f"{directory}:{os.environ['PATH']}"
    subprocess.run(
        ["sh", "-ex"], input=commands, env={**os.environ, "PATH": path}, text=True, check=True, capture_output=True
    )
    return sorted(path for path in directory.iterdir() if path.suffix in (".service", ".socket"))


def test_the_printed_commands_install_the_units_with_the_right_program(directory: Path) -> None:
    units = installed_to(directory)

    assert [unit.name for unit in units] == ["ttmem-query.socket", "ttmem.service", "ttmem.socket"]
    [program] = re.findall(
        r"^ExecStart=(\S+|\".+\") serve ", (directory / "ttmem.service").read_text(), flags=re.MULTILINE
    )
    version = subprocess.run([program.strip('"'), "--version"], capture_output=True, text=True, check=True).stdout
    assert version.startswith("ttmem ")
    assert (directory / "asked").read_text() == (
        "daemon-reload\nenable --now ttmem-query.socket ttmem.socket ttmem.service\n"
    )


def test_every_option_in_the_unit_exists() -> None:
    unit = (ROOT / "packaging" / "ttmem.service").read_text(encoding="utf-8")
    [arguments] = re.findall(r"^ExecStart=\S+ serve (.*)$", unit, flags=re.MULTILINE)
    said = subprocess.run([*SERVE, "--help"], capture_output=True, text=True, check=True).stdout

    assert all(option in said for option in re.findall(r"--[\w-]+", arguments))


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="NOT TESTED: no systemd-analyze here")
def test_systemd_finds_no_fault_in_the_units(directory: Path) -> None:
    units = installed_to(directory)

    checked = subprocess.run(["systemd-analyze", "verify", *units], capture_output=True, text=True)

    assert (checked.returncode, checked.stderr) == (0, "")
