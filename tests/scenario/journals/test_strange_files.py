"""What lies in a journals' directory and is no journal at all, and what belongs to somebody else."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.journals.bad_journals import (
    READERS,
    AnyReader,
    CollectorReader,
    NativeReader,
    Sample,
    a_healthy_process,
    assert_unharmed,
)
from tests.support.journals.reporters import Nursery
from tests.support.processes.programs import command_of
from ttmem._native import testing
from ttmem.collector import Collector
from ttmem.sources import Places, Roots

NAME = "4000-77-0123abcd.journal"
NOBODY, SOMEBODY = 65_534, 12_345
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root can make files that are another user's")


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest, nursery: Nursery, journals: Path) -> Iterator[AnyReader]:
    healthy = a_healthy_process(nursery, journals)
    reader = READERS[request.param](journals)
    yield reader
    reader.close()
    healthy.kill()


@pytest.fixture
def public_directory() -> Iterator[Path]:
    """One that any user may enter and read."""
    directory = Path(tempfile.mkdtemp(prefix="ttmem-public-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


def names_of(reader: AnyReader) -> list[str]:
    """Every file that a reader complains about, however often."""
    look = reader.look()
    assert_unharmed(look)
    return sorted([*look.damaged.elements(), *(path for _, path in look.findings if path not in look.damaged)])


def as_another_user(directory: Path, uid: int) -> dict[str, Any]:
    command = command_of("journals.seen_by_another_user", str(directory), str(uid))
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


STRANGERS: dict[str, Callable[[Path, Sample], object]] = {
    "pipe": lambda path, sample: os.mkfifo(path),
    "directory": lambda path, sample: path.mkdir(),
    "link to nowhere": lambda path, sample: path.symlink_to("nowhere"),
    "link to itself": lambda path, sample: path.symlink_to(path.name),
    "link to a journal": lambda path, sample: link_to_a_journal(path, sample),
    "link to endless zeros": lambda path, sample: path.symlink_to("/dev/zero"),
}


def link_to_a_journal(path: Path, sample: Sample) -> None:
    elsewhere = path.with_suffix(".elsewhere")
    sample.put(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.parametrize("what", STRANGERS)
def test_what_is_no_file_is_never_waited_for_and_named_once(
    reader: AnyReader, journals: Path, sample: Sample, what: str
) -> None:
    STRANGERS[what](journals / NAME, sample)
    names_of(reader)

    assert names_of(reader) == [str(journals / NAME)]


@pytest.mark.parametrize("name", [b"\xff\xfe.journal", b"\x1b[31m\n.journal", b"x" * 247 + b".journal"])
def test_a_file_may_have_any_name(reader: AnyReader, journals: Path, sample: Sample, name: bytes) -> None:
    path = os.path.join(os.fsencode(journals), name)
    with open(path, "wb") as file:
        file.write(bytes(len(sample.content)))

    [named] = names_of(reader)

    assert named == os.fsencode(path).decode("utf-8", "replace")


@is_root
def test_a_journal_of_another_user_that_may_be_read_is_read(reader: AnyReader, journals: Path, sample: Sample) -> None:
    path = journals / NAME
    sample.put(path)
    os.chown(path, SOMEBODY, SOMEBODY)
    path.chmod(0o600)

    look = reader.look()

    assert_unharmed(look)
    assert (look.damaged, look.states[str(path)]) == ({}, "ended")
    rows = testing.flat_rows(reader.ledger if isinstance(reader, NativeReader) else reader.collector.ledger)
    assert {row["uid"] for row in rows["processes"] if row["path"] == str(path)} == {SOMEBODY}


@is_root
def test_a_journal_of_another_user_that_may_not_be_read_is_foreign_and_no_error(
    public_directory: Path, sample: Sample
) -> None:
    path = public_directory / NAME
    sample.put(path)
    path.chmod(0o600)

    seen = as_another_user(public_directory, NOBODY)

    assert seen == {"foreign": [[str(public_directory), 0]], "damaged": [], "processes": []}


@is_root
def test_a_directory_that_may_not_be_read_is_one_foreign_row(public_directory: Path, sample: Sample) -> None:
    for number in range(3):
        sample.put(public_directory / f"{number}-1-00000000.journal")
    public_directory.chmod(0o700)

    seen = as_another_user(public_directory, NOBODY)

    assert seen == {"foreign": [[str(public_directory), 0]], "damaged": [], "processes": []}


@is_root
def test_an_own_journal_that_may_not_be_read_is_named(public_directory: Path, sample: Sample) -> None:
    path = public_directory / NAME
    sample.put(path)
    os.chown(path, NOBODY, NOBODY)
    path.chmod(0o000)

    seen = as_another_user(public_directory, NOBODY)

    [(named, text)] = seen["damaged"]
    assert (named, seen["foreign"], seen["processes"]) == (str(path), [], [])
    assert "Permission denied" in text


@is_root
def test_a_directory_that_is_not_its_names_owners_is_ignored_with_one_finding(tmp_path: Path, nursery: Nursery) -> None:
    mine, false, true = (tmp_path / f"ttmem-{uid}" for uid in (0, SOMEBODY, NOBODY))
    healthy = []
    for directory, owner in ((mine, 0), (false, NOBODY), (true, NOBODY)):
        directory.mkdir(mode=0o700)
        healthy.append(a_healthy_process(nursery, directory))
        os.chown(directory, owner, owner)
    none = tmp_path / "none"
    none.mkdir()
    roots = Roots(shm=str(tmp_path), run=str(none), proc=str(none))
    collector = Collector(Places(uid=0, roots=roots))
    collector.tick()
    collector.tick()

    snapshot = collector.snapshot()

    for process in healthy:
        process.kill()
    assert [(finding.name, finding.path) for finding in snapshot.findings] == [("directory_ignored", str(false))]
    assert {os.path.dirname(process.path) for process in snapshot.processes} == {str(mine), str(true)}


def test_a_bad_file_that_was_named_is_not_named_again_by_later_looks(journals: Path, nursery: Nursery) -> None:
    healthy = a_healthy_process(nursery, journals)
    (journals / NAME).write_bytes(b"nonsense")
    reader = CollectorReader(journals)
    for _ in range(20):
        look = reader.look()
        os.utime(journals)  # so that every look reads the directory again
    reader.close()
    healthy.kill()

    assert look.damaged == {str(journals / NAME): 1}
