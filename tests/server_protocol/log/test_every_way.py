"""Whichever way a program reports, the server's log has the same lines: nothing that was loaded is missing from it."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.programs import a_command, a_program, command_of, tracked
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import wait_until

ROOT = Path(__file__).parents[3]
WORDS = ("Allocated", "Freed", "CB_ALLOC", "CB_FREE", "KERNEL_LOAD", "KERNEL_UNLOAD")


@pytest.fixture
def talkative() -> Iterator[Daemon]:
    """`allocation_server_poc > out.log &`"""
    script = Path(sys.executable).with_name("allocation_server_poc")
    with a_daemon(program=[str(script)]) as one:
        yield one


def journals_of(daemon: Daemon) -> Path:
    return Path(daemon.environment["TTMEM_DIR"])


def lines_of(daemon: Daemon, *words: str) -> list[str]:
    return [line for line in daemon.text().splitlines() if any(word in line for word in words)]


def count_of(daemon: Daemon, word: str) -> int:
    """As people do: grep -c WORD out.log"""
    found = subprocess.run(["grep", "-c", word, str(daemon.output)], capture_output=True, text=True)
    return int(found.stdout)


def told_by_client(transport: str) -> list[str]:
    """The log of one program, without its pid and times."""
    with a_daemon("--log-events") as daemon:
        settings = {"TTMEM_TRANSPORT": transport, "TTMEM_SEED_SOCKET": str(daemon.path)}
        with a_command(command_of("client.every_call"), journals_of(daemon), **settings) as running:
            running.arrive()
            daemon.text_with("0x777")
            running.process.kill()
            running.process.wait()
            daemon.text_with("kernels (")
        text = "\n".join(lines_of(daemon, *WORDS, "unknown", "L1 Peak", "Removed"))
        return re.sub(r"\[\d+ms\]", "[ms]", text.replace(str(running.pid), "PID")).splitlines()


@pytest.mark.slow
def test_the_default_client_has_every_line_of_its_older_transport() -> None:
    by_socket, by_journal = told_by_client("socket"), told_by_client("journal")

    # A kernel that is built anew ends and begins in a journal; by socket it grows.
    grown = by_socket.index("✓ [KERNEL_LOAD] Application kernel on Device 0: +0.00390625 MB (Total: 1.09375 MB)")
    by_socket[grown : grown + 1] = [
        "✗ [KERNEL_UNLOAD] Application kernel on Device 0: -0.125 MB (Total: 0.964844 MB)",
        "✓ [KERNEL_LOAD] Application kernel on Device 0: +0.128906 MB (Total: 1.09375 MB)",
    ]
    assert by_journal == by_socket
    assert "✓ [KERNEL_LOAD] Fabric kernel on Device 3: +0.875 MB (Total: 0.875 MB)" in by_journal
    assert "✓ [PID PID] Allocated 17386 bytes of SYSTEM_MEMORY on device 3 (buffer_id=0x4002)" in by_journal
    assert "   ✓ Removed 10 buffers (3.13 MB) from PID PID" in [re.sub(r"3\.1\d+", "3.13", line) for line in by_journal]


def test_everything_the_default_client_reported_is_in_the_log(talkative: Daemon) -> None:
    with a_command(
        command_of("client.every_call"), journals_of(talkative), TTMEM_SEED_SOCKET=str(talkative.path)
    ) as running:
        running.arrive()
        talkative.text_with("0x777")
        counts = {word: count_of(talkative, word) for word in WORDS}

    # Kernel 3 of device 0 is loaded with another size in between: it ends, and begins again.
    assert counts == {"Allocated": 11, "Freed": 1, "CB_ALLOC": 4, "CB_FREE": 1, "KERNEL_LOAD": 7, "KERNEL_UNLOAD": 2}
    assert "Missed" not in talkative.text()


@pytest.mark.slow
def test_everything_reported_to_a_graph_tracker_is_in_the_log(talkative: Daemon) -> None:
    process = subprocess.Popen(
        command_of("models.counted"),
        env=tracked(journals_of(talkative)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["DISPATCH"]
        assert told["FABRIC"]
        assert told["APPLICATION"] == told["CB_ALLOC"] == 4

        for word in ("KERNEL_LOAD", "CB_ALLOC", "Allocated"):
            wait_until(lambda word=word: count_of(talkative, word) >= told[word])  # type: ignore[misc]
        assert {word: count_of(talkative, word) for word in ("KERNEL_LOAD", "CB_ALLOC")} == {
            word: told[word] for word in ("KERNEL_LOAD", "CB_ALLOC")
        }
        for word in ("Application", "Fabric", "Dispatch"):
            assert count_of(talkative, f"KERNEL_LOAD. {word} kernel") == told[word.upper()]
        buffers = lines_of(talkative, "Allocated")
        assert len(buffers) == told["Allocated"]
        assert sum("Allocated 131072 bytes of DRAM on device 1 " in line for line in buffers) == 3
    finally:
        process.communicate()
    wait_until(lambda: f"Removed {told['KERNEL_LOAD']} kernels" in talkative.text())


def test_a_host_in_cpp_is_in_the_log_once_for_each_chip_of_its_mesh(talkative: Daemon, tmp_path: Path) -> None:
    host = a_host(tmp_path, "matmul_host.cpp")
    result = subprocess.run([host], env=tracked(journals_of(talkative)), capture_output=True, text=True, check=True)
    assert "10 launches on 2 chips" in result.stdout

    wait_until(lambda: count_of(talkative, "KERNEL_UNLOAD") == 2)
    loaded = list(lines_of(talkative, "KERNEL_LOAD", "CB_ALLOC"))
    assert loaded == [
        line
        for word, size in (("KERNEL_LOAD] Application kernel on", 5_120 * 64), ("CB_ALLOC]", 8_192 * 64))
        for line in (f"✓ [{word} Device {chip}: +{size / 2**20:g} MB (Total: {size / 2**20:g} MB)" for chip in (0, 1))
    ]
    l1 = [line for line in lines_of(talkative, "Allocated") if "1048576 bytes of L1" in line]
    assert [re.findall(r"device (\d) \(buffer_id=0x(\d)", line) for line in l1] == [
        [(str(chip), str(id))] for id in (1, 2, 3) for chip in (0, 1)
    ]
    assert count_of(talkative, "Freed") == count_of(talkative, "Allocated") == 6 + 2  # and the binaries, on both chips


def test_rows_that_take_no_memory_are_no_allocations_in_the_log(talkative: Daemon) -> None:
    lines = [
        "from ttmem import _native as n",
        "chip = n.client.open_device(9, 0, 'wormhole_b0', 'n150', (8, 8), (12, 64), (0,) * 10, 70656)",
        "n.client.report_launch(chip, 77)",
        "n.client.report_buffer_alloc(chip, 1, 4096)",
        "meet()",
    ]
    with a_program(journals_of(talkative), *lines) as program:
        program.arrive()
        wait_until(lambda: count_of(talkative, "Allocated"))

    assert [line.partition("] ")[2] for line in lines_of(talkative, "Allocated")] == [
        "Allocated 4096 bytes of DRAM on device 0 (buffer_id=0x1)"
    ]


def test_without_the_socket_the_log_still_has_every_program() -> None:
    with a_daemon("--log-events", "--no-seed-socket", program=without_socket()) as daemon:
        with a_command(command_of("client.every_call"), journals_of(daemon)) as running:
            running.arrive()
            daemon.text_with("0x777")
        assert count_of(daemon, "KERNEL_LOAD") == 7


def without_socket() -> list[str]:
    """Drops the `--socket PATH` that every daemon of these tests gets."""
    code = "import sys; i = sys.argv.index('--socket'); del sys.argv[i : i + 2]; from ttmem.cli import main; main()"
    return [sys.executable, "-c", code, "serve"]


def a_host(directory: Path, source: str) -> Path:
    """An example, compiled against the client library that this Python loads."""
    import ttmem._native as native

    [library] = (Path(native.__file__).parent / "lib").glob("libttmem_client.so.?")
    made = directory / "host"
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    include = ROOT / "native" / "include"
    command = [*compiler, "-std=c++17", f"-I{include}", str(ROOT / "examples" / source), str(library)]
    subprocess.run([*command, f"-Wl,-rpath,{library.parent}", "-o", str(made)], check=True, capture_output=True)
    return made
