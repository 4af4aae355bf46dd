"""The workloads of `ttmem demo`: at each step the model's truth, the ledger and `ttmem ps` agree; then nothing is left.

The quick tests look at evenly spaced steps, the slow ones at every step of all but the two longest.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ttmem.metal.workloads import WORKLOADS

ROOT = Path(__file__).parents[3]
# Whole runs of these are 50,000 steps each, one of them on 32 chips.
STRIDES = {"galaxy-70b": 100, "leaky": 3}
QUICK_STRIDES = {"llama-8b": 800, "galaxy-70b": 8000, "leaky": 600, "killed-midway": 400}
QUICK_ROUNDS = {"galaxy-70b": 1, "leaky": 5}


def looks(name: str, journals: Path, *, stride: int, round_count: int) -> int:
    """How often all figures were compared, and agreed."""
    command = [sys.executable, "-m", "tests.support.tracked.comparison", name, str(stride), str(round_count)]
    environ = {**os.environ, "TTMEM_DIR": str(journals)}
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("name", WORKLOADS)
def test_truth_ledger_and_ps_agree_while_a_workload_runs(journals: Path, name: str) -> None:
    round_count = QUICK_ROUNDS.get(name, WORKLOADS[name].round_count)

    look_count = looks(name, journals, stride=QUICK_STRIDES.get(name, 20), round_count=round_count)

    assert look_count >= 5


@pytest.mark.slow
@pytest.mark.timeout(900)  # minutes of its own, on a machine that others use, too
@pytest.mark.parametrize("name", WORKLOADS)
def test_truth_ledger_and_ps_agree_at_every_step(journals: Path, name: str) -> None:
    look_count = looks(name, journals, stride=STRIDES.get(name, 1), round_count=WORKLOADS[name].round_count)

    assert look_count > 100
