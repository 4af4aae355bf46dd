"""The walker of Python frames against the interpreter's own answers, in each Python from 3.10 to 3.13."""

import json
from pathlib import Path

import pytest

from tests.support.hooked.walkers import SANITIZERS, client, library, program, python, told
from tests.support.processes.pythons import VERSIONS
from ttmem.sources.inspected.journal import journal_document

JUDGED = {"ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}  # every object is a block of its own


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "story", ["shapes", "threads", *(pytest.param(name, marks=pytest.mark.slow) for name in ("fork", "exit"))]
)
def test_every_frame_is_the_interpreters_own(version: str, story: str) -> None:
    assert told([python(version), "-X", "faulthandler"], story, 800, library()) >= 50


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_million_stacks_of_eight_threads_are_right_in_a_program_with_a_python_inside(version: str) -> None:
    host = program(version, "embedded.cpp", "-rdynamic", *SANITIZERS)

    assert told(host, "shapes", 2000, settings=JUDGED) >= 2000
    assert told(host, "wrong", 1, settings=JUDGED) > 200  # each offset moved in 19 ways: refused, or no difference
    assert told(host, "forks", 10, settings=JUDGED) >= 50
    assert told(host, "end", 1, settings=JUDGED) >= 50
    assert told(host, "host", 40_000, settings=JUDGED) >= 40_000  # each of them is walked 26 times


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_python_that_is_part_of_its_program_is_walked_alike(version: str) -> None:
    host = program(version, "embedded.cpp", "-rdynamic", *SANITIZERS, is_static=True)

    assert told(host, "host", 400, settings=JUDGED) >= 400


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_buffer_that_eight_threads_report_has_the_stack_of_its_report(version: str, tmp_path: Path) -> None:
    host = program(version, "embedded.cpp", "-rdynamic", *SANITIZERS)
    settings = {**JUDGED, "TTMEM": "1", "TTMEM_DIR": str(tmp_path)}

    told(host, "reports", 8000, "", client(*SANITIZERS), tmp_path / "expected", settings=settings)

    expected = {int(number): text for number, text in json.loads((tmp_path / "expected").read_text()).items()}
    [path] = tmp_path.glob("*.journal")
    with path.open("rb") as file:
        document = journal_document(str(path), file, 100_000)
    found = {entry["id"]: entry.get("site_text") for entry in document["live"]}
    assert len(found) >= 8000
    assert found == expected
    assert (document["findings"], document["sites_off"]) == ({}, None)
