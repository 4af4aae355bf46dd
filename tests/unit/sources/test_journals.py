"""Finding journals: each is handed out once, links and others' files are left alone, changes are noticed."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from ttmem.sources import Journals, Places, Roots

NAME = "12-34-0123abcd.journal"


def journals_in(directory: Path) -> Journals:
    """Without a rest after a scan that took long: on a busy machine any of them may."""
    return Journals(Places(uid=os.geteuid(), directory=str(directory)), cpu_clock=lambda: 0.0)


def names(found: list[object]) -> list[str]:
    return sorted(os.path.basename(journal.path) for journal in found)  # type: ignore[attr-defined]


def test_a_journal_is_handed_out_once(tmp_path: Path) -> None:
    journals = journals_in(tmp_path)
    (tmp_path / NAME).touch()
    facts = os.stat(tmp_path / NAME)

    [found] = journals.scan()

    assert (found.path, found.device, found.inode) == (str(tmp_path / NAME), facts.st_dev, facts.st_ino)
    assert journals.scan() == []


def test_journals_that_come_in_quick_succession_are_all_found(tmp_path: Path) -> None:
    journals = journals_in(tmp_path)
    found = []
    for number in range(200):  # many within one step of the file system's clock
        (tmp_path / f"{number}-1-00000000.journal").touch()
        found += journals.scan()

    assert len(found) == 200


def test_a_directory_that_did_not_change_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.utime(tmp_path, (1_000_000, 1_000_000))
    journals = journals_in(tmp_path)
    journals.scan()
    reads: list[object] = []
    monkeypatch.setattr(os, "scandir", reads.append)

    journals.scan()

    assert reads == []


def test_only_regular_files_with_the_right_name_are_journals(tmp_path: Path) -> None:
    for name in (f".{NAME}", "notes.txt", "x.journal.bak"):
        (tmp_path / name).touch()
    (tmp_path / "folder.journal").mkdir()
    os.mkfifo(tmp_path / "pipe.journal")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / NAME).touch()
    os.symlink(tmp_path / "elsewhere" / NAME, tmp_path / "link.journal")

    assert journals_in(tmp_path).scan() == []


def test_a_second_name_of_the_same_file_is_not_a_second_journal(tmp_path: Path) -> None:
    journals = journals_in(tmp_path)
    (tmp_path / NAME).touch()
    os.link(tmp_path / NAME, tmp_path / "99-1-00000000.journal")

    assert len(journals.scan()) == 1


def test_a_new_file_with_the_inode_of_a_removed_one_is_new(tmp_path: Path) -> None:
    journals = journals_in(tmp_path)
    first, second = tmp_path / NAME, tmp_path / "99-1-00000000.journal"
    first.touch()
    journals.scan()
    os.rename(first, second)  # the file system gives the old inode to a new name

    assert names(list(journals.scan())) == [second.name]


def test_a_directory_that_comes_later_is_noticed(tmp_path: Path) -> None:
    journals = journals_in(tmp_path / "later")
    assert journals.scan() == []
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / NAME).touch()

    assert names(list(journals.scan())) == [NAME]


def test_a_directory_that_is_a_link_is_ignored_with_a_finding(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / NAME).touch()
    os.symlink(tmp_path / "real", tmp_path / "link")
    journals = journals_in(tmp_path / "link")

    assert journals.scan() == []
    assert [finding.name for finding in journals.findings] == ["directory_ignored"]
    journals.scan()
    assert len(journals.findings) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_than_its_name_says_is_ignored_with_a_finding(tmp_path: Path) -> None:
    squatted = tmp_path / "ttmem-1000"
    squatted.mkdir()
    (squatted / NAME).touch()
    os.chown(squatted, 4242, 4242)
    roots = Roots(shm=str(tmp_path), run=str(tmp_path / "run"))
    journals = Journals(Places(uid=1000, roots=roots))

    assert journals.scan() == []
    [finding] = journals.findings
    assert "belongs to uid 4242, not to uid 1000" in finding.text


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder every user may look into, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_what_another_user_does_not_let_us_read_is_foreign(open_folder: Path) -> None:
    theirs, mine = open_folder / "ttmem-1000", open_folder / "ttmem-4242"
    for directory, uid in ((theirs, 1000), (mine, 4242)):
        directory.mkdir(mode=0o700)
        (directory / NAME).touch()
        os.chown(directory, uid, uid)
        os.chown(directory / NAME, uid, uid)

    journals = seen_by(4242, Roots(*map(str, (open_folder, open_folder / "run", open_folder / "proc"))))

    assert journals == [NAME, f"foreign {theirs} 1000"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs a second user")
def test_a_journal_that_may_not_be_read_is_foreign_though_its_directory_may(open_folder: Path) -> None:
    mine = open_folder / "ttmem-4242"
    mine.mkdir(mode=0o755)
    os.chown(mine, 4242, 4242)
    (mine / NAME).touch(mode=0o600)

    journals = seen_by(4242, Roots(*map(str, (open_folder, open_folder / "run", open_folder / "proc"))))

    assert journals == [f"foreign {mine} 0"]


def seen_by(uid: int, roots: Roots) -> list[str]:
    """What a scan shows to a user, asked in a child: root may read everything."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            journals = Journals(Places(uid=uid, roots=roots))
            lines = names(list(journals.scan()))
            lines += [f"foreign {row.path} {row.uid}" for row in journals.foreign]
            os.write(write, "\n".join(lines).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text.splitlines()
