"""`ttmem ps` and `ttmem dump` beside a real daemon: asked when it is there, done without when it is not."""

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.faces.json_documents import opened
from tests.support.processes.programs import a_program
from tests.support.server.false_daemons import a_false_daemon, a_short_directory, an_answer, silence
from tests.support.server.server_bytes import Message, Type, alloc, cb_alloc, kernel_load
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.simulated.figures import a_busy_snapshot
from tests.support.timing.stopwatch import Stopwatch
from tests.support.timing.waiting import wait_until
from ttmem.snapshot.codec import encoded

APPLICATION, FABRIC, DISPATCH = 0, 1, 2
PROGRAM = (
    "chip = ttmem.open_device(0x1A2B, index=3, board='n300', capacities={0: 1 << 20})",
    "ttmem.label('a job')",
    "ttmem.report_buffer_alloc(chip, 1, 512 << 10)",
    "meet()",
)


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    with a_daemon() as running:
        yield running


def journals_of(daemon: Daemon) -> Path:
    return Path(daemon.environment["TTMEM_DIR"])


def test_a_process_on_the_socket_is_seen_through_the_daemon(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(
            alloc(0x1000, 4096, device=0),
            kernel_load(1, 917_504, FABRIC),
            kernel_load(2, 47_104, DISPATCH),
            kernel_load(3, 47_104, DISPATCH),
        )
        line.counters()
        shown = daemon.run("ps").stdout

    assert f" daemon pid {daemon.pid}, reading {journals_of(daemon)}" in shown
    assert re.search(rf" {os.getpid()} .* socket +server:0 +4\.00 KiB", shown)
    assert "kernels: 1 fabric ~896 KiB · 2 dispatch ~92.0 KiB" in shown


def test_a_daemon_that_does_not_answer_is_distinguished_from_none(daemon: Daemon) -> None:
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        told = daemon.run("serve", "--status", check=False)
    finally:
        daemon.process.send_signal(signal.SIGCONT)

    path = journals_of(daemon) / "daemon.sock"
    assert (told.returncode, told.stdout) == (4, "")
    assert told.stderr.startswith(f"ttmem: a daemon runs, but is busy or hangs ({path}: gave no answer within 1 s; ")
    assert told.stderr.endswith("; try again, or restart it\n")


def test_what_socket_clients_send_is_printed_as_the_older_monitors_block_and_the_daemon_says_that_it_runs(
    daemon: Daemon,
) -> None:
    fabric, dispatch, application = 57_344, 47_104, 24_576
    sizes = [(fabric, FABRIC)] * 2 + [(dispatch, DISPATCH)] * 2 + [(application, APPLICATION)] * 5
    with daemon.line() as line:
        line.say(cb_alloc(0x2000, 2_202_009), *(kernel_load(at, *size) for at, size in enumerate(sizes, start=1)))
        line.counters()
        command = [str(Path(sys.executable).parent / "tt_smi_umd")]
        block = subprocess.run(command, env=daemon.environment, capture_output=True, text=True, check=True).stdout
        status = daemon.run("serve", "--status").stdout

    assert block == (
        "Device 0 (unknown):\n"
        "  L1 Memory:\n"
        "    Buffers:        0.0B\n"
        "    CBs:            2.1 MB\n"
        "    Kernels:        324.0KB\n"
        "      - Fabric:     112 KB  (2 kernels)\n"
        "      - Dispatch:   92 KB   (2 kernels)\n"
        "      - Application: 120 KB (5 kernels)\n"
        "    Total:          2.4 MB / [N/A]\n"
    )
    where = journals_of(daemon) / "daemon.sock"
    assert status == f"daemon pid {daemon.pid} answers on {where}; 1 process reports\n"


def test_a_pid_that_messages_claim_and_a_kernel_without_a_type_are_shown(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(Message(Type.KERNEL_LOAD, size=4096, kind=7, id=1, pid=17))
        line.counters()
        shown = daemon.run("ps").stdout

    assert "says pid 17" in shown
    assert "kernels: 1 unknown ~4.00 KiB" in shown
    assert re.search(r"\n KERNELS .* UNKNOWN .*\n server:0 .*~4\.00 KiB \(1\)", shown)


@pytest.mark.slow
def test_what_a_daemon_restored_is_marked_until_its_process_ends(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(0x1000, 4096))
        line.counters()
        daemon.terminate()
        daemon.restart()
        shown, dumped = daemon.run("ps").stdout, daemon.run("dump").stdout

    assert " · incomplete: restored · " in shown
    for text in (shown, dumped):
        assert f" daemon pid {daemon.pid}, reading " in text
        assert re.search(rf"! pid {os.getpid()} .*: known from a daemon's checkpoint", text)
    assert re.search(r"\n +4\.00 KiB +0x1000 ", dumped)


@pytest.mark.slow
def test_a_process_that_reports_both_ways_is_shown_once_with_both_figures(daemon: Daemon) -> None:
    lines = (
        "import os, socket",
        f"line = socket.socket(socket.AF_UNIX); line.connect({str(daemon.path)!r})",
        f"line.sendall(bytes.fromhex({alloc(0x1000, 1 << 20).to_bytes().hex()!r}))",
        *PROGRAM,
    )
    with a_program(journals_of(daemon), *lines) as program:
        program.arrive()
        wait_until(lambda: any(row["other_devices"] for row in daemon.document()["processes"]))
        shown, told = daemon.run("ps").stdout, opened(json.loads(daemon.run("ps", "--json").stdout))

    assert shown.count(f" {program.pid} ") == 2  # its row, and the doubt
    assert re.search(r"└ not added: its socket says of server:0: dram 1\.00 MiB\n", shown)
    assert f"! pid {program.pid} a job: reports by journal and by socket" in shown
    [process] = told["processes"]
    assert process["findings"] == {"two_sources": 1}
    assert (
        sum(device["memory"]["dram"]["used_bytes"] for device in told["device_info"] if device["memory"]) == 512 << 10
    )


def test_ps_says_the_same_with_and_without_the_daemon(daemon: Daemon) -> None:
    with a_program(journals_of(daemon), *PROGRAM) as program:
        program.arrive()
        wait_until(lambda: daemon.document()["processes"])
        asked, alone = (
            opened(json.loads(daemon.run("ps", "--json", *flags).stdout)) for flags in ((), ("--no-daemon",))
        )

    assert (asked["source"], alone["source"]) == (f"daemon pid {daemon.pid}", "embedded collector")
    for told in (asked, alone):
        assert [process["pid"] for process in told["processes"]] == [program.pid]
        assert told["device_info"][0]["memory"]["dram"]["used_bytes"] == 512 << 10
        for pool in told["processes"][0]["devices"][0]["memory"].values():
            del pool["peak_time_ns"]  # two clocks of a journal are compared anew by each who reads it
    assert asked["processes"][0]["devices"] == alone["processes"][0]["devices"]


def test_dump_says_what_is_alive_and_whose_it_is(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(
            *(alloc(0x1000 * at, 1024 * at, device=0) for at in range(1, 61)),
            alloc(0x1000, 1024, device=0),
            cb_alloc(0x77, 2048, device=1),
            kernel_load(1, 917_504, FABRIC, device=1),
        )
        line.counters()
        shown = daemon.run("dump").stdout
        whole = json.loads(daemon.run("dump", "--json", "--all").stdout)

    assert "62 allocations on 2 devices · complete · " in shown  # one of them was allocated twice
    assert f" daemon pid {daemon.pid}, reading" in shown
    assert re.search(rf"\n +60\.0 KiB +0x3c000 +\d\S* s +{os.getpid()} ", shown)
    assert "... 10 more, 55.0 KiB (--all)" in shown
    listed = whole["devices"][0]["groups"][0]["allocations"]
    assert [one["size_bytes"] for one in listed] == [1024 * at for at in range(60, 0, -1)]
    assert (listed[-1]["id"], listed[-1]["holder_count"]) == ("0x1000", 2)


@pytest.mark.slow
def test_a_few_kernels_are_listed_beside_many_larger_buffers(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(*(alloc(at, 1 << 20) for at in range(1, 3000)), kernel_load(1, 917_504, FABRIC, device=0))
        line.counters()
        [group] = json.loads(daemon.run("dump", "--json", "--kernels", "--device", "0").stdout)["devices"][0]["groups"]

    assert (group["type"], group["count"], len(group["allocations"])) == ("fabric", 1, 1)


def test_a_device_the_daemon_does_not_know_is_a_bad_flag(daemon: Daemon) -> None:
    with daemon.line() as line:
        line.say(alloc(1, 1))
        line.counters()
        result = daemon.run("dump", "--device", "7", check=False)

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "ttmem: Invalid value for -i: no device 7 here; known are 0\n"


@pytest.mark.slow
def test_a_device_that_only_ended_processes_used_is_chosen_with_all_alone(daemon: Daemon) -> None:
    ended = (
        "import socket; line = socket.socket(socket.AF_UNIX)\n"
        f"line.connect({str(daemon.path)!r})\n"
        f"line.sendall(bytes.fromhex({alloc(1, 1, device=0).to_bytes().hex()!r}))"
    )
    subprocess.run([sys.executable, "-c", ended], check=True)
    wait_until(lambda: any(row["state"] == "ended" for row in daemon.document()["processes"]))
    with daemon.line() as line:
        line.say(alloc(1, 1, device=3), alloc(1, 1, device=-1))
        line.counters()
        refused = daemon.run("ps", "-i", "0", check=False)
        unknown = daemon.run("ps", "-i", "unknown:0"), daemon.run("dump", "--device", "unknown:0")

    assert (refused.returncode, refused.stderr) == (
        2,
        "ttmem: Invalid value for -i: no device 0 here; known are 3, unknown:0\n",
    )
    assert all("unknown:0" in shown.stdout and "server:3" not in shown.stdout for shown in unknown)


def test_a_daemon_without_reports_is_nothing_to_read(daemon: Daemon) -> None:
    for verb in ("ps", "dump"):
        result = daemon.run(verb, check=False)
        assert result.returncode == 1
        assert f"(daemon pid {daemon.pid} looked in {journals_of(daemon)})" in result.stderr


def test_a_killed_daemon_is_done_without_and_said(daemon: Daemon) -> None:
    with a_program(journals_of(daemon), *PROGRAM) as program:
        program.arrive()
        daemon.kill()
        shown = daemon.run("ps").stdout
        dumped = daemon.run("dump").stdout

    for text in (shown, dumped):
        assert " read directly from " in text
        assert "daemon.sock: no answer there: the daemon that made it has ended" in text
        assert "a job" in text


@pytest.mark.slow
def test_a_stopped_daemon_is_done_without_within_a_second(daemon: Daemon) -> None:
    with a_program(journals_of(daemon), *PROGRAM) as program:
        program.arrive()
        os.kill(daemon.pid, signal.SIGSTOP)
        command = [sys.executable, "-m", "ttmem", "ps"]
        with subprocess.Popen(command, env=daemon.environment, stdout=subprocess.PIPE, text=True) as asking:
            watch = Stopwatch(asking.pid)
            watch.end_of(asking)
            took = watch.seconds
            shown = asking.communicate()[0]

    assert re.search(r"gave no answer within (1|0\.\d+) s; the journals were read without it", shown)
    assert "a job" in shown
    assert took < 5.0  # a second for the daemon, another for what comes after, the rest for Python


@pytest.mark.slow
def test_watching_survives_the_death_of_the_daemon_and_finds_the_next(daemon: Daemon) -> None:
    command = [sys.executable, "-m", "ttmem", "ps", "--json", "--watch", "0.05"]
    with (
        a_program(journals_of(daemon), *PROGRAM) as program,
        subprocess.Popen(command, env=daemon.environment, stdout=subprocess.PIPE, text=True) as watching,
    ):
        program.arrive()

        def shown_until(wanted: str) -> None:
            assert watching.stdout is not None
            told = json.loads(watching.stdout.readline())
            while (told["source"], [row["pid"] for row in told["processes"]]) != (wanted, [program.pid]):
                told = json.loads(watching.stdout.readline())

        try:
            shown_until(f"daemon pid {daemon.pid}")
            daemon.kill()
            shown_until("embedded collector")
            daemon.restart()
            shown_until(f"daemon pid {daemon.pid}")
        finally:
            watching.send_signal(signal.SIGINT)
            watching.communicate()

    assert watching.returncode == 130


def test_watching_goes_on_when_a_look_takes_longer_than_the_interval() -> None:
    sound = an_answer(json.loads(encoded(a_busy_snapshot())))

    def slowly(line: socket.socket, request: bytes) -> None:
        select.select([line], [], [], 0.1)
        sound(line, request)

    with a_short_directory() as directory, a_false_daemon(directory, slowly):
        environ = {**os.environ, "TTMEM_DIR": str(directory)}
        command = [sys.executable, "-m", "ttmem", "ps", "--json", "--watch", "0.05"]
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as watching:
            assert watching.stdout is not None
            seen = [json.loads(watching.stdout.readline())["time_ns"] for _ in range(4)]
            watching.send_signal(signal.SIGINT)
            watching.communicate()

    assert (len(seen), watching.returncode) == (4, 130)


def test_asking_a_daemon_loads_no_server(daemon: Daemon) -> None:
    check = (
        "import sys, ttmem.cli\n"
        "try: ttmem.cli.main(['ps', '--json'])\n"
        "finally: print(sorted({'starlette', 'uvicorn', 'http.client', 'asyncio'} & set(sys.modules)))"
    )
    with daemon.line() as line:
        line.say(alloc(1, 1))
        line.counters()
        done = subprocess.run([sys.executable, "-c", check], env=daemon.environment, capture_output=True, text=True)

    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == "[]"


@pytest.mark.slow
def test_a_hanging_daemon_is_no_reason_to_fail() -> None:
    with a_daemon() as daemon:
        daemon.kill()
        with a_false_daemon(journals_of(daemon), silence):
            results = [daemon.run(*words, check=False) for words in (["ps"], ["ps", "--json"], ["dump", "--json"])]

    for result in results:
        assert result.returncode == 1  # nobody reports
        assert "(looked in " in result.stderr
        assert re.search(r"daemon\.sock: gave no answer within (1|0\.\d+) s", result.stderr)
