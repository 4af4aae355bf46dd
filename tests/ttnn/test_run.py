"""The stock wheel as its users meet us: `ttmem run -- python model.py`, and what `ttmem doctor` says of it."""

import re
import subprocess
import sys
from pathlib import Path

from tests.support.ttnn.runtime import _environment, counters_of
from tests.support.ttnn.stock import Stock

# Leaves without closing the mesh, as a program does that is interrupted.
MODEL = """
import os, ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 2), l1_small_size=32768)
def tensor(side, memory):
    return ttnn.empty([1, 1, side, side], ttnn.bfloat16, ttnn.TILE_LAYOUT, mesh, memory)
kept = tensor(512, ttnn.DRAM_MEMORY_CONFIG)
ttnn.deallocate(tensor(1024, ttnn.L1_MEMORY_CONFIG))
try:
    tensor(32768, ttnn.L1_MEMORY_CONFIG)
except RuntimeError:
    print("refused", flush=True)
os._exit(7)
"""


def test_an_unmodified_program_leaves_its_peaks_and_what_it_held(stock: Stock, tmp_path: Path) -> None:
    environ, chips = _environment(stock, tmp_path, "n300", is_slow=False)
    private = {"TTMEM_DIR": str(tmp_path / "journals"), "TTMEM_SYSTEM_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "ttmem", "run", "--label", "a model", "--", str(stock.python), "-c", MODEL]

    result = subprocess.run(command, env=environ | private, cwd=tmp_path, capture_output=True, text=True)
    for chip in chips:
        counters_of(chip).unlink(missing_ok=True)

    assert (result.returncode, result.stdout) == (7, "refused\n")
    told = result.stderr[result.stderr.index("ttmem: peaks of") :]
    assert re.search(r"a model +0-1 +dram +528 KiB .* 528 KiB never freed", told)
    assert re.search(r"a model +0-1 +l1 +2\.\d+ MiB", told)
    assert re.search(r"a model +0-1 +buffer +1 +528 KiB", told)
    assert re.search(r"  OUT OF MEMORY  chips 0-1 \(one mesh\), L1: asked \S+ \S+ per core on \d+ cores, free ", told)
    assert re.search(r"    asked by   \S+:\d+ tensor < \S+:\d+ <module>", told)  # with no import in the program
    page = re.escape("docs/troubleshooting/out-of-memory.md")
    assert re.search(rf"    next       ttmem explain \d+   \({page}\)\n    journal    ", told)


def test_of_the_wheel_everything_can_be_shown(stock: Stock, tmp_path: Path) -> None:
    places = dict.fromkeys(("TTMEM_DIR", "TTMEM_STOCK_SHM_DIR", "TTMEM_SYSTEM_DIR"), str(tmp_path))
    command = [sys.executable, "-m", "ttmem", "doctor", "--python", str(stock.python)]

    result = subprocess.run(command, env={"PATH": "/usr/bin:/bin", **places}, capture_output=True, text=True)

    assert result.returncode == 0, result.stdout
    assert str(stock.metal_library) in result.stdout
