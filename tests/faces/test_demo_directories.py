"""`ttmem demo` where something is missing: room for journals, somewhere to write to, whoever was to tidy up."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ttmem.cli.demonstration import directories
from ttmem.cli.demonstration.directories import JOURNAL_BYTES, own_directory, usual_places
from ttmem.cli.demonstration.process import demo_process
from ttmem.cli.demonstration.workload import Order
from ttmem.errors import TtmemError

DEMO = [sys.executable, "-m", "ttmem", "demo"]
QUICK = ["cb-clash", "--speed", "max", "--steps", "1"]


def left_behind(directory: Path, age_seconds: float) -> Path:
    """What a killed demo leaves: its directory with a journal."""
    directory.mkdir(mode=0o700)
    (directory / "1-1-00000000.journal").write_bytes(b"x")
    long_ago = time.time() - age_seconds
    os.utime(directory, (long_ago, long_ago))
    return directory


def test_a_place_without_room_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full, roomy = tmp_path / "full", tmp_path / "roomy"
    full.mkdir()
    roomy.mkdir()
    monkeypatch.setattr(directories, "_free_bytes", {full: JOURNAL_BYTES - 1, roomy: JOURNAL_BYTES}.__getitem__)

    with own_directory(1, [full, roomy]) as directory:
        assert Path(directory).parent == roomy
    with pytest.raises(
        TtmemError, match=r"expected 32.0 MiB, found 16.0 MiB in .*full, 16.0 MiB in .*roomy; free some"
    ):
        own_directory(2, [full, roomy]).__enter__()
    assert not any(roomy.iterdir())


def test_a_place_that_is_not_there_has_no_room(tmp_path: Path) -> None:
    with own_directory(1, [tmp_path / "nowhere", tmp_path]) as directory:
        assert Path(directory).parent == tmp_path


def test_memory_comes_before_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/somewhere")
    assert usual_places() == [Path("/dev/shm"), Path("/somewhere"), Path("/var/tmp")]


def test_a_journal_takes_what_is_asked_for_it(tmp_path: Path) -> None:
    with demo_process(Order(name="cb-clash", round_count=1), directory=str(tmp_path)):
        [journal] = tmp_path.glob("*.journal")
        assert JOURNAL_BYTES * 0.9 < journal.stat().st_blocks * 512 <= JOURNAL_BYTES


def test_a_workload_that_cannot_report_is_not_watched() -> None:
    with (
        pytest.raises(TtmemError, match=r"could not begin a journal in /proc$"),
        demo_process(Order(name="cb-clash", round_count=1), directory="/proc"),
    ):
        pass


def test_what_a_killed_demo_left_is_swept_by_the_next(tmp_path: Path) -> None:
    dead = left_behind(tmp_path / "ttmem-demo-dead", 3600)
    others = left_behind(tmp_path / "ttmem-other", 3600)
    young = left_behind(tmp_path / "ttmem-demo-young", 0)
    elsewhere = left_behind(tmp_path / "elsewhere", 3600)
    (tmp_path / "ttmem-demo-link").symlink_to(elsewhere)

    with own_directory(1, [tmp_path]) as alive:
        os.utime(alive, (0, 0))
        with own_directory(1, [tmp_path]):
            assert os.path.isdir(alive)

    assert not dead.exists()
    assert others.exists()
    assert young.exists()
    assert (elsewhere / "1-1-00000000.journal").exists()
    assert not os.path.exists(alive)


def test_what_others_may_write_to_is_not_swept(tmp_path: Path) -> None:
    dead = left_behind(tmp_path / "ttmem-demo-dead", 3600)
    dead.chmod(0o777)

    with own_directory(1, [tmp_path]):
        assert dead.exists()


def test_output_that_cannot_be_written_is_shown_in_one_line() -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run([*DEMO, *QUICK], stdout=full, stderr=subprocess.PIPE, text=True)

    words = "ttmem: standard output cannot be written: No space left on device\n"
    assert (result.returncode, result.stderr) == (1, words)


@pytest.mark.parametrize("verb", ["demo", "ps", "dump"])
def test_a_closed_output_is_shown_in_one_line(verb: str) -> None:
    command = ["sh", "-c", f'exec "{sys.executable}" -m ttmem {verb} >&-']
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True)

    words = "ttmem: expected somewhere to write to, found standard output closed\n"
    assert (result.returncode, result.stderr) == (1, words)


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    picture = tmp_path / "nowhere" / "x.svg"
    result = subprocess.run([*DEMO, *QUICK, "--picture", str(picture)], capture_output=True, text=True)

    words = f"ttmem: Could not open file '{picture}': No such file or directory\n"
    assert (result.returncode, result.stdout, result.stderr) == (1, "", words)


@pytest.mark.slow
def test_a_picture_that_fails_at_last_costs_no_judgement() -> None:
    result = subprocess.run([*DEMO, *QUICK, "--picture", "/dev/full"], capture_output=True, text=True)

    assert result.returncode == 1
    assert "equal to the byte." in " ".join(result.stdout.split())
    assert result.stderr == "ttmem: Could not open file '/dev/full': No space left on device\n"


INTERRUPTED_EARLY = """\
import builtins, signal, sys
from ttmem.cli import main

def interrupted(name, *rest, load=builtins.__import__):
    if name == "click":
        builtins.__import__ = load
        signal.raise_signal(signal.SIGINT)
    return load(name, *rest)

builtins.__import__ = interrupted
main(["demo"])
"""


def test_an_interrupt_while_the_program_is_loaded_is_no_traceback() -> None:
    result = subprocess.run([sys.executable, "-c", INTERRUPTED_EARLY], capture_output=True, text=True)

    assert (result.returncode, result.stdout, result.stderr) == (130, "", "")
