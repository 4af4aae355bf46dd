"""How much room a recorded run had, from the recording alone, against the arithmetic of the runtime model."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ttmem.metal.workloads import WORKLOADS

ROOT = Path(__file__).parents[4]
ROUNDS = {"unsafe-trace": 4}
SLOW_ROUNDS = {"llama-8b": 6, "galaxy-70b": 2, "leaky": 8, "resnet-trace": 6}
ADVISED = {"resnet-trace": "trace_region_size l1_small_size worker_l1_size"}
SLOW_ADVISED = {"llama-8b": "trace_region_size worker_l1_size", "cache-growth": "worker_l1_size"}


def played(script: str, *words: object, journals: Path, ring: int | None = None) -> str:
    command = [sys.executable, "-m", f"tests.support.recorded.room.{script}", *map(str, words)]
    environ = {**os.environ, "TTMEM": "1", "TTMEM_DIR": str(journals)}
    if ring is not None:
        environ["TTMEM_RING"] = str(ring)
    done = subprocess.run(command, env=environ, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("name", ROUNDS)
def test_cores_floors_rooms_holes_and_traces_are_what_calls_add_up_to(journals: Path, name: str) -> None:
    chips, figures, lost = map(int, played("core_story", name, ROUNDS[name], journals=journals).split())

    assert (chips, figures > 0, lost) == (1, True, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "killed-midway"])
def test_of_every_workload_they_are(journals: Path, name: str) -> None:
    chips, _, lost = map(int, played("core_story", name, SLOW_ROUNDS.get(name, 4), journals=journals).split())

    assert (chips, lost) == (WORKLOADS[name].chip_count, 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ADVISED)
def test_what_is_advised_does_and_one_step_less_does_not(journals: Path, name: str) -> None:
    assert played("advised", name, 2, journals=journals) == ADVISED[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW_ADVISED)
def test_advice_of_longer_runs_does_as_well(journals: Path, name: str) -> None:
    assert played("advised", name, 20, journals=journals) == SLOW_ADVISED[name]


@pytest.mark.parametrize(("seed", "ring"), [(0, None), (1, 16)])
def test_cores_of_random_stories_are_what_looking_behind_every_row_finds(
    journals: Path, seed: int, ring: int | None
) -> None:
    chips, lost = map(int, played("core_random", seed, journals=journals, ring=ring).split())

    assert (chips, lost > 0) == ((1, 4, 32)[seed % 3], ring is not None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 32))
def test_cores_of_more_random_stories_are(journals: Path, seed: int) -> None:
    ring = 16 if seed % 4 < 2 else None

    assert played("core_random", seed, journals=journals, ring=ring)
