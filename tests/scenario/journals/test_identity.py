"""Whose journal it is: what the kernel says counts, never what a header says."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.journals.bad_journals import SAMPLE_CHIP, Sample
from tests.support.journals.forgeries import FORGER_UID, VICTIM_UID, forge, name_in, needs_two_users, somebody
from tests.support.journals.reporters import Nursery
from tests.support.journals.watching import Row, Watch
from tests.support.processes.programs import command_of

NAME = "4000-77-0123abcd.journal"
FOREIGN_NAMESPACE = 0xF00D


@pytest.fixture
def forged(journals: Path, sample: Sample) -> Path:
    return forge(journals / NAME, sample, owner_uid=FORGER_UID)


def only_row(watch: Watch) -> Row:
    rows: list[Row] = watch.come_to_rest()["processes"]
    [row] = rows
    return row


def assert_unverified(watch: Watch, pid: int) -> None:
    """Listed under no pid, with a finding, and counted on no chip."""
    row = only_row(watch)
    assert (row["state"], row["pid"], row["visible"]) == ("live", 0, False)
    assert (row["uid"], row["reason"], row["findings"]["unverified"]) == (FORGER_UID, "unverified", 1)
    assert watch.process_used(row["key"], SAMPLE_CHIP) > 0
    assert watch.device_used(SAMPLE_CHIP) == 0
    assert watch.collector.ledger.process(pid, 0, 10) == {}


@needs_two_users
def test_a_journal_of_another_user_is_not_the_victims_though_the_victim_maps_it(forged: Path, watch: Watch) -> None:
    with somebody(VICTIM_UID, f"map:{forged}") as victim:
        name_in(forged, victim.pid)

        assert_unverified(watch, victim.pid)


@needs_two_users
@pytest.mark.parametrize("namespace", [None, FOREIGN_NAMESPACE])
def test_a_lock_without_a_named_holder_proves_nothing(forged: Path, watch: Watch, namespace: int | None) -> None:
    """An open file description lock has no holder that the kernel could name."""
    with somebody(VICTIM_UID) as victim, somebody(FORGER_UID, f"open_file_lock:{forged}"):
        name_in(forged, victim.pid, pid_namespace=namespace)

        assert_unverified(watch, victim.pid)


@needs_two_users
def test_a_journal_belongs_to_who_holds_its_lock_whatever_its_header_says(forged: Path, watch: Watch) -> None:
    with somebody(VICTIM_UID, f"map:{forged}") as victim, somebody(FORGER_UID, f"lock:{forged}") as forger:
        name_in(forged, victim.pid)
        row = only_row(watch)

        assert (row["pid"], row["uid"], row["reason"]) == (forger.pid, FORGER_UID, "")
        assert watch.device_used(SAMPLE_CHIP) > 0
        assert watch.collector.ledger.process(victim.pid, 0, 10) == {}


@needs_two_users
def test_a_victim_that_was_made_to_lock_a_file_does_not_own_it(forged: Path, watch: Watch) -> None:
    """Programs lock files of others, such as mailboxes: but they do not map them as journals."""
    with somebody(VICTIM_UID, f"lock:{forged}") as victim:
        name_in(forged, victim.pid)

        assert_unverified(watch, victim.pid)


@needs_two_users
def test_a_file_that_others_may_write_proves_nothing(journals: Path, sample: Sample, watch: Watch) -> None:
    shared = forge(journals / NAME, sample, owner_uid=VICTIM_UID)
    shared.chmod(0o666)
    with somebody(VICTIM_UID, f"map:{shared}") as victim:
        name_in(shared, victim.pid)
        row = only_row(watch)

        assert (row["pid"], row["reason"]) == (0, "unverified")


@needs_two_users
def test_the_same_inode_number_on_another_tmpfs_is_another_file(sample: Sample, tmp_path: Path) -> None:
    """In a mount namespace with two fresh file systems, whose inode numbers begin alike."""
    content = tmp_path / "content"
    sample.put(content)
    command = ["unshare", "--mount", *command_of("journals.two_file_systems", str(tmp_path), str(content))]
    done = subprocess.run(command, capture_output=True, text=True)
    if "NOT TESTED" in done.stderr:
        pytest.skip(done.stderr)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"same_inode": True, "other_device": True, "states": ["ended"]}


@needs_two_users
def test_a_journal_that_root_made_belongs_to_the_process_that_gave_its_rights_up(
    journals: Path, sample: Sample, watch: Watch
) -> None:
    made_by_root = forge(journals / NAME, sample, owner_uid=0)
    with somebody(VICTIM_UID, f"map:{made_by_root}") as process:
        name_in(made_by_root, process.pid)
        row = only_row(watch)

        assert (row["pid"], row["uid"], row["reason"]) == (process.pid, VICTIM_UID, "")
        assert row["findings"] == {"lock_lost": 1}


@needs_two_users
def test_a_forged_journal_takes_no_figures_from_a_process_that_reports_by_itself(
    nursery: Nursery, journals: Path, forged: Path, watch: Watch
) -> None:
    honest = nursery.start(journals)
    honest.call("report_buffer_alloc", honest.open_device(0xBEEF), 1, 4096)
    with somebody(FORGER_UID, f"open_file_lock:{forged}"):
        name_in(forged, honest.pid)
        rows = watch.come_to_rest()
        honest_row = next(row for row in rows["processes"] if row["pid"] == honest.pid)

        assert [row["pid"] for row in rows["processes"] if row["path"] == str(forged)] == [0]
        assert watch.process_used(honest_row["key"], 0xBEEF) == 4096
        assert watch.device_used(SAMPLE_CHIP) == 0
    honest.kill()


def test_an_own_journal_stays_verified(nursery: Nursery, journals: Path, watch: Watch) -> None:
    honest = nursery.start(journals)
    honest.call("report_buffer_alloc", honest.open_device(0xBEEF), 1, 4096)
    row = watch.process(honest.pid)
    honest.kill()

    assert (row["reason"], row["uid"], row["findings"]) == ("", os.geteuid(), {})
