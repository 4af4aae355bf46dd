"""`import ttmem` in a model, in the wheel's own Python: what it answers there is what ttnn says in the same breath.

The package must be built for that Python. `.ci/run pythons` installs it for several, and names the directory in which
each lies by its version: INSTALLED_PACKAGES=DIR, with DIR/3.12/ttmem and nothing beside it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.ttnn.runtime import _environment
from tests.support.ttnn.stock import Stock

REASON = "A MODEL'S OWN QUESTIONS NOT TESTED: the package is not built for its Python; .ci/run pythons does that"
if "INSTALLED_PACKAGES" not in os.environ:
    pytestmark = pytest.mark.skip(reason=REASON)  # `skip`, for the whole file: pytest tells it in one line

MODEL = """
import json, sys
import ttmem
early = ttmem.memory_summary()
import ttnn
ttmem.label("a model of its own")
ttmem.record_sites()
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2), l1_small_size=32768)

def tensor(side, memory):
    return ttnn.empty([1, 1, side, side], ttnn.bfloat16, ttnn.TILE_LAYOUT, mesh, memory)

def told():
    pools = {"dram": ttnn.BufferType.DRAM, "l1": ttnn.BufferType.L1}
    views = {pool: ttnn.get_memory_view(mesh, kind) for pool, kind in pools.items()}
    return {
        pool: {
            "ttnn": [view.total_bytes_allocated_per_bank * view.num_banks, view.total_bytes_per_bank * view.num_banks],
            "allocated": [ttmem.memory_allocated(device, pool) for device in (0, 1, None, mesh)],
            "highest": ttmem.max_memory_allocated(1, pool),
            "free": ttmem.mem_get_info(0, pool),
        }
        for pool, view in views.items()
    }

kept = [tensor(512, ttnn.DRAM_MEMORY_CONFIG), tensor(256, ttnn.L1_MEMORY_CONFIG)]
first = told()
with ttmem.phase("large"):
    ttnn.deallocate(tensor(1024, ttnn.L1_MEMORY_CONFIG))
second = told()
ttmem.reset_peak_memory_stats()
third = told()
print(json.dumps({
    "early": early,
    "told": [first, second, third],
    "summary": ttmem.memory_summary(),
    "alive": ttmem.memory_snapshot(0),
    "addresses": [one.buffer_address() for one in kept],
    "loaded": [name for name in ("textual", "starlette", "uvicorn", "duckdb") if name in sys.modules],
}))
ttnn.close_mesh_device(mesh)
assert ttmem.memory_allocated(0) == 0 and ttmem.memory_snapshot() == []
"""


@pytest.fixture(scope="module")
def answer(stock: Stock, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the model printed under `ttmem run`."""
    versioned = subprocess.run([stock.python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    package = Path(os.environ["INSTALLED_PACKAGES"]) / versioned.rpartition(".")[0]
    assert (package / "ttmem").is_dir(), f"no package for Python {versioned} in {package}"
    directory = tmp_path_factory.mktemp("face")
    environ, _ = _environment(stock, directory, "n300", is_slow=False)
    private = {"TTMEM_DIR": str(directory / "journals"), "TTMEM_SYSTEM_DIR": str(directory)}
    model = directory / "model.py"
    model.write_text(MODEL)
    command = [sys.executable, "-m", "ttmem", "run", "--", str(stock.python), "-W", "error::ImportWarning", str(model)]
    settings = environ | private | {"PYTHONPATH": str(package)}

    done = subprocess.run(command, env=settings, cwd=directory, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "a model of its own" in done.stderr  # the summary
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def test_a_model_is_told_what_its_runtime_says(answer: dict[str, Any]) -> None:
    for said in answer["told"]:
        for pool, figures in said.items():
            allocated, total = figures["ttnn"]
            assert figures["allocated"] == [allocated] * 4, pool
            assert figures["free"] == [total - allocated, total], pool


def test_peaks_last_until_they_are_reset(answer: dict[str, Any]) -> None:
    [first, second, third] = [said["l1"] for said in answer["told"]]

    assert first["highest"] == third["highest"] == first["ttnn"][0] > 0
    assert second["highest"] >= first["highest"] + 2 * 1024 * 1024
    assert [said["dram"]["highest"] for said in answer["told"]] == [answer["told"][0]["dram"]["ttnn"][0]] * 3


def test_what_is_alive_is_listed_with_its_place_and_the_line_that_asked(answer: dict[str, Any]) -> None:
    assert [one["address"] for one in answer["alive"]] == answer["addresses"]
    assert [(one["pool"], one["requested"]) for one in answer["alive"]] == [
        ("dram", 512 * 512 * 2),
        ("l1", 256 * 256 * 2),
    ]
    assert [one["devices"] for one in answer["alive"]] == [[0, 1]] * 2
    assert all(any("model.py:11 tensor" in frame for frame in one["stack"]) for one in answer["alive"])


def test_nothing_of_the_monitor_is_loaded_and_a_summary_is_for_people(answer: dict[str, Any]) -> None:
    assert answer["loaded"] == []
    assert "device 0, 1 (n300 wormhole_b0)" in answer["summary"]
    assert "dram" in answer["summary"]
    assert answer["early"]
