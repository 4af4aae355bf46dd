"""`ttmem report --leaks`, `--growth` and `--temporary`: pages, JSON, and what is asked wrongly."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from ttmem.cli.program import run_program

PROGRAM = """
import ttmem
from ttmem import _native

chip = ttmem.open_device(0x61)
line = _native.client.intern("model.py:7 step")
for number in range(5):
    with ttmem.phase("step"):
        ttmem.report_buffer_alloc(chip, 100 + number, 1 << 20, 0, 0, 0, 0, line)
        ttmem.report_buffer_alloc(chip, 1, 3 << 20)
        ttmem.report_buffer_free(chip, 1)
"""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> str:
    place = tmp_path_factory.mktemp("grown")
    journals = place / "journals"
    journals.mkdir(mode=0o700)
    path = str(place / "run.ttmem")
    command = [sys.executable, "-m", "ttmem", "record", "-o", path, "--", sys.executable, "-c", PROGRAM]
    environ = {**os.environ, "TTMEM_DIR": str(journals)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run_program(["report", *arguments]) == 0
    return capsys.readouterr().out


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    return json.loads(told(capsys, *arguments, "--json"))


def test_a_leak_has_bytes_per_run_and_a_first_survivor(capsys: pytest.CaptureFixture[str], recording: str) -> None:
    found = document(capsys, recording, "--leaks")

    [leak] = found["leaks"]
    assert (leak["line"], leak["bytes_per_run"], leak["counts"]) == ("model.py:7 step", 1 << 20, [2, 3, 4, 5])
    assert (leak["first_survivor"]["run"], leak["first_survivor"]["id"]) == (3, hex(102))
    assert [series["runs"] for series in found["series"]] == [[2, 3, 4, 5]]
    assert (found["is_sure"], found["doubts"]) == (True, [])
    assert [(one["until"], one["count"]) for one in found["held"]] == [("process ended", 5)]


def test_the_page_says_what_leaks_and_how_sure_that_is(capsys: pytest.CaptureFixture[str], recording: str) -> None:
    page = told(capsys, recording, "--leaks")

    assert "4 runs of step compared at their ends, 1 warm-up left out" in page
    assert "1.00 MiB" in page
    assert "first survivor: run 3" in page
    assert "sure: every event was followed" in page


def test_the_page_of_a_recording_has_its_leaks(capsys: pytest.CaptureFixture[str], recording: str) -> None:
    [leak] = document(capsys, recording)["leaks"]

    assert leak["line"] == "model.py:7 step"
    assert "model.py:7 step" in told(capsys, recording)


def test_more_warm_ups_leave_out_more_runs(capsys: pytest.CaptureFixture[str], recording: str) -> None:
    assert document(capsys, recording, "--growth", "--warmups", "2")["series"][0]["runs"] == [3, 4, 5]
    assert "nothing to compare" in told(capsys, recording, "--leaks", "--warmups", "3")


def test_growth_and_temporary_buffers_have_their_pages(capsys: pytest.CaptureFixture[str], recording: str) -> None:
    [pool] = document(capsys, recording, "--growth")["pools"]
    [line] = document(capsys, recording, "--temporary")["lines"]

    assert pool["sizes"] == [size << 20 for size in (2, 3, 4, 5)]
    assert (line["count"], line["temporary_count"], line["temporary_bytes"]) == (5, 5, 15 << 20)
    assert "PER RUN" in told(capsys, recording, "--growth")
    assert "15.0 MiB" in told(capsys, recording, "--temporary")


def test_a_pool_and_a_chip_can_be_chosen(capsys: pytest.CaptureFixture[str], recording: str) -> None:
    assert document(capsys, recording, "--leaks", "--peak", "l1")["leaks"] == []
    assert document(capsys, recording, "--leaks", "--chip", "0x61")["leaks"] != []
    assert run_program(["report", recording, "--leaks", "--chip", "9"]) == 2
    assert "no chip 9 in this recording" in capsys.readouterr().err


def test_a_chip_without_an_index_is_called_by_its_id(capsys: pytest.CaptureFixture[str], recording: str) -> None:
    [leak] = document(capsys, recording, "--leaks")["leaks"]

    assert [chip["index"] for chip in leak["chips"]] == [None]
    assert "0x0000000000000061" in told(capsys, recording, "--leaks")
    assert "0x0000000000000061" in told(capsys, recording, "--growth")
