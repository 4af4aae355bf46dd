"""`ttmem record`, `ttmem report` and `ttmem explain`, from a program to figures."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes.inside import ttmem_inside
from ttmem.analysis.alive import RecordingReport
from ttmem.analysis.growth.answers import GrowthReport, LeakReport, TemporaryReport
from ttmem.analysis.room.advice import AdviceReport
from ttmem.analysis.room.cores import CoresReport
from ttmem.analysis.room.floor import FloorReport, HeadroomReport
from ttmem.analysis.room.holes import HolesReport
from ttmem.analysis.room.traces import TraceReport
from ttmem.collector import Collector
from ttmem.recording import Meta, Recording, RecordingWriter
from ttmem.snapshot.codec import decoded, encoded
from ttmem.sources import Places

PROGRAM = """
import ttmem
chip = ttmem.open_device(0x61)
with ttmem.phase("load"):
    kept = ttmem.report_buffer_alloc(chip, 1, 1 << 20)
with ttmem.phase("step"):
    made = ttmem.report_buffer_alloc(chip, 2, 3 << 20)
    ttmem.report_buffer_free(chip, 2)
"""


def record(journals: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "TTMEM_DIR": str(journals)}
    command = [sys.executable, "-m", "ttmem", "record", *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True)


def ttmem(journals: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return ttmem_inside(*arguments, environ={**os.environ, "TTMEM_DIR": str(journals)})


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("recorded")
    done = record(place, "-o", str(place / "run.ttmem"), "--", sys.executable, "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    return place / "run.ttmem"


@pytest.fixture
def recording(recorded: Path, tmp_path: Path) -> str:
    """A copy for each test."""
    return str(shutil.copytree(recorded, tmp_path / "run.ttmem"))


def report(journals: Path, *arguments: str) -> Any:
    done = ttmem(journals, "report", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_report_shows_the_peak_and_which_phases_had_it(journals: Path, recording: str) -> None:
    found = report(journals, recording, "--by", "phase,kind")

    [pool] = found["pools"]
    assert (pool["pool"], pool["size_bytes"], pool["is_alive_known"]) == ("dram", 4 << 20, True)
    assert [(one["names"], one["size_bytes"]) for one in pool["sums"]] == [
        (["step", "buffer"], 3 << 20),
        (["load", "buffer"], 1 << 20),
    ]


def test_the_page_has_what_was_alive_by_line_operation_phase_and_kind(journals: Path, recording: str) -> None:
    page = report(journals, recording)

    [pool] = page["pools"]
    assert {view["by"]: view["sums"][0]["names"] for view in pool["views"]} == {
        "operation": [""],
        "phase": ["step"],
        "kind": ["buffer"],
    }
    assert (len(page["chips"]), len(page["processes"]), page["incidents"], page["leaks"]) == (1, 1, [], [])


@pytest.mark.parametrize("answer", ["--holes", "--floor", "--headroom", "--trace-safety", "--advise"])
def test_every_answer_says_how_sure_it_is(journals: Path, recording: str, answer: str) -> None:
    found = report(journals, recording, answer)

    assert found["certainty"] in ("measured", "sampled", "inferred", "at_least")
    assert found["why"]


def test_the_peak_is_a_moment_too(journals: Path, recording: str) -> None:
    found = report(journals, recording, "--at", "peak")

    assert [(one["pool"], one["size_bytes"]) for one in found["pools"]] == [("dram", 4 << 20)]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["{}"], 0, "highest 4.00 MiB"),
        (["{}", "--at", "+9999s"], 2, "outside of the recording"),
        (["{}", "--at", "noon"], 2, "name of a phase; phases were load, step"),
        (["{}", "--at", "step"], 0, "held 1.00 MiB"),
        (["{}", "--at", "load#2"], 2, "phase load ran 1 time, there is no run 2"),
        (["{}", "--chip", "7"], 2, "no chip 7 in this recording"),
        (["{}", "--by", "colour"], 2, "'colour' is none of site"),
        (["/"], 2, "not a recording"),
        (["{}", "--core", "three"], 2, "'three' is no core: give its x and y"),
        (["{}", "--holes", "--at", "peak"], 2, "--holes and --at are two questions: ask one"),
        (["{}", "--advise", "--chip", "7"], 2, "no chip 7 in this recording"),
        (["{}", "--leaks", "--growth"], 2, "--leaks and --growth are two questions: ask one"),
        (["{}", "--temporary", "--core", "fullest"], 2, "--temporary and --core are two questions: ask one"),
        (["{}", "--at", "peak", "--chip", "7"], 2, "no chip 7 in this recording; known are 0"),
        (["{}", "--at", "+0ms"], 0, "nothing was alive then"),
        (["{}", "--at", "+60min"], 2, "outside of the recording"),
        (["{}", "--advise", "--by", "kind"], 2, "--advise is not made of sums: leave out --by"),
        (["{}", "--advise", "--peak", "dram"], 2, "--advise is not of one pool: leave out --peak"),
        (["{}", "--floor", "--peak", "dram"], 2, "--floor looks at l1 only: leave out --peak"),
        (["{}", "--warmups", "2"], 2, "leave out --warmups"),
        (["{}", "--leaks", "--by", "kind"], 2, "--leaks is by line: leave out --by"),
        (["{}", "--peak", "trace"], 0, "nothing was held in trace"),
        (["{}", "--peak", "l1_small", "--at", "step"], 0, "nothing was held in l1_small then"),
    ],
)
def test_what_is_asked_wrongly_is_answered_in_one_sentence(
    journals: Path, recording: str, arguments: list[str], code: int, said: str
) -> None:
    done = ttmem(journals, "report", *(one.format(recording) for one in arguments))

    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_recording_that_is_there_is_not_replaced_unasked(journals: Path, recording: str) -> None:
    refused = record(journals, "-o", recording, "--", "true")
    replaced = record(journals, "-o", recording, "--force", "--", "true")

    assert (refused.returncode, "is there already" in refused.stderr) == (2, True)
    assert replaced.returncode == 0


def test_a_redacted_recording_has_neither_arguments_nor_paths(journals: Path, tmp_path: Path) -> None:
    script = tmp_path / "secret-place" / "model.py"
    script.parent.mkdir()
    script.write_text(PROGRAM)
    path = tmp_path / "run.ttmem"

    record(journals, "--redact", "-o", str(path), "--", sys.executable, str(script), "--secret-argument")

    named = report(journals, str(path))["processes"]
    unpacked = b"".join(segment.plain(block) for segment in Recording(path).segments for block in segment.blocks)
    files = b"".join(file.read_bytes() for file in path.iterdir())
    assert b"<module>" in unpacked  # which line asked is still there
    assert b"model.py" not in unpacked + files
    assert b"secret" not in unpacked + files
    assert [word for word in named if not re.fullmatch(r"pid \d+", word)] == []
    assert str(tmp_path).encode() not in unpacked + files


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("--by=site", RecordingReport),
        ("--leaks", LeakReport),
        ("--growth", GrowthReport),
        ("--temporary", TemporaryReport),
        ("--holes", HolesReport),
        ("--floor", FloorReport),
        ("--headroom", HeadroomReport),
        ("--trace-safety", TraceReport),
        ("--advise", AdviceReport),
        ("--core=fullest", CoresReport),
    ],
)
def test_an_answer_is_read_back_as_it_was(journals: Path, recording: str, question: str, kind: type[Any]) -> None:
    said = ttmem(journals, "report", recording, question, "--json").stdout.strip()

    assert encoded(decoded(said.encode(), kind)).decode() == said


def test_a_recording_is_read_by_the_name_under_which_it_was_made(journals: Path, recording: str) -> None:
    named = report(journals, recording.removesuffix(".ttmem"))

    assert named["pools"][0]["size_bytes"] == 4 << 20


def test_a_recording_without_incidents_is_explained_by_its_room(journals: Path, recording: str, tmp_path: Path) -> None:
    explained = ttmem(journals, "explain", recording)
    other = ttmem(journals, "explain", str(tmp_path))
    wrong = ttmem(journals, "explain", recording, "--incident", "999999-1")

    assert (explained.returncode, "No incidents" in explained.stdout) == (0, True)
    assert (other.returncode, wrong.returncode) == (2, 2)
    assert "not a recording" in other.stderr
    assert "has no process 999999" in wrong.stderr


def test_what_ended_before_is_not_in_a_recording_of_all(journals: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "TTMEM_DIR": str(journals), "TTMEM": "1"}
    subprocess.run([sys.executable, "-c", PROGRAM], env=environ, check=True)

    record(journals, "-o", str(tmp_path / "box"), "--for", "0.1s")
    record(journals, "-o", str(tmp_path / "box"), "--append", "--for", "0.1s")

    assert ttmem(journals, "report", str(tmp_path / "box")).returncode == 1
    assert Recording(tmp_path / "box.ttmem").row_count == 0


def test_a_recording_that_goes_on_is_not_replaced(journals: Path, recording: str) -> None:
    collector = Collector(Places(uid=os.geteuid(), directory=str(journals)))
    writer = RecordingWriter(Path(recording), collector.ledger, meta=Meta())
    forced = ttmem(journals, "record", "-o", recording, "--force", "--for", "1s")
    writer.close()

    assert forced.returncode == 1
    assert "another recorder is writing this recording" in forced.stderr
    assert (Path(recording) / "meta.json").exists()


def test_a_recorded_program_is_asked_for_a_large_ring(journals: Path, tmp_path: Path) -> None:
    told = tmp_path / "told"
    record(journals, "-o", str(tmp_path / "run"), "--", "sh", "-c", f"echo $TTMEM_RING_WISH > {told}")

    assert told.read_text() == "262144\n"


def test_a_recording_goes_on_when_that_is_asked_for(journals: Path, recording: str) -> None:
    again = ttmem(journals, "record", "-o", recording, "--append", "--", sys.executable, "-c", PROGRAM)
    both = ttmem(journals, "record", "-o", recording, "--append", "--force", "--", "true")

    assert (again.returncode, both.returncode) == (0, 2)
    assert len(Recording(Path(recording)).segments) == 2
    [pool] = report(journals, recording)["pools"]
    assert pool["size_bytes"] == 4 << 20
