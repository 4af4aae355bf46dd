"""Journals of processes that have ended: what a header says of one is shown only where no living process is meant."""

import os
import struct
from pathlib import Path

import pytest

from tests.support.journals.bad_journals import IDENTITY, Sample
from tests.support.journals.forgeries import FORGER_UID, VICTIM_UID, forge, name_in, needs_two_users, somebody
from tests.support.journals.reporters import Nursery
from tests.support.journals.watching import Row, Watch
from tests.support.processes.children import IN_A_CONTAINER, Actor
from tests.support.processes.permitted import needs_chosen_pids, needs_containers
from tests.support.timing.waiting import wait_until
from ttmem.sources.procfs import stat_of

CHIP = 0x77
FACTS = (0, "wormhole_b0", "FAKE", (8, 8), (12, 64), (12 << 30, *[0] * 9), 0)
NAME = "4000-77-0123abcd.journal"
FOREIGN_NAMESPACE = 0xF00D
ROOT = str(Path(__file__).parents[3])
HOLD = f"import ttmem; chip = ttmem.open_device({CHIP}); handle = ttmem.report_buffer_alloc(chip, 7, 4096)"

# The next process there gets the pid of one that has reported and ended.
REUSED = """
import os, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.support.processes.children import Actor
from tests.support.journals.watching import Watch
directory = Path({journals!r})
first = Actor(directory)
first.do({hold!r})
first.end()
def reuse():
    Path("/proc/sys/kernel/ns_last_pid").write_text(str(first.pid - 1))
    return Actor(directory, TTMEM="0")
def ended(watch):
    rows = watch.come_to_rest()["processes"]
    return [(row["state"], row["pid"], row["uid"], row["reason"], row["findings"]) for row in rows]
"""


@pytest.fixture(scope="module")
def sample(nursery: Nursery, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """Of a process that described a chip and held something on it."""
    reporter = nursery.start(tmp_path_factory.mktemp("sample"), TTMEM_TABLE="64", TTMEM_RING="64")
    chip = reporter.call("open_device", CHIP, *FACTS)
    reporter.call("report_buffer_alloc", chip, 1, 4096)
    reporter.kill()
    return Sample(Path(reporter.journal).read_bytes())


def claim(path: Path, pid: int, start_ticks: int, *, pid_namespace: int | None = None) -> None:
    """Writes a living process into a header, with another start time, and more that is not true."""
    name_in(path, pid, pid_namespace=pid_namespace)
    fields = {
        "start_ticks": struct.pack("<Q", start_ticks),
        "uid": struct.pack("<I", 0),
        "command": b"victim --serve\0",
    }
    with path.open("r+b") as file:
        for name, value in fields.items():
            os.pwrite(file.fileno(), value, IDENTITY[name][0])


def only_row(watch: Watch) -> Row:
    rows: list[Row] = watch.come_to_rest()["processes"]
    [row] = rows
    return row


def assert_nobodys(watch: Watch, pid: int) -> None:
    """Listed as ended under no pid, with the file's owner; it describes no chip and is counted nowhere."""
    row = only_row(watch)
    assert (row["state"], row["pid"], row["start_ticks"], row["visible"]) == ("ended", 0, 0, False)
    assert (row["uid"], row["reason"], row["findings"]) == (FORGER_UID, "unverified", {})
    assert watch.collector.ledger.process(pid, 0, 10) == {}
    assert {device["board"] for device in watch.rows()["devices"]} <= {""}
    snapshot = watch.collector.snapshot()
    assert (snapshot.reason, snapshot.findings) == ("", ())
    assert watch.collector.ledger.lifetime()[0] == ()


@needs_two_users
@pytest.mark.parametrize("ticks", ["none", "another's", "the victim's"])
@pytest.mark.parametrize("namespace", [None, FOREIGN_NAMESPACE])
def test_a_dead_journal_that_names_another_living_process_shows_no_pid(
    journals: Path, sample: Sample, watch: Watch, ticks: str, namespace: int | None
) -> None:
    forged = forge(journals / NAME, sample, owner_uid=FORGER_UID)
    with somebody(VICTIM_UID) as victim:
        stat = stat_of(victim.pid)
        assert stat is not None
        start_ticks = {"none": 0, "another's": stat.start_ticks + 1, "the victim's": stat.start_ticks}[ticks]
        claim(forged, victim.pid, start_ticks, pid_namespace=namespace)

        assert_nobodys(watch, victim.pid)


@needs_two_users
def test_a_dead_journal_that_others_may_write_to_is_not_its_owners(
    journals: Path, sample: Sample, watch: Watch
) -> None:
    """As a link to a file that root lets everybody write to would be."""
    shared = forge(journals / NAME, sample, owner_uid=0)
    shared.chmod(0o666)
    row = only_row(watch)

    assert (row["state"], row["pid"], row["reason"]) == ("ended", 0, "unverified")
    assert {device["board"] for device in watch.rows()["devices"]} <= {""}


@needs_two_users
def test_the_user_of_an_ended_process_is_the_files_owner(journals: Path, sample: Sample, watch: Watch) -> None:
    forged = forge(journals / NAME, sample, owner_uid=FORGER_UID)
    with forged.open("r+b") as file:
        os.pwrite(file.fileno(), struct.pack("<I", VICTIM_UID), IDENTITY["uid"][0])
    row = only_row(watch)

    assert (row["state"], row["uid"]) == ("ended", FORGER_UID)


def test_an_ended_process_whose_pid_is_free_is_listed_with_it(nursery: Nursery, journals: Path, watch: Watch) -> None:
    reporter = nursery.start(journals)
    reporter.call("report_buffer_alloc", reporter.call("open_device", CHIP, *FACTS), 1, 4096)
    reporter.kill()
    row = only_row(watch)

    assert (row["state"], row["pid"], row["uid"], row["reason"]) == ("ended", reporter.pid, os.geteuid(), "")
    assert {device["board"] for device in watch.rows()["devices"]} == {"FAKE"}


@needs_containers
def test_the_pid_of_an_ended_process_of_a_container_is_marked(journals: Path, watch: Watch) -> None:
    """Its number counts there; here it is nobody's, or another's, which is not shown."""
    with Actor(journals, prefix=IN_A_CONTAINER) as container:
        container.do(HOLD)
    [row] = wait_until(lambda: watch.processes("ended"))

    assert row["visible"] is False
    assert row["pid"] == 0 or not Path(f"/proc/{row['pid']}").exists()


@needs_chosen_pids
def test_an_ended_process_whose_pid_has_been_given_away_is_listed_without_it(journals: Path) -> None:
    with Actor(journals, prefix=IN_A_CONTAINER, TTMEM="0") as container:
        container.do(REUSED.format(root=ROOT, journals=str(journals), hold=HOLD))
        container.do("second, watch = reuse(), Watch(directory)")

        assert container.ask("first.pid == second.pid")
        assert container.ask("ended(watch)") == [["ended", 0, os.geteuid(), "unverified", {}]]
        assert container.ask("watch.collector.snapshot().is_complete")
        container.do("second.end()")


@needs_chosen_pids
def test_a_pid_that_is_given_away_later_is_not_shown_any_more(journals: Path) -> None:
    with Actor(journals, prefix=IN_A_CONTAINER, TTMEM="0") as container:
        container.do(REUSED.format(root=ROOT, journals=str(journals), hold=HOLD) + "watch = Watch(directory)")

        assert container.ask("[row[:2] for row in ended(watch)] == [('ended', first.pid)]")
        container.do("sums = watch.collector.ledger.lifetime(); second = reuse()")
        assert container.ask("ended(watch)") == [["ended", 0, os.geteuid(), "unverified", {}]]
        assert container.ask("watch.collector.ledger.lifetime()[0] == sums[0] != ()")
        container.do("second.end()")
