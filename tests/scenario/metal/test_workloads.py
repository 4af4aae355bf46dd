"""The workloads of `ttmem demo`: the model's truth, the ledger and `ttmem ps` agree while they run; nothing is left.

How often they are compared, in steps of the workload:

             truth, ledger, ps (document and table)   by a collector of its own, all chips on one page
    quick    at evenly spaced steps, not of 32 chips  at the same steps
    slow     at every step of every workload          at every step, of the long ones as `WHOLE_STRIDES` says

`tests/support/tracked/shown_steps.py` says how ps is asked at every step, and `test_comparison` that a look finds what
is wrong.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from ttmem.metal.workloads import WORKLOADS

ROOT = Path(__file__).parents[3]
QUICK_STRIDES = {"llama-8b": 1600, "cb-clash": 40}
WHOLE_STRIDES = {"llama-8b": 100, "galaxy-70b": 1000, "leaky": 300, "killed-midway": 100}


class Looks(NamedTuple):
    """How many steps a workload had, at how many of them figures were compared and agreed, and how many whole pages."""

    step_count: int
    look_count: int
    whole_count: int


def looks(name: str, journals: Path, *, stride: int, whole_stride: int, round_count: int) -> Looks:
    figures = map(str, (stride, whole_stride, round_count))
    command = [sys.executable, "-m", "tests.support.tracked.comparison", name, *figures]
    environ = {**os.environ, "TTMEM_DIR": str(journals)}
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Looks(*map(int, done.stdout.split()))


@pytest.mark.parametrize("name", QUICK_STRIDES)
def test_truth_ledger_and_ps_agree_at_some_steps_of_a_workload(journals: Path, name: str) -> None:
    stride, round_count = QUICK_STRIDES[name], WORKLOADS[name].round_count

    found = looks(name, journals, stride=stride, whole_stride=stride, round_count=round_count)

    assert found.whole_count == found.look_count >= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKLOADS)
def test_truth_ledger_and_ps_agree_at_every_step_of_a_workload(journals: Path, name: str) -> None:
    whole_stride = WHOLE_STRIDES.get(name, 1)

    found = looks(name, journals, stride=1, whole_stride=whole_stride, round_count=WORKLOADS[name].round_count)

    assert found.look_count == found.step_count + 2  # once more at the end, and when all is closed
    assert found.step_count > 100
    assert found.whole_count > found.step_count // whole_stride
