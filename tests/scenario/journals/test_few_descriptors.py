"""More reporting processes than a viewer has descriptors: all are shown, with the right figures."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.faces.json_documents import opened
from tests.support.processes.children import Writer, state_of
from tests.support.processes.native_programs import NativePrograms
from tests.support.processes.programs import command_of
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import wait_until

CHIP = 0x1A2B
TTMEM = (sys.executable, "-m", "ttmem")
LIMITS = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"


def limited(count: int, *program: str, option: str = "") -> tuple[str, ...]:
    """A program that may have that many descriptors: no more, or with -S for the time being."""
    return ("sh", "-c", f'ulimit {option} -n {count} && exec "$@"', "sh", *program)


def ttmem(*arguments: str, directory: Path, descriptors: int) -> "subprocess.CompletedProcess[str]":
    command = limited(descriptors, *TTMEM, *arguments)
    return subprocess.run(
        command, env={**os.environ, "TTMEM_DIR": str(directory)}, capture_output=True, text=True, timeout=60
    )


def a_small_writer(programs: NativePrograms, directory: Path) -> Writer:
    """One whose journals are small: there will be hundreds."""
    return Writer(programs, directory, TTMEM_RING="16", TTMEM_TABLE="64")


def a_crowd(writer: Writer, count: int, chip: int) -> dict[int, int]:
    """Children that report by themselves: how much each of them holds, by its pid."""
    crowd = {writer.ask(f"fork {chip} 1 {4096 + at}"): 4096 + at for at in range(count)}
    assert len(crowd) == count
    return crowd


def held(document: Any) -> dict[int, int]:
    """By pid, what is held of DRAM by those that live."""
    rows = (row for row in document["processes"] if row["state"] == "live" and row["memory"].get("dram"))
    return {row["pid"]: sum(one["memory"]["dram"]["used_bytes"] for one in row["devices"]) for row in rows}


def shown(document: Any) -> tuple[dict[int, int], int, bool]:
    """What is held by whom, what all hold on the chip, and whether that is all."""
    [chip] = document["device_info"]
    return held(document), chip["memory"]["dram"]["used_bytes"], document["is_complete"]


def test_more_processes_than_descriptors_are_all_shown(programs: NativePrograms, journals: Path) -> None:
    with a_small_writer(programs, journals) as writer:
        crowd = a_crowd(writer, 60, writer.ask(f"open {CHIP}"))
        seen = ttmem("ps", "--json", directory=journals, descriptors=40)

    assert (seen.returncode, seen.stderr) == (0, "")
    assert shown(opened(json.loads(seen.stdout))) == (crowd, sum(crowd.values()), True)


def test_a_journal_that_is_read_in_turn_is_exact_whatever_happened_since(
    programs: NativePrograms, journals: Path
) -> None:
    """Its ring was overwritten, its process died, its file was removed."""
    with a_small_writer(programs, journals) as writer, a_viewer(journals, descriptors=40) as viewer:
        chip = writer.ask(f"open {CHIP}")
        expected = {pid: ("live", "", held) for pid, held in a_crowd(writer, 60, chip).items()}
        assert viewer.look() == {**expected, writer.pid: ("live", "", 0)}
        dead, removed, *_ = reversed(expected)  # found last, or among the last
        for pid in (dead, removed):
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: {state_of(dead), state_of(removed)} <= {"", "Z"})
        [file] = journals.glob(f"{removed}-*.journal")
        file.unlink()
        for _ in range(40):  # a ring has room for 16
            writer.ask(f"free {writer.ask(f'alloc {chip} 5 4096 0')}")
        writer.ask(f"alloc {chip} 6 777 0")
        seen = viewer.look()

    assert {seen.pop(dead)[0], seen.pop(removed)[0]} == {"ended"}
    assert seen == {pid: row for pid, row in expected.items() if pid in seen} | {writer.pid: ("live", "", 777)}
    assert len(seen) == 60 - 2 + 1


class Viewer:
    """A collector with few descriptors, that looks when it is asked to."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def look(self) -> dict[int, tuple[str, str, int]]:
        """Of every process: its state, why it is incomplete, and what it holds of one pool."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("look\n")
        self._process.stdin.flush()
        return {pid: (state, reason, used) for pid, state, reason, used in json.loads(self._process.stdout.readline())}


@contextmanager
def a_viewer(directory: Path, *, descriptors: int) -> Iterator[Viewer]:
    command = limited(descriptors, *command_of("journals.viewer", str(directory)))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Viewer(process)
        finally:
            process.kill()


@pytest.mark.slow
def test_a_daemon_with_few_descriptors_follows_all_and_their_deaths(programs: NativePrograms, journals: Path) -> None:
    (journals / "j").mkdir()
    with a_small_writer(programs, journals / "j") as writer:
        chip = writer.ask(f"open {CHIP}")
        crowd = a_crowd(writer, 300, chip)
        with a_daemon(program=limited(64, *TTMEM, "serve"), directory=journals) as daemon:
            wait_until(lambda: all_shown(daemon, crowd))
            for pid in [pid for at, pid in enumerate(crowd) if at % 10 == 3]:
                os.kill(pid, signal.SIGKILL)
                del crowd[pid]
            crowd |= a_crowd(writer, 10, chip)

            assert wait_until(lambda: all_shown(daemon, crowd))
            assert descriptors_of(daemon.pid) < 64
            assert "Traceback" not in daemon.text()


def all_shown(daemon: Daemon, crowd: dict[int, int]) -> bool:
    return shown(daemon.document()) == (crowd, sum(crowd.values()), True)


def descriptors_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def test_a_viewer_takes_all_descriptors_it_may_have(tmp_path: Path) -> None:
    """Whoever raises the limit later than that has nothing to raise: what is loaded then is told the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    code = (
        f"import sys, atexit; atexit.register(lambda: exec({LIMITS!r})); from ttmem.cli import main; main(sys.argv[1:])"
    )
    command = limited(64, sys.executable, "-c", code, "ps", option="-S")
    seen = subprocess.run(command, env={**os.environ, "TTMEM_DIR": str(tmp_path)}, capture_output=True, text=True)

    assert seen.stdout.splitlines()[-1] == f"{hard} {hard}"


def test_a_program_under_run_has_the_limits_that_run_was_given(tmp_path: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    command = limited(64, *TTMEM, "run", "--", sys.executable, "-c", LIMITS, option="-S")
    seen = subprocess.run(command, env={**os.environ, "TTMEM_DIR": str(tmp_path)}, capture_output=True, text=True)

    assert seen.stdout == f"64 {hard}\n"
