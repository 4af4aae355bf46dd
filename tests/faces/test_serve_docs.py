"""The page about the daemon tells the truth: flags, routes, names of the server; tests/docs runs the rest."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server.server_bytes import kernel_load
from tests.support.server.server_serving import a_daemon, short_directory
from tests.support.timing.waiting import PATIENCE_SECONDS
from ttmem.cli.serve import allocation_server_poc, serve

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "serve.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\| `((?:ttmem serve|allocation_server_poc)[^`]*)` \|", PAGE, flags=re.MULTILINE)
[SEARCH] = re.findall(r"^grep .*$", PAGE, flags=re.MULTILINE)
BIN = Path(sys.executable).parent


def table(section: str) -> str:
    text = PAGE.split(f"## {section}\n", 1)[1]
    found = re.search(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert found is not None
    return found[0]


def test_every_flag_of_serve_is_described_and_no_other() -> None:
    described = set(re.findall(r"^\| `(--[\w-]+)", table("Flags"), flags=re.MULTILINE)) | {"-q", "--quiet"}
    described.add("--no-seed-socket")  # the older form of --no-server-socket

    assert described == {flag for option in serve.params for flag in (*option.opts, *option.secondary_opts)}
    assert {flag for option in allocation_server_poc.params for flag in option.opts} < described


def test_every_route_is_described_and_no_other() -> None:
    with a_daemon() as daemon:
        for method, path in re.findall(r"`(GET|POST) (/[\w-]+)`", table("HTTP")):
            if path != "/events":
                assert daemon.get(path, method)[0] in (200, 204, 400)  # 400: it wants to know of which chip
        described = set(re.findall(r"`(\w+)`", table("HTTP").split("/healthz")[1].split("|")[1]))
        assert described == set(daemon.document("/healthz"))


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_serves_does_so(command: str) -> None:
    words = shlex.split(command)
    options = [word for word in words if word.startswith("-") and word not in ("--socket", "--query-socket")]
    program = (str(BIN / words[0]), *(["serve"] if words[0] == "ttmem" else []))
    with a_daemon(*options, program=program) as daemon:
        assert re.fullmatch(r"ttmem: serving \S+, answering on \S+ \(pid \d+\)\n", daemon.text())


def test_the_older_servers_log_can_be_searched_as_described() -> None:
    with a_daemon(program=(str(BIN / "allocation_server_poc"),)) as daemon, daemon.line() as line:
        line.say(kernel_load(1, 917_504, 1))
        daemon.text_with("KERNEL_LOAD")
        found = subprocess.run(shlex.split(SEARCH), cwd=daemon.directory, capture_output=True, text=True, check=True)

    assert found.stdout == "✓ [KERNEL_LOAD] Fabric kernel on Device 0: +0.875 MB (Total: 0.875 MB)\n"


def test_the_units_are_those_that_are_described() -> None:
    units = {path.name for path in (ROOT / "packaging").iterdir()}
    words = [str(BIN / "ttmem"), "serve", "--install-unit"]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert units == set(re.findall(r"`(ttmem[\w-]*\.(?:service|socket))`", PAGE))
    assert all(f"/etc/systemd/system/{unit}" in printed for unit in units)


def test_the_default_places_are_those_that_are_described() -> None:
    with short_directory() as directory:
        environ = {**os.environ, "TTMEM_DIR": str(directory), "TTMEM_SEED_SOCKET": str(directory / "s")}
        with subprocess.Popen([BIN / "ttmem", "serve"], env=environ, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert f"serving {directory}/s, answering on {directory}/daemon.sock" in process.stdout.readline()
            process.terminate()
            assert process.wait(PATIENCE_SECONDS) == 0
