"""The workloads of `ttmem demo`: the model's truth, the ledger and `ttmem ps` agree while they run; nothing is left.

How often they are compared, in steps of the workload:

             truth and ledger                      ps, its document and its table
    quick    at evenly spaced steps                at the same steps
    slow     at every step, but for the two that   at every step of the short workloads,
             `STRIDES` names                       of the long ones as `SHOWN_STRIDES` says
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ttmem.metal.workloads import WORKLOADS

ROOT = Path(__file__).parents[3]
QUICK_STRIDES = {"llama-8b": 800, "galaxy-70b": 8000, "leaky": 600, "killed-midway": 400}
QUICK_ROUNDS = {"galaxy-70b": 1, "leaky": 5}
# Whole runs of these are 50,000 steps each, one of them on 32 chips.
STRIDES = {"galaxy-70b": 100, "leaky": 3}
SHOWN_STRIDES = {"llama-8b": 100, "galaxy-70b": 1000, "leaky": 300, "killed-midway": 100}


class Looks(NamedTuple):
    """How many steps a workload had, and at how many of them figures were compared, and agreed."""

    step_count: int
    ledger_count: int  # truth and ledger
    shown_count: int  # and ps


def looks(name: str, journals: Path, *, stride: int, shown_stride: int, round_count: int) -> Looks:
    figures = map(str, (stride, shown_stride, round_count))
    command = [sys.executable, "-m", "tests.support.tracked.comparison", name, *figures]
    environ = {**os.environ, "TTMEM_DIR": str(journals)}
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Looks(*map(int, done.stdout.split()))


@pytest.mark.parametrize("name", WORKLOADS)
def test_truth_ledger_and_ps_agree_at_some_steps_of_a_workload(journals: Path, name: str) -> None:
    round_count = QUICK_ROUNDS.get(name, WORKLOADS[name].round_count)
    stride = QUICK_STRIDES.get(name, 20)

    found = looks(name, journals, stride=stride, shown_stride=stride, round_count=round_count)

    assert found.shown_count == found.ledger_count >= 5


@pytest.mark.slow
@pytest.mark.timeout(900)  # minutes of its own, on a machine that others use, too
@pytest.mark.parametrize("name", [name for name in WORKLOADS if name not in STRIDES])
def test_truth_and_ledger_agree_at_every_step_and_ps_at_every_step_of_short_workloads(
    journals: Path, name: str
) -> None:
    shown_stride = SHOWN_STRIDES.get(name, 1)

    found = looks(name, journals, stride=1, shown_stride=shown_stride, round_count=WORKLOADS[name].round_count)

    assert found.ledger_count > found.step_count > 100
    assert found.shown_count > found.step_count // shown_stride


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", STRIDES)
def test_truth_ledger_and_ps_agree_at_many_steps_of_the_longest_workloads(journals: Path, name: str) -> None:
    stride, shown_stride = STRIDES[name], SHOWN_STRIDES[name]

    found = looks(name, journals, stride=stride, shown_stride=shown_stride, round_count=WORKLOADS[name].round_count)

    assert found.ledger_count > found.step_count // stride > 100
    assert found.shown_count > found.step_count // shown_stride > 10
