"""Leaks, growth and temporary buffers of a recording alone are those of the story that was recorded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[4]


def told(journals: Path, program: str, *arguments: int, ring: int | None = None) -> str:
    command = [sys.executable, "-m", f"tests.support.recorded.grown.{program}", *map(str, arguments)]
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(journals)}
    if ring is not None:
        environ["TTMEM_RING"] = str(ring)
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def sums(text: str) -> list[int]:
    return [sum(column) for column in zip(*(map(int, line.split()) for line in text.splitlines()), strict=True)]


def test_growth_in_random_stories_is_that_of_their_own_arithmetic(journals: Path) -> None:
    leaks, changes, temporary = sums(told(journals, "growing", 0, 12))

    assert min(leaks, changes, temporary) > 5


def test_a_leak_that_is_found_across_gaps_has_happened(journals: Path) -> None:
    assert len(told(journals, "growing", 0, 6, ring=16).splitlines()) == 6


@pytest.mark.slow
def test_rounds_of_launches_show_a_leak_where_no_phase_does(journals: Path) -> None:
    assert "'dram': 9437184" in told(journals, "leaking", 8)


@pytest.mark.slow
def test_growth_in_200_random_stories_is_that_of_their_own_arithmetic(journals: Path) -> None:
    assert sums(told(journals, "growing", 1000, 200))[0] > 100


@pytest.mark.slow
def test_leaks_that_are_found_across_gaps_in_100_stories_have_happened(journals: Path) -> None:
    assert len(told(journals, "growing", 1000, 100, ring=16).splitlines()) == 100
