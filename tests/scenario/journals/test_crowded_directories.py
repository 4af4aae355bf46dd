"""Directories full of files that are no journals: no journal is hidden by them, and nobody is kept busy."""

import ctypes
import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.journals.crowds import SOMEBODY, always_changing, junk
from tests.support.journals.reporters import Nursery
from tests.support.processes.children import Writer
from tests.support.processes.native_programs import NativePrograms
from tests.support.server.server_serving import Daemon, a_daemon
from tests.support.timing.waiting import wait_until
from ttmem.collector import Collector
from ttmem.sources import Journals, Places, Roots

CHIP = 0x1A2B
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can make files that are another user's")


def journals_in(directory: Path) -> Journals:
    return Journals(Places(uid=os.geteuid(), directory=str(directory)))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with open(path, "w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


def test_of_files_without_a_holder_a_limited_number_of_a_user_is_handed_out_at_once(tmp_path: Path) -> None:
    junk(tmp_path, 1500)
    journals = journals_in(tmp_path)

    assert len(journals.scan()) == 1024
    assert [finding.count for finding in journals.findings] == [476]
    assert len(journals.scan(is_hurried=True)) == 476
    assert journals.findings == ()


def test_every_file_whose_lock_is_held_is_handed_out_at_once(tmp_path: Path) -> None:
    junk(tmp_path, 1500)
    with locked(tmp_path / "a.journal"), locked(tmp_path / "zz.journal"):
        found = {os.path.basename(journal.path) for journal in journals_in(tmp_path).scan()}

    assert {"a.journal", "zz.journal"} <= found
    assert len(found) <= 1024 + 2


@is_root
def test_one_users_files_take_no_place_of_anothers(tmp_path: Path) -> None:
    junk(tmp_path, 1500, uid=SOMEBODY)
    for at in range(20):
        (tmp_path / f"own-{at}.journal").touch()
    found = [os.path.basename(journal.path) for journal in journals_in(tmp_path).scan()]

    assert sum(name.startswith("own-") for name in found) == 20
    assert len(found) == 1024 + 20


def test_a_hundred_files_that_are_no_journals_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    for at in range(150):
        os.mkfifo(tmp_path / f"{at}.journal")
    journals = journals_in(tmp_path)
    journals.scan()
    *named, rest = journals.findings

    assert len({finding.path for finding in named}) == 100
    assert (rest.count, rest.path) == (50, str(tmp_path))
    assert f"and 50 more links, pipes or directories of uid {os.geteuid()}" in rest.text


def test_a_hundred_broken_journals_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    junk(tmp_path, 150)
    collector = Collector(Places(uid=os.geteuid(), directory=str(tmp_path)))
    collector.tick()
    *named, rest = collector.snapshot().damaged

    assert len({finding.path for finding in named}) == 100
    assert (rest.path, rest.text) == (
        str(tmp_path),
        f"and 50 more of uid {os.geteuid()} that were no sound journals either",
    )


@is_root
def test_a_hundred_directories_under_others_names_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    for uid in range(1000, 1150):
        (tmp_path / f"ttmem-{uid}").mkdir()
        os.chown(tmp_path / f"ttmem-{uid}", SOMEBODY, SOMEBODY)
    (tmp_path / "proc").mkdir()
    roots = Roots(*(str(tmp_path / name) for name in (".", "run", "proc")))
    journals = Journals(Places(uid=0, roots=roots))
    journals.scan()
    *named, rest = journals.findings

    assert (len(named), rest.count) == (100, 50)
    assert f"and 50 more directories of uid {SOMEBODY}" in rest.text


@pytest.mark.slow
def test_fifty_thousand_files_of_another_user_cost_little_and_hide_nothing(
    programs: NativePrograms, journals: Path
) -> None:
    (journals / "j").mkdir()
    journals.chmod(0o755)
    with Writer(programs, journals / "j") as writer:
        writer.ask(f"alloc {writer.ask(f'open {CHIP}')} 1 12345 0")
        junk(journals / "j", 50_000, uid=SOMEBODY if os.geteuid() == 0 else None)
        with a_daemon(directory=journals) as daemon, always_changing(journals / "j"):
            assert used(daemon) == {writer.pid: 12345}
            share = share_of_a_core(daemon, seconds=10)
            with Writer(programs, journals / "j") as second:
                second.ask(f"alloc {second.ask(f'open {CHIP}')} 1 777 0")
                wait_until(lambda: used(daemon) == {writer.pid: 12345, second.pid: 777})

    assert share < 0.08  # of which up to 0.02 go to a daemon that has nothing to do, and 0.05 to one user


def used(daemon: Daemon) -> dict[int, int]:
    rows = [row for row in daemon.document()["processes"] if row["state"] == "live"]
    return {row["pid"]: sum(one["memory"]["dram"]["used_bytes"] for one in row["devices"]) for row in rows}


def share_of_a_core(daemon: Daemon, *, seconds: float) -> float:
    """CPU time over time, of everything a daemon does."""
    began, spent = time.monotonic(), cpu_seconds(daemon.pid)
    threading.Event().wait(seconds)  # what is measured takes time
    return (cpu_seconds(daemon.pid) - spent) / (time.monotonic() - began)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_program_that_starts_among_many_files_opens_none_of_others(nursery: Nursery, journals: Path) -> None:
    """It looks for dead journals to clear away; the kernel counts what is opened in the directory."""
    junk(journals, 2000, uid=SOMEBODY if os.geteuid() == 0 else None)
    left = nursery.start(journals)
    left.kill()
    with opened_in(journals) as names:
        reporter = nursery.start(journals)
        reporter.kill()

    assert {name for name in names if name.endswith("-1-0000abcd.journal")} == set()
    assert "" in names  # the directory itself, which it lists
    assert os.path.exists(left.journal)


IN_OPEN = 0x20


@contextmanager
def opened_in(directory: Path) -> Iterator[list[str]]:
    """The names of all files that are opened there, complete when the block is left."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    assert watch >= 0
    names: list[str] = []
    try:
        assert libc.inotify_add_watch(watch, os.fsencode(directory), IN_OPEN) >= 0
        yield names
        with suppress(BlockingIOError):
            while data := os.read(watch, 1 << 20):
                while data:
                    length = int.from_bytes(data[12:16], "little")
                    names.append(data[16 : 16 + length].rstrip(b"\0").decode())
                    data = data[16 + length :]
    finally:
        os.close(watch)
