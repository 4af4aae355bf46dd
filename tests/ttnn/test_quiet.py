"""Programs on the stock wheel in which nothing goes wrong: no incident, no finding, nothing at the end but peaks."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.ttnn.runtime import _environment, counters_of, has_compiler
from tests.support.ttnn.stock import Stock
from ttmem.sources.inspected.journal import journal_document

MODEL = """\
import threading
import ttnn
mesh = ttnn.open_mesh_device(ttnn.MeshShape(1, 1), l1_small_size=32768)
mesh.enable_program_cache()
def tensor(*shape):
    return ttnn.ones(list(shape), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=mesh)
def layer(x, y):
    h = ttnn.softmax(ttnn.matmul(x, y), dim=-1)
    h = ttnn.layer_norm(ttnn.add(h, x))
    h = ttnn.to_memory_config(ttnn.gelu(h), ttnn.L1_MEMORY_CONFIG)
    return ttnn.multiply(ttnn.transpose(h, 2, 3), 2.0)
def work():
    x, y = tensor(1, 1, 256, 256), tensor(1, 1, 256, 256)
    for _ in range(5):
        x = layer(x, y)
    for one in (x, y): ttnn.deallocate(one)
work()
thread = threading.Thread(target=work); thread.start(); thread.join()
where = ttnn.bfloat16, ttnn.TILE_LAYOUT, mesh, ttnn.DRAM_MEMORY_CONFIG
caches = [ttnn.empty([1, 8, 1024, 64], *where) for _ in range(9)]
del caches
ttnn.close_mesh_device(mesh)
"""


@pytest.mark.skipif(not has_compiler(), reason="OPERATIONS NOT COMPARED: no riscv64-unknown-elf-gcc")
def test_a_program_without_faults_has_no_incident_and_no_finding(stock: Stock, tmp_path: Path) -> None:
    environ, chips = _environment(stock, tmp_path, "n150", is_slow=False)
    private = {"TTMEM_DIR": str(tmp_path / "journals"), "TTMEM_SYSTEM_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "ttmem", "run", "--", str(stock.python), "-c", MODEL]

    result = subprocess.run(command, env=environ | private, cwd=tmp_path, capture_output=True, text=True)
    for chip in chips:
        counters_of(chip).unlink(missing_ok=True)

    assert result.returncode == 0, result.stderr[-2000:]
    [path] = (tmp_path / "journals").glob("*.journal")
    with path.open("rb") as file:
        document = journal_document(str(path), file, 1000)
    assert (document["incident_count"], document["incidents"], document["findings"]) == (0, [], {})
    assert document["sites_off"] is None
    told = result.stderr[result.stderr.index("ttmem: peaks of") :]
    assert "dram" in told
    assert not any(word in told for word in ("OUT OF MEMORY", "CLASH", "UNSAFE", "refused", "not kept", "no lines"))
