"""Names that are no UTF-8: cleaned where they enter, so that every answer can be written."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.machine.stock_regions import a_region, put
from tests.support.processes.programs import a_program
from ttmem.collector import Collector
from ttmem.figures import FigureSource
from ttmem.snapshot import Snapshot
from ttmem.snapshot.codec import decoded, encoded
from ttmem.sources import Places

ODD = os.fsdecode(b"caf\xe9")


def is_writable(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text


def test_a_directory_that_is_no_utf_8_is_shown_with_question_marks(tmp_path: Path) -> None:
    directory = tmp_path / ODD
    directory.mkdir()
    (directory / "no.journal").write_bytes(b"not one")
    lines = (
        "chip = ttmem.open_device(5, index=3)",
        "ttmem.report_buffer_alloc(chip, 1, 4096)",
        "meet()",
    )
    places = Places(uid=os.geteuid(), directory=str(directory), stock_directory=str(directory))
    put(directory, 0x55, a_region())
    with a_program(directory, *lines) as program, Collector(places) as collector:
        program.arrive()
        assert collector.wait_settled(5)
        snapshot = collector.snapshot()

    assert snapshot.places[0] == f"{tmp_path}/caf?"
    assert [process.pid for process in snapshot.processes] == [program.pid]
    assert all(is_writable(one.path) and is_writable(one.text) for one in snapshot.findings)
    assert decoded(encoded(snapshot), Snapshot) == snapshot


def test_a_label_and_a_command_line_that_are_no_utf_8_are_cleaned(tmp_path: Path) -> None:
    script = (
        "import ttmem, sys; chip = ttmem.open_device(5, index=3); ttmem.report_buffer_alloc(chip, 1, 64); "
        "print('ready', flush=True); sys.stdin.read()"
    )
    environ = {**os.environ, "TTMEM_DIR": str(tmp_path), "TTMEM": "1", "TTMEM_LABEL": ODD}
    command = [sys.executable, "-c", script, ODD]
    with (
        subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program,
        FigureSource({"TTMEM_DIR": str(tmp_path), "TTMEM_STOCK_SHM_DIR": str(tmp_path)}, uid=os.geteuid()) as source,
    ):
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        snapshot = source.snapshot()
        program.communicate()

    [process] = snapshot.processes
    assert process.label.startswith("caf")
    assert is_writable(process.label)
    assert is_writable(process.command)
    assert decoded(encoded(snapshot), Snapshot) == snapshot
