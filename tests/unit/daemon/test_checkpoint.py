"""The checkpoint: what is kept comes back, what is damaged does not, and nothing of it is fatal."""

import os
from pathlib import Path

import pytest

from tests.support.server.server_bytes import alloc
from tests.support.server.server_serving import an_engine
from ttmem import _native
from ttmem.daemon.checkpoint import Checkpoint


class Memory:
    """Stands for a ledger."""

    def __init__(self, *kept: bytes | None) -> None:
        self.kept = list(kept)
        self.restored: list[bytes] = []

    def checkpoint(self) -> bytes | None:
        return self.kept.pop(0) if self.kept else None

    def restore(self, checkpoint: bytes, /) -> tuple[int, str]:
        self.restored.append(checkpoint)
        return (0, "made up") if checkpoint == b"bad" else (2, "")


def a_checkpoint(path: Path, memory: Memory, said: list[str]) -> Checkpoint:
    return Checkpoint(str(path), memory, say=said.append)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "daemon.checkpoint"


def test_what_was_stored_comes_back(path: Path) -> None:
    said: list[str] = []
    a_checkpoint(path, Memory(b"\0balances\n"), said).write()
    memory = Memory()
    checkpoint = a_checkpoint(path, memory, said)

    checkpoint.restore()

    assert memory.restored == [b"\0balances\n"]
    assert checkpoint.facts()["restored"] == 2
    assert said == []


def test_only_its_owner_may_read_it_and_nothing_else_is_left(path: Path) -> None:
    before = os.umask(0)
    try:
        a_checkpoint(path, Memory(b"x"), []).write()
    finally:
        os.umask(before)

    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(path.parent) == [path.name]


def test_nothing_is_written_when_nothing_changed(path: Path) -> None:
    checkpoint = a_checkpoint(path, Memory(b"x", None, b"y"), [])
    checkpoint.write()
    first = path.stat().st_ino
    checkpoint.write()
    assert path.stat().st_ino == first
    checkpoint.write()
    assert path.read_bytes() == b"y"


def test_no_checkpoint_is_no_fault(path: Path) -> None:
    said: list[str] = []
    a_checkpoint(path, Memory(), said).restore()

    assert said == []


def test_one_that_the_ledger_refuses_is_said_and_set_aside(path: Path) -> None:
    said: list[str] = []
    a_checkpoint(path, Memory(b"bad"), said).write()
    a_checkpoint(path, Memory(), said).restore()

    assert not path.exists()
    assert path.with_name(f"{path.name}.damaged").read_bytes() == b"bad"
    assert said == [f"{path}: the checkpoint is not used: made up; it is moved to {path}.damaged"]


def test_a_link_is_not_followed(path: Path) -> None:
    said: list[str] = []
    target = path.with_name("elsewhere")
    a_checkpoint(target, Memory(b"balances"), said).write()
    path.symlink_to(target)
    memory = Memory()

    a_checkpoint(path, memory, said).restore()

    assert memory.restored == []
    assert len(said) == 1


def test_what_could_not_be_written_is_written_later(path: Path) -> None:
    said: list[str] = []
    place = path.parent / "later" / path.name
    checkpoint = a_checkpoint(place, Memory(b"balances"), said)
    checkpoint.write()
    checkpoint.write()
    assert len(said) == 1
    assert checkpoint.facts()["error"]
    assert checkpoint.trouble.startswith(
        f"{place}: the checkpoint cannot be written (No such file or directory): what "
    )

    place.parent.mkdir()
    checkpoint.write()

    assert place.read_bytes().endswith(b"balances")
    assert (checkpoint.facts()["error"], checkpoint.trouble) == (None, "")


def a_kept_ledger() -> bytes:
    """The checkpoint of a real ledger that one client, this process, reports to."""
    with an_engine() as engine, engine.line() as line:
        line.say(alloc(1, 4096))
        line.counters()  # answered once all before it was heard
        kept = engine.ledger.checkpoint()
    assert kept is not None
    return kept


def test_a_byte_that_changed_anywhere_is_noticed() -> None:
    kept = a_kept_ledger()
    bent = (kept[:at] + bytes([kept[at] ^ 0x41]) + kept[at + 1 :] for at in range(len(kept)))

    assert _native.Ledger().restore(kept) == (1, "")
    assert [at for at, one in enumerate(bent) if _native.Ledger().restore(one)[1] == ""] == []


def test_a_checkpoint_of_an_older_version_is_set_aside_in_one_sentence(path: Path) -> None:
    kept = bytearray(a_kept_ledger())
    kept[8:12] = (1).to_bytes(4, "little")
    path.write_bytes(kept)
    said: list[str] = []

    Checkpoint(str(path), _native.Ledger(), say=said.append).restore()

    why = "it is of version 1, this program reads version 2"
    assert said == [f"{path}: the checkpoint is not used: {why}; it is moved to {path}.damaged"]
