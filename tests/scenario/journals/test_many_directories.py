"""A user with thousands of directories for journals hides nothing and keeps nobody busy."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.journals.forgeries import FORGER_UID, VICTIM_UID, needs_two_users
from tests.support.journals.reporters import Nursery
from ttmem.collector import Collector
from ttmem.snapshot import Snapshot
from ttmem.sources import Journals, Places, Roots

FURTHER_MOST = 16
UID = os.geteuid()


@pytest.fixture
def roots(tmp_path: Path, journals: Path) -> Roots:
    """A system whose shared memory is the directory `journals`."""
    (tmp_path / "proc").mkdir()
    journals.chmod(0o755)
    return Roots(str(journals), str(tmp_path / "run"), str(tmp_path / "proc"))


def make_directories(shm: Path, count: int, *, uid: int = UID) -> list[Path]:
    """Directories that a user may have made as further places for its journals, in the order they are listed in."""
    made = [shm / f"ttmem-{uid}.{number:08x}" for number in range(count)]
    for directory in made:
        directory.mkdir(mode=0o700)
        os.chown(directory, uid, -1)
    return made


def further(journals: Journals) -> list[str]:
    return [path for path in journals.searched if "." in os.path.basename(path)]


def calls_of(monkeypatch: pytest.MonkeyPatch, *names: str) -> dict[str, int]:
    """How often functions of os are called from now on."""
    counts = dict.fromkeys(names, 0)

    def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            counts[name] += 1
            return real(*arguments, **named)

        return call

    for name in names:
        monkeypatch.setattr(os, name, counted(name, getattr(os, name)))
    return counts


def test_a_limited_number_of_directories_of_a_user_is_searched_and_the_rest_are_one_count(
    roots: Roots, journals: Path
) -> None:
    make_directories(journals, 1000)
    found = Journals(Places(uid=UID, roots=roots))
    found.scan()

    assert len(further(found)) == FURTHER_MOST
    [finding] = found.findings
    assert (finding.name, finding.count, finding.path) == ("directory_ignored", 1000 - FURTHER_MOST, str(journals))
    assert f"and 984 more directories of uid {UID} are not searched" in finding.text


def test_a_scan_asks_for_as_little_as_with_few_directories(
    roots: Roots, journals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_directories(journals, 1000)
    now = 0.0
    found = Journals(Places(uid=UID, roots=roots, clock=lambda: now))
    found.scan()
    counts = calls_of(monkeypatch, "lstat", "stat", "scandir", "listdir")
    found.scan()  # before anybody looks around again

    assert counts["lstat"] <= FURTHER_MOST + 5
    assert (counts["listdir"], counts["stat"]) == (0, 0)
    assert counts["scandir"] <= FURTHER_MOST + 5


def test_a_journal_whose_lock_is_held_is_shown_wherever_it_is(nursery: Nursery, roots: Roots, journals: Path) -> None:
    directories = make_directories(journals, 40)
    reporters = [nursery.start(directory) for directory in directories]
    ended = nursery.start(directories[-1])
    ended.kill()
    snapshot = look_at(roots)
    for reporter in reporters:
        reporter.kill()

    assert {process.pid for process in snapshot.live} == {reporter.pid for reporter in reporters}
    assert {process.path for process in snapshot.live} == {reporter.journal for reporter in reporters}
    assert [finding.name for finding in snapshot.findings] == ["directory_ignored"]


def look_at(roots: Roots) -> Snapshot:
    with Collector(Places(uid=UID, roots=roots)) as collector:
        collector.wait_settled()
        return collector.snapshot()


@needs_two_users
def test_what_may_not_be_read_of_a_user_is_a_limited_number_of_rows(roots: Roots, journals: Path) -> None:
    make_directories(journals, 1000, uid=FORGER_UID)

    def rows() -> list[int]:
        found = Journals(Places(uid=VICTIM_UID, roots=roots))
        found.scan()
        return [len(found.foreign), *(finding.count for finding in found.findings)]

    assert told_by(VICTIM_UID, rows) == [FURTHER_MOST, 1000 - FURTHER_MOST]


def told_by(uid: int, ask: Callable[[], Any]) -> Any:
    """What a function finds out as another user, in a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresuid(uid, uid, uid)
        os.write(writing, json.dumps(ask()).encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return json.loads(said)


@needs_two_users
def test_directories_of_a_user_in_several_places_are_counted_together(roots: Roots, journals: Path) -> None:
    """In containers as well, which see the same user."""
    make_directories(journals, 10, uid=FORGER_UID)
    proc = Path(roots.proc)
    a_process_in(proc, 1, "mnt:[1]")
    os.symlink(proc / "1", proc / "self")
    make_directories(a_process_in(proc, 50, "mnt:[2]"), 10, uid=FORGER_UID)
    found = Journals(Places(uid=0, roots=roots))
    found.scan()

    assert len(further(found)) == FURTHER_MOST
    assert [finding.count for finding in found.findings] == [20 - FURTHER_MOST]


def a_process_in(proc: Path, pid: int, namespace: str) -> Path:
    """A process of a mount namespace; returns its /dev/shm."""
    (proc / str(pid) / "ns").mkdir(parents=True)
    os.symlink(namespace, proc / str(pid) / "ns" / "mnt")
    shm = proc / str(pid) / "root" / "dev" / "shm"
    shm.mkdir(parents=True)
    return shm


class Clocks:
    """Time as a test lets it pass: to list some directories takes CPU, and everything may always have changed."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, costs: Callable[[str], float]) -> None:
        self.now = self.cpu = 0.0
        real = os.scandir

        def scandir(path: str) -> Any:
            self.cpu += costs(path)
            return real(path)

        monkeypatch.setattr(os, "scandir", scandir)

    def journals(self, roots: Roots) -> Journals:
        places = Places(uid=UID, roots=roots, clock=lambda: self.now)
        return Journals(places, clock_ns=lambda: 0, clock=lambda: self.now, cpu_clock=lambda: self.cpu)


def test_all_directories_of_a_user_together_get_a_small_part_of_the_time(
    roots: Roots, journals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directories = make_directories(journals, FURTHER_MOST)
    clocks = Clocks(monkeypatch, lambda path: 0.01)
    found = clocks.journals(roots)
    for _ in range(20 * 60):
        found.scan()
        clocks.now += 0.05

    assert len(further(found)) == len(directories)
    assert 0.01 < clocks.cpu / clocks.now < 0.05


@needs_two_users
def test_one_users_directories_do_not_delay_anothers(
    roots: Roots, journals: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [costly] = make_directories(journals, 1, uid=FORGER_UID)
    [cheap] = make_directories(journals, 1, uid=VICTIM_UID)
    clocks = Clocks(monkeypatch, lambda path: float(path == str(costly)))
    found = clocks.journals(roots)
    found.scan()
    for directory in (costly, cheap):
        (directory / "1-1-00000001.journal").touch()
    clocks.now += 1.0
    soon = [journal.path for journal in found.scan()]
    clocks.now += 30.0
    later = [journal.path for journal in found.scan()]

    assert (soon, later) == ([f"{cheap}/1-1-00000001.journal"], [f"{costly}/1-1-00000001.journal"])


def test_directories_that_are_gone_leave_nothing_behind(roots: Roots, journals: Path) -> None:
    now = [0.0]
    found = Journals(Places(uid=UID, roots=roots, clock=lambda: now[0]), clock=lambda: now[0])
    for round_number in range(3):
        for directory in make_directories(journals, 20):
            (directory / f"{round_number}-1-00000001.journal").touch()
        now[0] += 100.0
        assert len(found.scan()) == FURTHER_MOST
        for directory in journals.iterdir():
            for file in directory.iterdir():
                file.unlink()
            directory.rmdir()
        now[0] += 100.0
        found.scan()

        assert (found.searched, found.findings, list(found.files)) == ((), (), [])
