"""The walker of Python frames against the interpreter's own answers, in each Python from 3.10 to 3.13."""

import pytest

from tests.support.pythons import VERSIONS
from tests.support.walkers import SANITIZERS, library, program, python, told

JUDGED = {"ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}  # every object is a block of its own


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("story", ["shapes", "threads", "fork", "exit"])
def test_every_frame_is_the_interpreters_own(version: str, story: str) -> None:
    assert told([python(version), "-X", "faulthandler"], story, 800, library()) >= 50


@pytest.mark.slow
@pytest.mark.timeout(300)
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
