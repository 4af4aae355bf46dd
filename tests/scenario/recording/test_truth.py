"""What a recording alone says is what was: the model's arithmetic, the living ledger, and the recording agree."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ttmem.metal.workloads import WORKLOADS

ROOT = Path(__file__).parents[3]
QUICK = {"resnet-trace": (60, 2)}
SLOW_ROUNDS = {"leaky": 20, "llama-8b": 2, "killed-midway": 2}


class Compared(NamedTuple):
    moment_count: int
    row_count: int
    lost_count: int


def compared(name: str, journals: Path, *, stride: int, rounds: int, ring: int | None = None) -> Compared:
    command = [sys.executable, "-m", "tests.support.recorded.comparison", name, str(stride), str(rounds)]
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(journals)}
    if ring is not None:
        environ["TTMEM_RING"] = str(ring)
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Compared(*map(int, done.stdout.split()))


@pytest.mark.parametrize("name", QUICK)
def test_moments_and_peaks_of_a_recorded_workload_are_the_models(journals: Path, name: str) -> None:
    stride, rounds = QUICK[name]

    found = compared(name, journals, stride=stride, rounds=rounds)

    assert found.moment_count >= 5
    assert found.lost_count == 0


def test_a_recorder_that_was_lapped_is_exact_again_and_says_what_it_lost(journals: Path) -> None:
    found = compared("leaky", journals, stride=700, rounds=5, ring=16)

    assert found.moment_count >= 5
    assert found.lost_count > found.row_count


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_is_recorded_as_it_was(journals: Path, name: str) -> None:
    rounds = SLOW_ROUNDS.get(name, WORKLOADS[name].round_count)
    stride = {"galaxy-70b": 2000, "llama-8b": 500, "killed-midway": 500}.get(name, 50)

    found = compared(name, journals, stride=stride, rounds=rounds)

    assert found.moment_count >= 5
    assert found.lost_count == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "galaxy-70b"])
def test_every_workload_is_exact_after_gaps(journals: Path, name: str) -> None:
    rounds = SLOW_ROUNDS.get(name, WORKLOADS[name].round_count)

    assert compared(name, journals, stride=97, rounds=rounds, ring=16).lost_count > 0
