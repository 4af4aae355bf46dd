"""Captures of the stock runtime: which buffers lie where a trace writes, by the runtime's own addresses.

A mock device can capture nothing but allocations, and a replay ends the process: what the hook found is told before.
"""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.ttnn.runtime import _environment, counters_of
from tests.support.ttnn.stock import Stock

MODEL = """\
import sys
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2), trace_region_size=1 << 20)
def tensor(side, memory=ttnn.DRAM_MEMORY_CONFIG):
    made = ttnn.empty([1, 1, side, side], ttnn.bfloat16, ttnn.TILE_LAYOUT, mesh, memory)
    print(made.buffer_address(), flush=True)
    return made
def capture(inside):
    trace = ttnn.begin_trace_capture(mesh, cq_id=0)
    kept = inside()
    ttnn.end_trace_capture(mesh, trace, cq_id=0)
    return trace, kept
def intermediate():
    ttnn.deallocate(tensor(512))
weights = tensor(256)
STORY
assert "ttmem" not in sys.modules
ttnn.execute_trace(mesh, trace, cq_id=0, blocking=False)
"""
OVER = "trace, _ = capture(intermediate); late = tensor(512)"
IN_PART = "trace, _ = capture(intermediate); small = tensor(32); late = tensor(1024)"
L1 = "tensor(512, ttnn.L1_MEMORY_CONFIG)"
IN_L1 = f"trace, _ = capture(lambda: ttnn.deallocate({L1})); late = {L1}"
OUTPUT = "trace, output = capture(lambda: tensor(512)); ttnn.deallocate(output); late = tensor(512)"
BESIDE = "trace, output = capture(lambda: tensor(512)); late = tensor(512)"
FREED = "trace, _ = capture(intermediate); late = tensor(512); ttnn.deallocate(late)"
BEFORE = "trace, _ = capture(lambda: None); ttnn.deallocate(weights); late = tensor(256)"


class Ended(NamedTuple):
    """What a program left that died of its replay."""

    addresses: list[int]
    summary: str
    incidents: list[dict[str, Any]]


def ended(stock: Stock, place: Path, story: str) -> Ended:
    environ, chips = _environment(stock, place, "n300", is_slow=False)
    (place / "model.py").write_text(MODEL.replace("STORY", story))
    private = {"TTMEM_DIR": str(place / "journals"), "TTMEM_SYSTEM_DIR": str(place)}
    command = [sys.executable, "-m", "ttmem", "run", "--", str(stock.python), str(place / "model.py")]
    result = subprocess.run(command, env=environ | private, cwd=place, capture_output=True, text=True)
    for chip in chips:
        counters_of(chip).unlink(missing_ok=True)
    assert result.returncode in (-signal.SIGSEGV, 128 + signal.SIGSEGV), result.stderr[-2000:]
    [journal] = (place / "journals").glob("*.journal")
    asked = [sys.executable, "-m", "ttmem", "explain", "--all", "--json", str(journal)]
    told = subprocess.run(asked, env=environ | private, capture_output=True, text=True, check=True).stdout
    found = [one["incident"] for one in json.loads(told)["explanations"]]
    return Ended([int(word) for word in result.stdout.split()], result.stderr, found)


@pytest.mark.parametrize(
    ("story", "memory", "side"),
    [(OVER, "dram", 512), (IN_PART, "dram", 1024), (IN_L1, "l1", 512), (OUTPUT, "dram", 512)],
    ids=["over", "in part", "in L1", "over an output"],
)
def test_a_buffer_where_a_trace_writes_is_told_before_the_replay(
    stock: Stock, tmp_path: Path, story: str, memory: str, side: int
) -> None:
    found = ended(stock, tmp_path, story)
    [incident] = [one for one in found.incidents if one["requested_bytes"] == 2 * side * side]

    assert (incident["kind"], incident["memory"], len(incident["device_ids"])) == ("unsafe_replay", memory, 2)
    assert incident["address"] == found.addresses[-1]
    assert incident["site"]["frames"][0]["function"] == "tensor"
    assert incident["other_site"]["frames"][0]["function"] == "capture"
    assert "  UNSAFE REPLAY  chips 0-1 (one mesh), " in found.summary
    assert "    captured   model.py:9 capture < model.py:16 <module>\n" in found.summary


@pytest.mark.parametrize("story", [BESIDE, FREED, BEFORE], ids=["beside", "freed", "from before"])
def test_a_buffer_that_is_safe_is_not_mentioned(stock: Stock, tmp_path: Path, story: str) -> None:
    found = ended(stock, tmp_path, story)

    assert found.incidents == []
    assert "UNSAFE REPLAY" not in found.summary
