"""What is no recording, or has nothing in it, gets one sentence and one exit code, whichever verb is asked."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes.inside import ttmem_inside

PROGRAM = """
import ttmem
chip = ttmem.open_device(0x61)
for number in range(3):
    ttmem.report_buffer_alloc(chip, number, 1 << 20)
"""
VERBS: dict[str, tuple[str, ...]] = {
    "report": ("report", "{wrong}"),
    "leaks": ("report", "{wrong}", "--leaks"),
    "explain": ("explain", "{wrong}"),
    "export": ("export", "{wrong}", "--to", "csv", "-o", "{out}"),
    "replay": ("top", "--replay", "{wrong}"),
    "diff-before": ("diff", "{wrong}", "{right}"),
    "diff-after": ("diff", "{right}", "{wrong}"),
}


def nothing(place: Path, right: Path) -> None:
    """No such name."""


def a_file(place: Path, right: Path) -> None:
    place.write_text("text")


def an_empty_directory(place: Path, right: Path) -> None:
    place.mkdir()


def another_version(place: Path, right: Path) -> None:
    place.mkdir()
    (place / "meta.json").write_text(json.dumps({"format": 99}))


def another_meta(place: Path, right: Path) -> None:
    place.mkdir()
    (place / "meta.json").write_text('{"for')


def without_events(place: Path, right: Path) -> None:
    shutil.copytree(right.with_name("idle.ttmem"), place)


def cut(place: Path, right: Path) -> None:
    """In the head of its first block."""
    shutil.copytree(right, place)
    [segment] = place.glob("0*")
    segment.write_bytes(segment.read_bytes()[:10])


def flipped(place: Path, right: Path) -> None:
    """One bit of its first block."""
    shutil.copytree(right, place)
    [segment] = place.glob("0*")
    content = bytearray(segment.read_bytes())
    content[120] ^= 1
    segment.write_bytes(content)


SITUATIONS: list[tuple[Callable[[Path, Path], None], int, str]] = [
    (nothing, 2, "found nothing of that name"),
    (a_file, 2, ""),  # explain takes journals, too, and says so
    (an_empty_directory, 2, "expected a directory with meta.json, found none in it"),
    (another_version, 2, "has version 99 of the format, this ttmem reads version"),
    (another_meta, 2, "expected what describes a recording, found something else"),
    (without_events, 1, "expected a program that uses a device, found none; record one with"),
    (cut, 1, "expected a segment with a whole block, found none"),
    (flipped, 1, "record again"),
]


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of something, and beside it one of nothing."""
    place = tmp_path_factory.mktemp("recorded")
    environ = {**os.environ, "TTMEM_DIR": str(place)}
    for name, program in (("run", PROGRAM), ("idle", "")):
        command = [
            sys.executable,
            "-m",
            "ttmem",
            "record",
            "-o",
            str(place / name),
            "--",
            sys.executable,
            "-c",
            program,
        ]
        subprocess.run(command, env=environ, capture_output=True, check=True)
    return place / "run.ttmem"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("make", "code", "said"), SITUATIONS)
def test_what_is_no_recording_gets_one_sentence_and_one_exit_code(
    make: Callable[[Path, Path], None], code: int, said: str, verb: str, right: Path, journals: Path, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong"
    make(wrong, right)
    places = {"wrong": str(wrong), "right": str(right), "out": str(tmp_path / "out.csv")}
    arguments = [word.format(**places) for word in VERBS[verb]]

    done = ttmem_inside(*arguments, environ={**os.environ, "TTMEM_DIR": str(journals)})

    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr.count("\n") == 1
    assert (said in done.stderr) or (verb == "explain" and make is nothing)
    assert str(wrong) in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_a_name_for_what_is_written_is_refused_alike(right: Path, journals: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(journals)}
    there = tmp_path / "there.csv"
    there.write_text("kept")
    (tmp_path / "there.ttmem").mkdir()

    def code(*arguments: str) -> int:
        return ttmem_inside(*arguments, environ=environ).returncode

    taken = code("export", str(right), "--to", "csv", "-o", str(there)), code("record", "-o", str(tmp_path / "there"))
    nowhere = (
        code("export", str(right), "--to", "csv", "-o", str(tmp_path / "no" / "out.csv")),
        code("record", "-o", str(tmp_path / "no" / "run"), "--for", "0.1s"),
    )

    assert (taken, nowhere) == ((2, 2), (1, 1))
    assert there.read_text() == "kept"
    assert not (tmp_path / "no").exists()
